"""Points of a trade-off, which of them another one beats, and the frontiers above them: by hand."""

from __future__ import annotations

from time import process_time
from types import SimpleNamespace
from typing import Any

import pandas
import pytest

from ctxsim.answers.advice.figures import Share
from ctxsim.report.style import at_axis, compact, middle_cut, short_number, spread, wrap_label
from ctxsim.report.tradeoff import Point, dominated, frontier_line, joined


def point(policy: str, amount: float, kept: float | None, rejected: float = 0.0, bound: bool = False) -> Point:
    return Point(policy, bound, Share(amount), None if kept is None else Share(kept), rejected)


def test_a_policy_is_beaten_by_one_that_is_no_worse_in_all_and_better_in_one() -> None:
    best = point("best", 0.5, 0.9)
    worse = [point("dearer", 0.6, 0.9), point("loses", 0.5, 0.8), point("refused", 0.5, 0.9, 0.1)]
    worse.append(point("x", 0.5, None))
    apart = [point("equal", 0.5, 0.9), point("cheaper", 0.4, 0.1), point("keeps", 0.9, 1.0)]
    found = [best, *worse, *apart, point("bound", 0.1, 1.0, bound=True)]
    assert dominated(found) == {"dearer", "loses", "refused", "x"} and dominated([]) == set()
    nothing = point("keep-all", 1.0, 1.0, bound=True)
    assert dominated([nothing, point("dearer", 1.1, 1.0)]) == {"dearer"}, "doing nothing beats as others do"
    began = process_time()
    assert dominated([point(f"{n}", n / 1_500, n / 1_500) for n in range(1_500)]) == set()
    assert process_time() - began < 1


def test_lines_join_settings_that_differ_in_one_parameter() -> None:
    labels = ["a:x=1", "a:x=2", "a:x=3", "b:x=1", "b:x=2", "c:x=1,y=1", "c:x=1,y=2", "c:x=2,y=1", "c:x=2,y=2"]
    lines = joined([*(point(label, 0.5, 0.5) for label in labels), point("a:x=4", 0.1, 0.1, bound=True)])
    assert [[one.policy for one in line] for line in lines] == [labels[:3], labels[5:7], labels[7:]]


def run(needs: list[int], lines: list[tuple[str, str, float, float]], ratio: float | None = 0.5) -> Any:
    rows = pandas.DataFrame({"transcript": ["s", "t"], "calls_with_aged_needs": needs, "tokens_full_sum": [100, 300],
                             "cost_usd": [1.0, 3.0], "cost_vs_keep_all": [ratio, ratio]}).astype(
        {"cost_vs_keep_all": float})  # fmt: skip
    batch = pandas.DataFrame(lines, columns=["transcript", "family", "survival", "tokens"])
    batch["cost_usd"] = batch.tokens
    return SimpleNamespace(of=lambda label: rows, labels=["a"], batches=lambda table, columns: [batch])


def test_a_frontier_adds_up_transcripts_at_each_survival() -> None:
    lines = [("s", "any", 0.0, 20.0), ("s", "any", 1.0, 60.0), ("t", "any", 0.0, 40.0), ("t", "any", 1.0, 100.0),
             ("s", "results", 1.0, 99.0), ("gone", "any", 1.0, 99.0)]  # fmt: skip
    # Of 400 tokens 20 + 40 are 15 %, 60 + 100 are 40 %.
    assert frontier_line(run([1, 2], lines), "any", "tokens") == ([0.15, 0.4], [0.0, 1.0])
    # Keep-all's dollars are 1 / 0.5 + 3 / 0.5 = 8.
    assert frontier_line(run([1, 2], lines), "any", "cost_usd") == ([7.5, 20.0], [0.0, 1.0])
    # Where t needs nothing old it takes its 140 at any survival: 160 and 200 of 400.
    assert frontier_line(run([1, 0], lines), "any", "tokens") == ([0.4, 0.5], [0.0, 1.0])
    assert frontier_line(run([0, 0], lines), "any", "tokens") == ([], [])
    assert frontier_line(run([1, 1], lines, None), "any", "cost_usd") == ([], [])
    assert frontier_line(run([1, 1], [("s", "any", 0.0, float("nan"))]), "any", "tokens") == ([], [])


def test_numbers_at_axes_and_in_names() -> None:
    assert [compact(one) for one in (float("nan"), 9_999, 10_000, 999_900, 1e6, 1_310_000, 1e9, -10_000)] == [
        "-", "9,999", "10.0K", "999.9K", "1.00M", "1.31M", "1.00G", "-10.0K"
    ]  # fmt: skip
    assert [at_axis(one) for one in (0, 500, 1_000, -2_000, 1e6, 1_500_000)] == ["0", "500", "1K", "-2K", "1M", "1.5M"]
    assert [short_number(one) for one in ("999", "1000", "1500", "40000", "x")] == ["999", "1K", "1500", "40K", "x"]
    assert [middle_cut("abcdef", most) for most in (6, 5, 4)] == ["abcdef", "ab…ef", "a…ef"]
    assert wrap_label("ab:c=1,d=2", 6) == "ab:\n  c=1,\n  d=2" and wrap_label("ab:c=1", 6) == "ab:c=1"
    # A piece of 9 characters has no room in 10, as the indent takes 2: it breaks after the name, not within the number.
    assert [wrap_label("ab:cde=12345", most) for most in (10, 11)] == ["ab:cde=\n  12345", "ab:\n  cde=12345"]


@pytest.mark.parametrize(
    ("given", "gap", "ends", "moved"),
    [([0, 10], 5, (-99, 99), [0, 10]), ([0, 1], 5, (-99, 99), [-2, 3]), ([1, 0], 5, (-99, 99), [3, -2]),
     ([0, 1], 5, (0, 99), [0, 5]), ([9, 10], 5, (0, 10), [5, 10]), ([0, 4, 8], 5, (-99, 99), [-1, 4, 9]),
     # Two that move apart leave a third one where it is, before or behind them.
     ([0, 1, 9], 5, (-99, 99), [-2, 3, 9]), ([0, 50, 51], 5, (-99, 99), [0, 48, 53])],
)  # fmt: skip
def test_names_move_apart_by_a_gap_and_stay_within(
    given: list[float], gap: float, ends: tuple[float, float], moved: list[float]
) -> None:
    assert spread(given, gap, *ends) == pytest.approx(moved)
