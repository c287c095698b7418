"""Policies and estimators that a notebook defines."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import pytest
from bench_runs import content
from invented import write_logs
from samples import conversation

import ctxsim
from ctxsim.counting.estimators import estimator_label, registered_estimators
from ctxsim.errors import LabelError
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
def same_classes_afterwards() -> Iterator[None]:
    """A policy or an estimator that an example defines is known to no other test."""
    registries: tuple[dict[str, Any], ...] = (registered_policies(), registered_estimators())
    before = [dict(known) for known in registries]
    yield
    for known, held in zip(registries, before, strict=True):
        known.clear()
        known.update(held)
    open_policies.cache_clear()


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

    with pytest.raises(LabelError, match="keep-all is there already"):
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


@pytest.mark.slow
def test_classes_reach_other_processes(tmp_path: Path) -> None:
    """Of policies and of estimators, from a module that the processes can't import, or from inside a function."""
    write_logs(tmp_path / "logs", count=1)
    policies = ["keep-all", FirstLines, cell(7), "max-result-chars:chars=50+first-lines:chars=5"]
    estimator = Half(extra=3)
    runs = [
        ctxsim.bench(tmp_path / "logs", policies, estimator=estimator, jobs=jobs, out=tmp_path / f"out{jobs}")
        for jobs in (1, 2)
    ]
    assert content(runs[0].folder) == content(runs[1].folder)
    by = estimator_label(estimator)
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

    with pytest.raises(LabelError, match="estimator chars is there already"):
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
