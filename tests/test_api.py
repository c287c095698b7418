"""The Python API: what `import ctxsim` gives and loads, in any order of imports."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import pytest
from samples import conversation

import ctxsim
from ctxsim.errors import CtxsimError, LabelError, UnknownName
from ctxsim.policies import open_policies, registered_policies
from ctxsim.view import View

RESULTS = [f"result {n}: order A{n}000 of 20 pieces\n" + "x " * 400 for n in range(6)]


@dataclass
class FirstLines(ctxsim.Policy):
    """Results but the last become their beginning."""

    chars: int = 10

    def before_call(self, view: View) -> View:
        return view.rewrite({item.place: item.text[: self.chars] for item in view.results[:-1]}, "a test")


@pytest.fixture(autouse=True)
def same_policies_afterwards() -> Iterator[None]:
    """A policy that an example defines is known to no other test."""
    known = registered_policies()
    before = dict(known)
    yield
    known.clear()
    known.update(before)
    open_policies.cache_clear()


def fresh(code: str) -> str:
    """What a new Python prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_loads_nothing() -> None:
    code = (
        "import sys; before = set(sys.modules); import ctxsim; new = set(sys.modules) - before\n"
        "print(sorted(name for name in new if name.partition('.')[0] not in sys.stdlib_module_names))"
    )
    assert fresh(code) == "['ctxsim']"


def test_what_is_public_is_there() -> None:
    assert set(ctxsim.__all__) <= set(dir(ctxsim))
    for name in ctxsim.__all__:
        assert getattr(ctxsim, name).__doc__, name
    with pytest.raises(AttributeError, match="measures"):
        ctxsim.measures  # noqa: B018


def test_a_row_per_call() -> None:
    rows = ctxsim.replay("documented-53k", "fifo:budget=20000")
    assert rows.call.tolist() == [1, 2, 3, 4, 5, 6, 7] and rows.tokens_full.iloc[-1] == 53_000
    assert (rows.refs_needed_strict.sum(), rows.refs_kept_strict.sum()) != (0, 0)
    measured = ctxsim.measure("documented-53k", "fifo:budget=20000").calls
    assert measured[list(rows)].equals(rows) and measured.refs_needed_strict.sum() > 0


def test_measure_agrees_with_the_run_on_disk(tmp_path: Path) -> None:
    run = ctxsim.bench("documented-53k", ["keep-all", "token-budget"], out=tmp_path / "run")
    label = run.labels[1]
    found = ctxsim.measure("documented-53k", "token-budget")
    assert found.policy == label
    for table in ("calls", "events", "losses"):
        on_disk = run.table(table, policy=[label]).reset_index(drop=True)
        assert getattr(found, table)[list(on_disk)].equals(on_disk), table
    assert found.needs.equals(run.table("needs"))
    row = run.of(label).iloc[0]
    assert {name: row[name] for name in ("tokens_sum", "cost_usd", "survival")} == {
        name: found.summary[name] for name in ("tokens_sum", "cost_usd", "survival")
    }
    assert set(found.losses.atom) <= set(found.needs.atom)
    again = ctxsim.read_run(tmp_path / "run")
    assert again.summary.equals(run.summary)


def test_fields_of_the_provider_go_before_the_scenarios() -> None:
    small = ctxsim.measure("documented-53k", window=30_000, rate_limit=None)
    assert small.provider.window == 30_000 and small.summary.overflows == 2 and small.summary.rate_limited == 0
    with pytest.raises(CtxsimError, match="windo"):
        ctxsim.replay("documented-53k", windo=30_000)


def test_a_policy_from_a_notebook() -> None:
    transcript = conversation(*RESULTS)
    by_class, by_object = (ctxsim.measure(transcript, policy) for policy in (FirstLines, FirstLines(chars=5)))
    assert by_class.policy == "first-lines:chars=10" and by_object.policy == "first-lines:chars=5"
    assert by_object.summary.tokens_sum < by_class.summary.tokens_sum < by_class.summary.tokens_full_sum
    chained = ctxsim.replay(transcript, "max-result-chars:chars=50+first-lines:chars=5")
    assert chained.tokens_sent.sum() < by_class.summary.tokens_sum


def cell(chars: int) -> type[ctxsim.Policy]:
    """The class that a notebook's cell defines, each time it runs."""

    @dataclass
    class Beginnings(ctxsim.Policy):
        """Results but the last become their beginning."""

        def before_call(self, view: View) -> View:
            return view.rewrite({item.place: item.text[:chars] for item in view.results[:-1]}, "a test")

    return Beginnings


def test_a_class_that_is_defined_again_is_the_new_one() -> None:
    transcript = conversation(*RESULTS)
    sums = []
    for chars in (5, 50):
        policy = cell(chars)
        run = ctxsim.bench("documented-53k", [policy])
        sums.append((ctxsim.measure(transcript, policy).summary.tokens_sum, run.of(run.labels[-1]).tokens_sum.iloc[0]))
    assert sums[0][0] < sums[1][0] and sums[0][1] < sums[1][1]

    class KeepAll(ctxsim.Policy):
        """Its name belongs to another one."""

    with pytest.raises(LabelError, match="keep-all already"):
        ctxsim.replay(transcript, KeepAll)


def test_classes_run_in_one_process() -> None:
    with pytest.raises(CtxsimError, match="jobs=1"):
        ctxsim.bench("documented-53k", [FirstLines], jobs=2)


def test_a_run_without_a_folder_goes_when_it_is_dropped() -> None:
    run = ctxsim.bench("documented-53k", ["keep-all"])
    folder = run.folder
    assert (folder / "run.json").is_file()
    del run
    gc.collect()
    assert not folder.exists()


def test_what_is_no_transcript_is_said(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no transcript")
    for what in ("documented-54k", tmp_path / "notes.txt", tmp_path / "missing.json", f"{tmp_path}/missing.json"):
        with pytest.raises(CtxsimError):
            ctxsim.measure(what)
    with pytest.raises(UnknownName):
        ctxsim.scenario("documented-54k")
    with pytest.raises(CtxsimError, match="measure"):
        ctxsim.bench(conversation("x"))
    with pytest.raises(CtxsimError, match="fewer than 2"):
        ctxsim.measure(tmp_path / "one.json" if _one(tmp_path) else "", number=2)


def _one(folder: Path) -> bool:
    text = '{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]}'
    return bool((folder / "one.json").write_text(text))


def test_pictures_in_a_notebook_leave_its_settings_alone() -> None:
    before = dict(matplotlib.rcParams)
    found = ctxsim.measure("documented-53k", "fifo:budget=20000")
    figure = found.plot()
    assert figure._repr_png_().startswith(b"\x89PNG")
    assert dict(matplotlib.rcParams) == before
    labels = [text.get_text() for text in figure.axes[0].texts]
    assert any("fifo" in label for label in labels) and any("keep-all (bound)" in label for label in labels)
    assert "tokens_peak" in found._repr_html_()
    run = ctxsim.bench("documented-53k", ["keep-all", "fifo:budget=20000"])
    assert run.plot()._repr_png_().startswith(b"\x89PNG") and "fifo:budget=20000" in run._repr_html_()
    assert dict(matplotlib.rcParams) == before
