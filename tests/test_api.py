"""The Python API: what `import ctxsim` gives and loads, in any order of imports."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import msgspec
import pandas
import pytest
from bench_runs import content
from command_line import ctxsim as command
from invented import write_logs
from own_agent import AGENT
from samples import conversation

import ctxsim
from ctxsim.counting.estimators import estimator_label, registered_estimators
from ctxsim.errors import CtxsimError, InputError, LabelError, UnknownName
from ctxsim.policies import open_policies, registered_policies
from ctxsim.transcript import Compaction
from ctxsim.view import View

RESULTS = [f"result {n}: order A{n}000 of 20 pieces\n" + "x " * 400 for n in range(6)]


@dataclass
class FirstLines(ctxsim.Policy):
    """Results but the last become their beginning."""

    chars: int = 10

    def before_call(self, view: View) -> View:
        return view.rewrite({item.place: item.text[: self.chars] for item in view.results[:-1]}, "a test")


@pytest.fixture(autouse=True)
def same_classes_afterwards() -> Iterator[None]:
    """A policy or an estimator that an example defines is known to no other test."""
    registries: tuple[dict[str, Any], ...] = (registered_policies(), registered_estimators())
    before = [dict(known) for known in registries]
    yield
    for known, held in zip(registries, before, strict=True):
        known.clear()
        known.update(held)
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
    found = ctxsim.replay("documented-53k", "fifo:budget=20000")
    rows = found.frame()
    assert rows.call.tolist() == [1, 2, 3, 4, 5, 6, 7] and rows.tokens_full.iloc[-1] == 53_000
    assert (rows.refs_needed_strict.sum(), rows.refs_kept_strict.sum()) != (0, 0)
    assert found.calls.equals(rows) and rows.refs_needed_strict.sum() > 0
    assert found.summary.tokens_sum == rows.tokens_sent.sum() and found.transcript.name == "documented-53k"


def test_a_replay_agrees_with_the_run_on_disk(tmp_path: Path) -> None:
    run = ctxsim.bench("documented-53k", ["keep-all", "token-budget"], out=tmp_path / "run")
    label = run.labels[1]
    found = ctxsim.replay("documented-53k", "token-budget")
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
    small = ctxsim.replay("documented-53k", window=30_000, rate_limit=None)
    assert small.provider.window == 30_000 and small.summary.overflows == 2 and small.summary.rate_limited == 0
    # The scenario's rate limit refuses the last call of keep-all; without one nothing does.
    assert ctxsim.replay("documented-53k").summary.rate_limited == 1
    assert ctxsim.replay("documented-53k", rate_limit=None).summary.rate_limited == 0
    assert ctxsim.bench("documented-53k", ["keep-all"], rate_limit=None).frame().rate_limited.sum() == 0
    with pytest.raises(CtxsimError, match="windo"):
        ctxsim.replay("documented-53k", windo=30_000)


def test_a_policy_from_a_notebook() -> None:
    transcript = conversation(*RESULTS)
    by_class, by_object = (ctxsim.replay(transcript, policy) for policy in (FirstLines, FirstLines(chars=5)))
    assert by_class.policy == "first-lines:chars=10" and by_object.policy == "first-lines:chars=5"
    assert by_object.summary.tokens_sum < by_class.summary.tokens_sum < by_class.summary.tokens_full_sum
    chained = ctxsim.replay(transcript, "max-result-chars:chars=50+first-lines:chars=5")
    assert chained.calls.tokens_sent.sum() < by_class.summary.tokens_sum


@dataclass(frozen=True)
class Half(ctxsim.Estimator):
    """Half of the characters."""

    extra: int = 0

    def text(self, text: str) -> int:
        return (len(text) + 1) // 2 + self.extra


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
        sums.append((ctxsim.replay(transcript, policy).summary.tokens_sum, run.of(run.labels[-1]).tokens_sum.iloc[0]))
    assert sums[0][0] < sums[1][0] and sums[0][1] < sums[1][1]

    class KeepAll(ctxsim.Policy):
        """Its name belongs to another one."""

    with pytest.raises(LabelError, match="keep-all already"):
        ctxsim.replay(transcript, KeepAll)


def test_a_bench_stays_in_this_process_unless_it_may_have_others() -> None:
    seen = set()

    @dataclass
    class Here(ctxsim.Policy):
        """Notes where it runs."""

        def before_call(self, view: View) -> View:
            seen.add(os.getpid())
            return view

    ctxsim.bench("one-prompt", [Here])
    registered_policies().pop("here")
    assert seen == {os.getpid()}


def test_a_bench_replaces_another_run_only_if_it_is_told_to(tmp_path: Path) -> None:
    for _ in range(2):  # the same run may be made again
        ctxsim.bench("documented-53k", "keep-all", out=tmp_path)
    with pytest.raises(CtxsimError, match=r"holds another run .* overwrite=True"):
        ctxsim.bench("documented-53k", "drop-all", out=tmp_path)
    assert ctxsim.bench("documented-53k", "drop-all", out=tmp_path, overwrite=True).labels == ["keep-all", "drop-all"]


@pytest.mark.slow
def test_classes_reach_other_processes(tmp_path: Path) -> None:
    """Of policies and of estimators, from a module that the processes can't import, or from inside a function."""
    write_logs(tmp_path / "logs", count=1)
    policies = ["keep-all", FirstLines, cell(7), "max-result-chars:chars=50+first-lines:chars=5"]
    for estimator in (Half, Half(extra=3)):
        runs = [
            ctxsim.bench(
                tmp_path / "logs", policies, estimator=estimator, jobs=jobs, out=tmp_path / f"out{jobs}", overwrite=True
            )
            for jobs in (1, 2)
        ]
        assert content(runs[0].folder) == content(runs[1].folder)
        by = estimator_label(Half() if estimator is Half else estimator)
        assert runs[1].labels[1:3] == [f"first-lines:chars=10,estimator={by}", f"beginnings:estimator={by}"]
        assert not any(one.failures for one in runs[1].info.inputs)


def test_an_estimator_from_a_notebook() -> None:
    transcript = conversation(*RESULTS)
    for estimator in (Half, Half(), "half"):
        found = ctxsim.replay(transcript, "fifo:budget=2000", estimator=estimator)
        assert found.policy == "fifo:budget=2000,estimator=half"
        sent = found.calls.tokens_estimated / found.calls.tokens_full
        assert found.calls.tokens_estimated.gt(0).all() and sent.max() > 1
    judged = ctxsim.estimates(transcript, [Half, "chars"]).frame()
    assert set(judged.estimator) == {"half", "chars"}

    @dataclass(frozen=True)
    class Chars(ctxsim.Estimator):
        """Its name belongs to another one."""

        def text(self, text: str) -> int:
            return len(text)

    with pytest.raises(LabelError, match="called chars already"):
        ctxsim.replay(transcript, estimator=Chars())


def test_an_estimator_that_is_defined_again_is_the_new_one() -> None:
    def defined(divisor: int) -> type[ctxsim.Estimator]:
        @dataclass(frozen=True)
        class Again(ctxsim.Estimator):
            """Defined by each run of a cell."""

            def text(self, text: str) -> int:
                return len(text) // divisor

        return Again

    found = [
        ctxsim.bench("documented-53k", ["keep-all"], estimator=defined(divisor)).table("calls") for divisor in (2, 8)
    ]
    assert found[0].tokens_estimated.sum() > 3 * found[1].tokens_estimated.sum()


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
            ctxsim.replay(what)
    with pytest.raises(UnknownName):
        ctxsim.scenario("documented-54k")
    with pytest.raises(CtxsimError, match="replay takes a transcript in hand"):
        ctxsim.bench(conversation("x"))
    with pytest.raises(CtxsimError, match="fewer than 2"):
        ctxsim.replay(tmp_path / "one.json" if _one(tmp_path) else "", number=2)


def _one(folder: Path) -> bool:
    text = '{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]}'
    return bool((folder / "one.json").write_text(text))


def test_pictures_in_a_notebook_leave_its_settings_alone() -> None:
    before = dict(matplotlib.rcParams)
    found = ctxsim.replay("documented-53k", "fifo:budget=20000")
    figure = found.plot()
    assert figure._repr_png_().startswith(b"\x89PNG")
    assert dict(matplotlib.rcParams) == before
    labels = [text.get_text() for text in figure.axes[0].texts]
    assert any("fifo" in label for label in labels) and any("keep-all (bound)" in label for label in labels)
    assert "tokens_peak" in found._repr_html_()
    run = ctxsim.bench("documented-53k", ["keep-all", "fifo:budget=20000"])
    assert run.plot()._repr_png_().startswith(b"\x89PNG") and "fifo:budget=20000" in run._repr_html_()
    assert dict(matplotlib.rcParams) == before


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Invented logs."""
    return write_logs(tmp_path_factory.mktemp("api") / "logs", count=1)


def test_what_is_read_is_a_list_with_a_frame(logs: Path) -> None:
    found = ctxsim.read(logs, logs / "chat-1.json")
    assert isinstance(found, list) and [one.format for one in found] == [
        "openai-chat", "claude-code", "codex-rollout", "openai-chat"
    ]  # fmt: skip
    frame = found.frame()
    assert frame.calls.tolist() == [6, 6, 6, 6] and frame.calls_with_usage.tolist() == [0, 6, 6, 0]
    assert frame.transcript.tolist() == [one.name for one in found]
    with pytest.raises(InputError, match="does not exist"):
        ctxsim.read(logs / "missing.json")


def test_a_sweep_runs_every_setting_and_the_bounds(tmp_path: Path) -> None:
    run = ctxsim.sweep("documented-53k", ["token-budget:budget=30000..50000@3", "mask:keep=1|3"], out=tmp_path / "run")
    assert [one.partition(":")[0] for one in run.labels] == [
        "keep-all", "drop-all", "oracle-lossless", *["token-budget"] * 3, *["mask"] * 2
    ]  # fmt: skip
    assert run.frame().equals(run.summary) and len(run.frame()) == 8
    with pytest.raises(LabelError):
        ctxsim.sweep("documented-53k", "token-budget:budget=1..2@x")


def test_what_to_construct_is_tried_near_the_best_and_with_the_other_arguments_of_its_class(tmp_path: Path) -> None:
    turns: list[Any] = [{"role": "user", "content": "Go."}]
    for step in range(12):
        asked = {"id": f"c{step}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        turns.append({"role": "assistant", "content": None, "tool_calls": [asked]})
        turns.append({"role": "tool", "tool_call_id": f"c{step}", "content": f"{step}: " + "word " * 4_000})
    (tmp_path / "chat.json").write_text(json.dumps([*turns, {"role": "assistant", "content": "Done."}]))
    found = ctxsim.construct("pydantic-ai", tmp_path, goal="tokens")
    assert found.code == ("ClearToolResults(max_tokens=20000)",)
    # First two classes' budgets of 20, 40 and 80 thousand tokens, and 10 and 30 pairs of the one: 8. Then 30,000,
    # between the best and the next, and both with 10 and 30 pairs, never two budgets of one class: 1 + 2 x 2.
    assert found.tried == 8 + 5


def test_two_runs_are_compared(tmp_path: Path) -> None:
    small, large = (
        ctxsim.bench("fifty-turns", ["token-budget"], window=window, out=tmp_path / f"{window}")
        for window in (100_000, 200_000)
    )
    found = ctxsim.compare(small, large.folder, fail_if=["tokens_sum > +2%"])
    rows = found.frame()
    assert set(rows.policy) == set(small.labels) and len(rows) == len(list(found)) and not found.broken
    assert rows.verdict.notna().all()
    two = ctxsim.compare(small, policies=("keep-all", small.labels[1]), fail_if=["tokens_sum < -1%"])
    assert [change.column for change in two.broken] == ["tokens_sum"]
    with pytest.raises(CtxsimError, match="needs two runs"):
        ctxsim.compare(small)


def test_how_far_figures_hold(logs: Path, tmp_path: Path) -> None:
    """What `validate`, `calibrate` and `compactions` print, as values."""
    done = ctxsim.validate(logs)
    assert {(row.format, row.model) for row in done.scores} == set(
        zip(done.frame().format, done.frame().model, strict=True)
    )
    assert len(done.calls) == done.frame().calls.sum() > 10
    judged = ctxsim.estimates(logs, ["chars", "words"])
    assert set(judged.frame().estimator) == {"chars", "words"} and len(judged.consequences) == 2
    fit = ctxsim.calibrate(logs, by="kind", risk=0.05)
    assert fit.frame().group[0] == "all" and fit.frame().chars_per_token[0] == fit.calibration.overall.chars_per_token
    points, overall = fit.points(), fit.calibration.overall
    assert (len(points), sum(tokens for _, tokens, _ in points)) == (overall.texts, overall.tokens)
    file = fit.save(tmp_path / "own.json")
    assert (
        command("calibrate", str(logs), "--by", "kind", "--risk", "0.05", "--out", "other.json", cwd=tmp_path)[0] == 0
    )
    assert file.read_bytes() == (tmp_path / "other.json").read_bytes()
    recorded = ctxsim.calibrate(logs, against_usage=True)
    tokens = [tokens for _, tokens, _ in recorded.points()][:4]
    assert recorded.calibration.heads
    assert [one - tokens[0] for one in tokens] == [0, 600, 900, 1_200], "1000, 1600, 1900, 2200, each without the head"
    assert ctxsim.compactions(logs).frame().empty
    made = conversation(*RESULTS)
    compacted = msgspec.structs.replace(made, compactions=(Compaction(4, made.calls[2].end, "auto", ("order A1000",)),))
    cut = ctxsim.compactions([compacted, *ctxsim.read(logs)], beside=False)
    assert cut.frame().transcript.tolist() == [compacted.name] and not cut.beside


def test_parts_of_ones_own_are_checked(logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text('models = ["mine-*"]\n[cache]\nkind = "prefix"\nlifetime_s = 60\n')
    run = ctxsim.bench("documented-53k", ["mask"], out="run")
    for kind, target in (
        ("policy", "mask:keep=2"), ("estimator", "chars/3"), ("reader", "codex-rollout"), ("agent", "codex"),
        ("vendor", "anthropic"), ("run", run.folder),
    ):  # fmt: skip
        on = {"policy": ("documented-53k",), "reader": (logs / "rollout-1.jsonl",)}.get(kind, ())
        found = ctxsim.check(kind, target, *on)
        assert found.ok and found.violations == () and found.frame().empty, found
    gaps = ctxsim.check("vendor", "mine.toml")
    assert gaps.ok and gaps.frame().to_dict("list") == {
        "what": ["finding"] * 2, "line": ["cache names no source", "cache names no date"]
    }  # fmt: skip
    (tmp_path / "mine.py").write_text(
        "from ctxsim import Estimator\nclass Headless(Estimator):\n    name = 'headless'\n"
        "    def text(self, text): return len(text)\n    def head(self, head): return -1\n"
    )
    told = ctxsim.check("estimator", "mine.py:Headless").violations
    assert told == ("estimator mine.py:Headless: `head` returned -1; it must return a whole number of at least 0",)
    with pytest.raises(UnknownName, match="did you mean policy"):
        ctxsim.check("polcy", "mask")  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="did you mean mask"):
        ctxsim.check("policy", "maks")


def test_a_vendor_of_ones_own_sets_the_rules(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('[cache]\nkind = "prefix"\nlifetime_s = 600\nstep = 64\n')
    found = ctxsim.replay("documented-53k", cache=f"{tmp_path}/mine.toml")
    assert found.calls.tokens_cache_read[1:].gt(0).all() and (found.calls.tokens_cache_read % 64 == 0).all()
    assert "mine.toml" in found.provider.describe()
    (tmp_path / "mine.toml").write_text('[cache]\nkind = "prefixes"\n')
    with pytest.raises(InputError, match=r"mine\.toml: is no vendor: Invalid enum value 'prefixes' - at "):
        ctxsim.replay("documented-53k", cache=f"{tmp_path}/mine.toml")


def test_a_vendor_in_the_users_folder_has_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "ctxsim" / "vendors").mkdir(parents=True)
    (tmp_path / "ctxsim" / "vendors" / "ours.toml").write_text('[cache]\nkind = "prefix"\nlifetime_s = 600\n')
    assert ctxsim.replay("documented-53k", cache="ours").calls.tokens_cache_read.sum() > 0
    assert ctxsim.check("vendor", "ours").ok
    listed = command("list", "vendors", "ours", cwd=tmp_path).stdout
    assert "models = chosen by name only" in listed and "cache.lifetime_s = 600" in listed


def test_an_endpoint_plays_a_conversation_and_stops() -> None:
    pytest.importorskip("uvicorn")
    heard = []
    with ctxsim.serve(conversation(*RESULTS), told=heard.append, window=100_000) as endpoint:
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Go."}]}).encode()
        with urllib.request.urlopen(
            urllib.request.Request(f"{endpoint.url}/v1/chat/completions", body, {"Content-Type": "application/json"})
        ) as answer:
            assert json.load(answer)["choices"]
        assert endpoint.requests == heard and endpoint.provider.window == 100_000
        assert endpoint.frame().status.tolist() == [200] and endpoint.steps == len(RESULTS) + 1
    with pytest.raises(OSError):
        urllib.request.urlopen(endpoint.url, timeout=5)
    with pytest.raises(CtxsimError, match="fewer than 9"):
        ctxsim.serve(conversation("x"), number=9)


@pytest.mark.slow
def test_an_agent_of_ones_own_is_driven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("uvicorn")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "mine.py").write_text(AGENT)
    heard = []
    mine = f"{sys.executable} {tmp_path}/mine.py"
    run = ctxsim.drive(
        [], "documented-53k", command=mine, policies=["keep-all"], out=tmp_path / "run", told=heard.append
    )  # fmt: skip
    (agent,) = run.agents
    assert heard == [agent] and agent.observation.label == run.labels[-1] and run.labels[0] == "keep-all"
    assert isinstance(run.frame(), pandas.DataFrame) and set(run.frame().policy) == set(run.labels)
    with pytest.raises(CtxsimError, match="name an agent"):
        ctxsim.drive([], "documented-53k")
