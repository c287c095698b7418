"""Survival against cost: points, which of them another one beats, frontiers, and each mark of their picture."""

from __future__ import annotations

from pathlib import Path
from time import process_time
from types import SimpleNamespace
from typing import Any

import pandas
import pytest
from matplotlib.colors import to_hex

from ctxsim.answers.advice.figures import Share
from ctxsim.report import tradeoff as module
from ctxsim.report.picture import CHOSEN
from ctxsim.report.style import (
    COLORS,
    LIMIT_COLOR,
    OTHER_COLOR,
    at_axis,
    compact,
    middle_cut,
    short_number,
    spread,
    wrap_label,
)
from ctxsim.report.tradeoff import (
    Frontier,
    Point,
    dominated,
    frontier_line,
    frontiers,
    joined,
    least_amount,
    points,
    tradeoff,
)


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
    # A name that is still too long is broken between its words.
    assert wrap_label("MAX_OUT_TOKENS = 5", 11) == "MAX_OUT_\n  TOKENS = \n  5"
    assert wrap_label("a_b:c_d=1_000", 8) == "a_b:c_d=\n  1_000"
    assert wrap_label("anthropic/claude-3-7-sonnet-latest", 23) == "anthropic/claude-3-7-\n  sonnet-latest"


@pytest.mark.parametrize(
    ("given", "gap", "ends", "moved"),
    [([0, 10], 5, (-99, 99), [0, 10]), ([0, 1], 5, (-99, 99), [0, 5]), ([1, 0], 5, (-99, 99), [5, 0]),
     ([0, 1], 5, (2, 99), [2, 7]), ([9, 10], 5, (0, 10), [5, 10]), ([0, 4, 8], 5, (-99, 99), [0, 5, 10]),
     # Two that move apart leave a third one where it is, before or behind them.
     ([0, 1, 11], 5, (-99, 99), [0, 5, 11]), ([0, 50, 51], 5, (-99, 54), [0, 49, 54])],
)  # fmt: skip
def test_names_move_apart_by_a_gap_and_stay_within(
    given: list[float], gap: float, ends: tuple[float, float], moved: list[float]
) -> None:
    assert spread(given, gap, *ends) == pytest.approx(moved)


DARK = "#333333"

EVERY = {
    # By policy: bound, amount, kept, share of calls refused.
    "all": (True, Share(1.0), Share(1.0), 0.0),
    "good": (False, Share(0.5, 0.4, 0.6), Share(0.9, 0.8, 1.0), 0.0),
    "worse": (False, Share(0.6, 0.5, None), Share(0.9), 0.0),
    "fails": (False, Share(0.3, None, 0.4), None, 0.25),
    "far": (False, Share(2.5, 2.2, 2.9), Share(0.95, None, 1.0), 0.0),
    "ends": (False, Share(1.9, 1.5, 2.2), Share(0.97, 0.96, None), 0.0),
    "edge": (False, Share(2.0, 1.0, 2.0), Share(0.98), 0.0),
}


def picture(every: dict[str, Any] | None = None, chosen: str | None = "good", **given: Any) -> Any:
    """A run as pictures show it; of `worse` and `far` both ends of what summaries may keep are known, or one."""
    every = every or EVERY
    brackets = {"worse": (0.7, 0.95), "far": (0.1, None), "ends": (None, 0.9)}
    figures = {}
    for label, (bound, amount, kept, _) in every.items():
        low, high = brackets.get(label, (None, None))
        figures[label] = SimpleNamespace(
            bound=bound, usd_share=amount, tokens_share=amount, kept=kept, kept_low=low, kept_high=high
        )
    pooled = SimpleNamespace(all=figures, refusals=lambda label: every[label][3], sample=None)
    usual = {
        "run": None, "pooled": pooled, "labels": tuple(every), "chosen": chosen, "headline": "An answer.", "title": "T",
        "many": "2 transcripts", "mark": f"▶: {CHOSEN}" if chosen else "", "marked": lambda label: f"<{label}>",
    }  # fmt: skip
    return SimpleNamespace(**{**usual, **given})


LINES = [Frontier([10.0], [0.0], "solid", "whole"), Frontier([10.0, 40.0], [0.0, 90.0], "dot", "any")]


def drawn_of(drawn: list[Any], monkeypatch: pytest.MonkeyPatch, lines: Any = None, dollars: bool = True,
             **given: Any) -> Any:  # fmt: skip
    monkeypatch.setattr(module, "frontiers", lambda run, dollars: LINES if lines is None else lines)
    assert tradeoff(picture(**given), Path("t.png"), dollars) == Path("t.png")
    return drawn[-1]


def test_policies_stand_as_rows_the_cheapest_on_top(drawn: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    found = drawn_of(drawn, monkeypatch)
    left, right = found.axes
    names = [(one.get_text(), one.get_color(), one.get_fontweight()) for one in left.get_yticklabels()]
    assert names == [
        ("<fails>", LIMIT_COLOR, "normal"), ("<good>", COLORS[0], "bold"), ("<worse>", DARK, "normal"),
        ("<all>", OTHER_COLOR, "normal"), ("<ends>", DARK, "normal"), ("<edge>", DARK, "normal"),
        ("<far>", DARK, "normal"),
    ]  # fmt: skip
    assert list(right.get_yticks()) == list(range(7)) and not any(one.get_text() for one in right.get_yticklabels())
    # Seven rows, whose first is on top.
    assert left.get_ylim() == right.get_ylim() == pytest.approx((6.6, -0.6)) and right.get_xlim() == (-2, 102)
    # The farthest end is 290 %, but the axis ends at 200.
    assert left.get_xlim() == pytest.approx((0, 200))
    assert left.get_xlabel() == "dollars (modelled), % of keep-all's"
    assert right.get_xlabel() == "kept, % of what later calls used of old results"
    assert found.get_size_inches().tolist() == pytest.approx([10.5, 1.9 + 7 * 0.25])
    told = [" ".join(one.get_text().split()) for one in found.texts]
    assert told == [
        "An answer.",
        f"T, 2 transcripts; ▶: {CHOSEN}; ×: some calls refused; hollow: another is better; "
        "dotted: keep-all; square: bound; whiskers: the next sessions, 90 %; left bar: what keeping as much costs "
        "at least; right bar: range, by what summaries keep",
    ]


def marks(axes: Any) -> list[tuple[Any, ...]]:
    found = [line for line in axes.lines if line.get_marker() in "oXs"]
    return [(*line.get_xdata(), *line.get_ydata(), line.get_marker(), line.get_markeredgecolor(),
             line.get_markerfacecolor(), line.get_clip_on()) for line in found]  # fmt: skip


def spans(axes: Any) -> list[tuple[Any, ...]]:
    return [(list(line.get_xdata()), list(line.get_ydata()), line.get_color()) for line in axes.lines
            if len(line.get_xdata()) == 2 and line.get_linestyle() == "-"]  # fmt: skip


def test_each_row_has_its_mark_and_its_whiskers(drawn: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    left, right = drawn_of(drawn, monkeypatch).axes
    blue, red, grey = COLORS[0], LIMIT_COLOR, OTHER_COLOR
    # Of what another one beats the face is white. Beyond the axis a mark isn't drawn.
    assert marks(left) == [
        (30, 0, "X", red, red, False), (50, 1, "o", blue, blue, False), (60, 2, "o", DARK, "white", False),
        (100, 3, "s", grey, grey, False), (190, 4, "o", DARK, DARK, False), (200, 5, "o", DARK, DARK, False),
        (250, 6, "o", DARK, "white", True),
    ]  # fmt: skip
    assert marks(right) == [
        (90, 1, "o", blue, blue, False), (90, 2, "o", DARK, "white", False), (100, 3, "s", grey, grey, False),
        (97, 4, "o", DARK, DARK, False), (98, 5, "o", DARK, DARK, False), (95, 6, "o", DARK, "white", False),
    ]  # fmt: skip
    # Both ends make a whisker.
    assert spans(left) == [
        ([40, 60], [1, 1], blue), ([150, pytest.approx(220)], [4, 4], DARK), ([100, 200], [5, 5], DARK),
        ([pytest.approx(220), 290], [6, 6], DARK),
    ]  # fmt: skip
    assert spans(right) == [([80, 100], [1, 1], blue)]
    # What lies beyond the axis says how much it is.
    assert [(one.get_text(), one.get_position(), one.get_color()) for one in left.texts] == [("250% →", (196, 6), DARK)]
    [dotted] = [line for line in left.lines if line.get_linestyle() == ":"]
    assert (list(dotted.get_xdata()), dotted.get_color()) == ([100, 100], OTHER_COLOR)


def bars(axes: Any) -> list[tuple[Any, ...]]:
    return [(one.get_x(), one.get_width(), one.get_y() + one.get_height() / 2, one.get_height(),
             to_hex(one.get_facecolor())) for one in axes.patches]  # fmt: skip


def test_bars_say_what_is_least_and_what_summaries_may_keep(drawn: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    left, right = drawn_of(drawn, monkeypatch).axes
    # Of 90 % and more at least 40 % of the dollars; of what is not known nothing.
    assert bars(left) == [(0, 40, pytest.approx(row), pytest.approx(0.9), DARK) for row in (1, 2, 3, 4, 5, 6)]
    assert bars(right) == [(70, pytest.approx(25), pytest.approx(2), pytest.approx(0.6), DARK)]
    assert bars(drawn_of(drawn, monkeypatch, LINES[:1]).axes[0]) == []
    assert "left bar" not in drawn[-1].texts[1].get_text()


def test_a_policy_is_beaten_by_one_that_is_not_drawn(drawn: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    two = {"good": (False, Share(0.5), Share(0.9), 0.0), "worse": (False, Share(0.7), Share(0.8), 0.0)}
    left, _ = drawn_of(drawn, monkeypatch, every=two, labels=("worse",)).axes
    assert marks(left) == [(70, 0, "o", DARK, "white", False)]


def test_the_axis_ends_beyond_the_farthest_end(drawn: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    few = {"all": EVERY["all"], "good": (False, Share(0.5), Share(0.9), 0.0)}
    found = drawn_of(drawn, monkeypatch, every=few, chosen=None, dollars=False, many="1 transcript")
    left, _ = found.axes
    assert (module.MOST_ROWS, module.MOST_AMOUNT) == (48, 200)
    # Nothing is farther than 100, and 8 % more.
    assert left.get_xlim() == pytest.approx((0, 108)) and left.get_xlabel().startswith("input tokens sent (counted), %")
    told = " ".join(found.texts[1].get_text().split())
    assert told == (
        "T, 1 transcript; hollow: another is better; dotted: keep-all; square: bound; left bar: what "
        "keeping as much costs at least"
    )
    few["good"] = (False, Share(1.2, 1.0, 1.5), Share(0.9), 0.0)
    assert drawn_of(drawn, monkeypatch, every=few).axes[0].get_xlim() == pytest.approx((0, 162))
    one = picture(few)
    one.pooled.sample = "drawn"
    tradeoff(one, Path("t.png"), True)
    assert "whiskers: 95 % of a sampled folder" in " ".join(drawn[-1].texts[1].get_text().split())


def test_of_too_many_those_that_others_beat_have_no_row(drawn: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_ROWS", 4)
    # Nothing beats `fails`, `good`, `all`, `ends` and `edge`: the cheapest of these, and the advised one in any case.
    found = drawn_of(drawn, monkeypatch, chosen="worse")
    assert [one.get_text() for one in found.axes[0].get_yticklabels()] == ["<fails>", "<good>", "<worse>", "<all>"]
    assert " ".join(found.texts[1].get_text().split()).endswith("; 3 policies that others beat are in the table only")
    # Others than the run's drawn ones have none either.
    found = drawn_of(drawn, monkeypatch, labels=("good", "worse"))
    assert [one.get_text() for one in found.axes[0].get_yticklabels()] == ["<good>", "<worse>"]
    assert "in the table only" not in found.texts[1].get_text() and "square" not in found.texts[1].get_text()


def test_what_is_proven_least_is_a_frontier_s_next_level_below() -> None:
    line = Frontier([10.0, 20.0], [50.0, 100.0], "dot", "any")
    kept = (0.49, 0.4999999, 0.5, 0.99, 1.0)
    assert [least_amount(line, Share(one)) for one in kept] == [None, None, 10.0, 10.0, 20.0]
    assert least_amount(line, None) is None
    # Within a millionth of a level it is reached.
    assert least_amount(line, Share(0.5 - 0.9e-8)) == 10.0 and least_amount(line, Share(0.5 - 1.2e-8)) is None


def test_points_are_of_what_is_known_in_dollars_or_tokens() -> None:
    def figures(usd: Share | None) -> Any:
        return SimpleNamespace(bound=False, usd_share=usd, tokens_share=Share(0.7), kept=Share(0.9))

    pooled: Any = SimpleNamespace(all={"a": figures(Share(0.5)), "b": figures(None)}, refusals=lambda label: 0.25)
    assert points(pooled, True) == [Point("a", False, Share(0.5), Share(0.9), 0.25)]
    assert points(pooled, False) == [Point(label, False, Share(0.7), Share(0.9), 0.25) for label in "ab"]


@pytest.mark.parametrize("dollars", [False, True])
def test_frontiers_are_in_per_cent_and_those_that_are_paid_for_of_dollars_alone(
    dollars: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    amounts = {("results", "tokens"): 0.25, ("any", "tokens"): 0.125, ("results", "cost_usd"): 0.5,
               ("any", "cost_usd"): 0.375, ("results", "scheduled_usd"): 0.75}  # fmt: skip
    monkeypatch.setattr(module, "frontier_line", lambda run, of, what: ([amounts[of, what]], [1.0]))
    found = [(one.x, one.y, one.dash, one.name) for one in frontiers(None, dollars)]  # type: ignore[arg-type]
    paid = ([75.0], [100.0], "dash", "the same, sent once, edits paid")
    assert found == [
        ([50.0 if dollars else 25.0], [100.0], "solid", "whole results"), *[paid] * dollars,
        ([37.5 if dollars else 12.5], [100.0], "dot", "any means"),
    ]  # fmt: skip
