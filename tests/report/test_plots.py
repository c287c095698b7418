"""Pictures over calls and of estimates, from rows written by hand."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas
import pytest

from ctxsim.report import plots
from ctxsim.report.picture import CHOSEN
from ctxsim.report.plots import (
    estimates,
    growth_figure,
    growth_of,
    limits,
    shown_transcript,
    which,
)
from ctxsim.report.style import COLORS, LIMIT_COLOR, NAMES_AT, OTHER_COLOR


def calls_of(rows: dict[str, list[int]], failed: dict[str, int] | None = None) -> pandas.DataFrame:
    """By policy its requests' tokens; from some call on, some are refused."""
    return pandas.DataFrame(
        {"policy": label, "call": n, "tokens_sent": tokens,
         "status": "overflow" if n >= (failed or {}).get(label, 99) else "ok"}
        for label, sent in rows.items() for n, tokens in enumerate(sent, 1)
    )  # fmt: skip


def grown(calls: pandas.DataFrame, chosen: str | None = None, limits: Any = (), bounds: Any = ("all",),
          policies: Any = None, shown: Any = None) -> Any:  # fmt: skip
    labels = policies or list(dict.fromkeys(calls.policy))
    return growth_figure(calls, labels, bounds, shown or {}, "An answer.\nand more\nof what", limits, chosen)


def lines(axes: Any) -> list[tuple[Any, ...]]:
    return [(line.get_color(), line.get_linestyle(), line.get_linewidth(), line.get_alpha(), line.get_zorder())
            for line in axes.lines]  # fmt: skip


def test_lines_of_growth_have_looks_by_what_they_are() -> None:
    calls = calls_of({"all": [10, 20], "a": [5, 9], "observed:x": [6, 8], "observed:y": [7, 8], "b": [8, 12]}, {"b": 2})
    [axes] = grown(calls, "a").axes
    # Bounds are dashed, agents have colours of their own; what fails lies above, the advised one above all.
    assert lines(axes) == [
        (OTHER_COLOR, "--", 0.8, 0.7, 2), (COLORS[1], "-", 1.6, 1.0, 3), (COLORS[2], "-", 1.6, 1.0, 3),
        (LIMIT_COLOR, "-", 2.2, 1.0, 3), (LIMIT_COLOR, "-", 1, 0.3, 3), (LIMIT_COLOR, "None", 1.5, None, 5),
        (COLORS[0], "-", 3.0, 1.0, 3),
    ]  # fmt: skip
    # Up to the call that fails, from there on, and a cross on it.
    assert [list(line.get_xdata()) for line in axes.lines[3:6]] == [[1, 2], [2], [2]]
    assert not any(line.get_clip_on() for line in axes.lines)
    # 20 tokens and 8 % more.
    assert axes.get_ylim() == pytest.approx((0, 21.6)) and axes.get_xlim() == pytest.approx((0.96, 2))
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("call", "input tokens sent (counted)")
    assert axes.yaxis.get_major_formatter()(20_000) == "20K" and list(axes.get_xticks()) == [1, 2]
    names = {one.get_text(): one.get_color() for one in axes.texts}
    assert names == {
        "all (bound)": OTHER_COLOR, "observed:x": COLORS[1], "observed:y": COLORS[2], "b  × call 2: 12": LIMIT_COLOR,
        "▶ a": COLORS[0],
    }  # fmt: skip


def test_a_bound_that_fails_is_red_and_no_longer_dashed() -> None:
    found = grown(calls_of({"all": [10, 20], "a": [5, 9]}, {"all": 1}))
    [axes] = found.axes
    assert [line[:3] for line in lines(axes)] == [
        (LIMIT_COLOR, "-", 2.2), (LIMIT_COLOR, "-", 1), (LIMIT_COLOR, "None", 1.5), (COLORS[0], "-", 3.0)
    ]  # fmt: skip
    assert list(axes.lines[0].get_xdata()) == [1] and list(axes.lines[1].get_xdata()) == [1, 2]
    assert {one.get_text() for one in axes.texts} == {"all (bound)  × call 1: 10", "a"}
    told = [" ".join(one.get_text().split()) for one in found.texts]
    assert told == [
        "An answer. and more",
        "of what; red: fails, × at the first call that would be refused, pale after it",
    ]
    assert grown(calls_of({"a": [5]}), "a").texts[1].get_text() == f"of what; ▶: {CHOSEN}"
    assert grown(calls_of({"keep-all": [5]}), "keep-all").texts[1].get_text() == "of what; ▶: no change"
    assert grown(calls_of({"a": [5]}), "not drawn").texts[1].get_text() == "of what"


@pytest.mark.parametrize(("calls", "marker", "ticks"), [(20, "o", list(range(1, 21))), (21, "None", None)])
def test_up_to_twenty_calls_have_marks_and_ticks(calls: int, marker: str, ticks: Any) -> None:
    [axes] = grown(calls_of({"a": [5] * calls})).axes
    assert (axes.lines[0].get_marker(), axes.lines[0].get_markersize()) == (marker, 3.5)
    assert (list(axes.get_xticks()) == list(range(1, calls + 1))) == bool(ticks)


def test_lines_that_end_together_share_a_name_and_what_did_not_run_has_none() -> None:
    rows = {"a": [1, 7], "b": [2, 7], "c": [3, 7], "d": [3, 8]}
    [axes] = grown(calls_of(rows), bounds="abcd", policies=[*"dabc", "gone"], shown={"a": "first:n=2000"}).axes
    assert {one.get_text() for one in axes.texts} == {"first 2K (bound) and 2 more", "d (bound)"}
    assert len(axes.lines) == 4
    # Names are in the axes: as high as its point, where there is room.
    low, high = sorted(one.get_position()[1] for one in axes.texts)
    assert (low, high) == pytest.approx((7 / 8.64, 8 / 8.64)) and axes.get_ylim()[1] == pytest.approx(8.64)


def test_names_keep_apart_and_within_the_axes() -> None:
    [axes] = grown(calls_of({"a": [1, 100], "b": [1, 101], "c": [1, 0], "d": [1, 1]})).axes
    # By 4.2 % of the height, from 2 % up: 109.08 is the top.
    heights = sorted(one.get_position()[1] for one in axes.texts)
    assert heights == pytest.approx([0.02, 0.062, 100 / 109.08, 100 / 109.08 + 0.042])
    # Five names of 100 and a little less would reach beyond the top.
    [axes] = grown(calls_of({label: [1, 1_000 - n] for n, label in enumerate("abcde")})).axes
    heights = sorted(one.get_position()[1] for one in axes.texts)
    assert heights == pytest.approx([0.985 - 0.042 * n for n in range(4, -1, -1)])


def test_of_seventeen_grey_names_sixteen_have_room(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (plots.MOST_NAMES, plots.SAMPLED) == (16, 20_000)
    monkeypatch.setattr(plots, "MOST_NAMES", 2)
    found = grown(calls_of({"a": [1], "b": [10], "c": [30], "d": [100]}), "d")
    assert {one.get_text() for one in found.axes[0].texts} == {"c", "▶ d"}
    told = " ".join(found.texts[1].get_text().split())
    assert told.endswith(f"▶: {CHOSEN}; lines without a name: 2, see the table")


@pytest.mark.parametrize(
    ("rows", "limits", "top", "drawn"),
    [
        # The largest request has 100 tokens, and 8 % more. A limit up to half as far again is in reach.
        ([100], [(162, "window")], 162 * 1.06, [162]),
        ([100], [(163, "window")], 108, []),
        ([100], [(102, "window")], 102 * 1.06, [102]),
        ([100], [(101, "window")], 108, [101]),
        # What is in reach of the first one's end is drawn too.
        ([100], [(160, "window"), (250, "budget")], 250 * 1.06, [160, 250]),
        ([0], [], 1, []),
    ],
)
def test_limits_in_reach_are_drawn(rows: list[int], limits: Any, top: float, drawn: list[int]) -> None:
    [axes] = grown(calls_of({"a": rows}), limits=limits).axes
    assert axes.get_ylim() == pytest.approx((0, top))
    dotted = [line for line in axes.lines if line.get_linestyle() == ":"]
    assert [line.get_ydata()[0] for line in dotted] == drawn and all(line.get_zorder() == 1 for line in dotted)


def test_limits_of_one_name_share_a_text_at_the_largest() -> None:
    given = [(50, "x"), (70, "y"), (90, "x"), (1_000, "x")]
    [axes] = grown(calls_of({"a": [100]}), limits=given).axes
    found = {one.get_text(): one for one in axes.texts if ": " in one.get_text()}
    places = {name: one.get_position()[1] * 108 for name, one in found.items()}
    assert places == pytest.approx({"y: 70": 70, "x: 50 to 90": 90})
    # No line goes through a name, and red is what fails alone.
    assert all(one.get_position()[0] == NAMES_AT > 1 and one.get_color() == "black" for one in found.values())
    dotted = [line for line in axes.lines if line.get_linestyle() == ":"]
    assert [line.get_ydata()[0] for line in dotted] == [50, 70, 90]
    assert all(line.get_color() == "black" for line in dotted)


def test_what_a_request_must_stay_under() -> None:
    assert limits({}, {}) == [(200_000, "window")]
    provider = {"window": 1_000, "reserved_output": 100, "rate_limit": {"tokens_per_minute": 5_000}}
    own = {"a": {"budget": 700.4, "at": 10}, "b": {"budget": 700.0}}
    assert limits(provider, own) == [(900, "window less reserved output"), (5_000, "rate limit per minute"),
                                     (10, "at"), (700, "budget")]  # fmt: skip


SUMMARY = pandas.DataFrame({"transcript": ["s", "l", "m"], "tokens_full_sum": [1, 9, 9], "provider": [0, 0, 1]})


def test_the_largest_transcript_is_shown_with_its_provider_s_limits() -> None:
    calls = calls_of({"a": [60, 90], "b": [60, 95]})
    info = SimpleNamespace(providers=[{"window": 1}, {"window": 100}], limits={"b": {"budget": 80}}, bounds=("a",),
                           shown={"b": "short"})  # fmt: skip
    run: Any = SimpleNamespace(of=lambda label: SUMMARY if label == "a" else SUMMARY[:1], labels=["a", "b"], info=info,
                               table=lambda name, transcript: calls if transcript == ["m"] else None)  # fmt: skip
    # Of two as large the last.
    assert shown_transcript(run) == "m"
    one: Any = SimpleNamespace(run=run, labels=("a", "b"), headline="An answer.", title="T", chosen="b",
                               pooled=SimpleNamespace(transcripts=1_003))  # fmt: skip
    found = growth_of(one)
    assert [one.get_text().split("; ")[0] for one in found.texts] == ["An answer.", "T: the largest of 1,003"]
    assert [line.get_ydata()[0] for line in found.axes[0].lines if line.get_linestyle() == ":"] == [80, 100]
    assert {"a (bound)", "▶ short"} <= {one.get_text() for one in found.axes[0].texts}
    one.pooled.transcripts = 1
    assert which(one) == "its one transcript"


def estimated(drawn: list[Any], batches: list[list[tuple[str, int, float]]]) -> Any:
    """The picture of some requests: policy, tokens sent, tokens estimated."""
    tables = [pandas.DataFrame(rows, columns=["policy", "tokens_sent", "tokens_estimated"]) for rows in batches]
    run = SimpleNamespace(
        rows=lambda name: sum(map(len, batches)), batches=lambda name, columns: tables,
        info=SimpleNamespace(tokenizers={"x": "", "y": ""}, providers=[{}], bounds=("all",)),
    )  # fmt: skip
    labels = {row[0] for rows in batches for row in rows} - {"unasked"}
    one: Any = SimpleNamespace(run=run, title="T", many="3 transcripts", labels=labels)
    assert estimates(one, Path("e.png")) == Path("e.png")
    return drawn[-1]


def test_each_policy_s_errors_are_a_box_the_largest_on_top(drawn: list[Any]) -> None:
    # A bound decides by no estimate: its request is left out.
    found = estimated(drawn, [[("a:n=1", 100, 120), ("b:n=1", 400, 100), ("all", 7, 70), ("unasked", 9, 90)],
                              [("a:n=2", 200, 150), ("b:n=1", 0, 5)]])  # fmt: skip
    [axes] = found.axes
    assert [text.get_text() for text in axes.get_yticklabels()] == ["a", "b"]
    # a is 20 % too high and 25 % too low, b 75 % too low.
    medians = [line.get_xdata()[0] for line in axes.lines if line.get_color() == COLORS[1]]
    assert medians == pytest.approx([-2.5, -75]) and list(axes.lines[-1].get_xdata()) == [0, 0]
    assert axes.get_xlabel() == (
        "error of estimates, % of the tokens counted by x and y\n(box: middle half, whiskers: 5 to 95 %)"
    )
    assert [" ".join(one.get_text().split()) for one in found.texts] == [
        "Estimates of a request's size are off by 40% on average",
        "T, 3 transcripts; left of 0: too low, requests may be refused; "
        "right: too high, context is cut early; band: ±20 %",
    ]
    assert found.get_size_inches().tolist() == pytest.approx([9, 3])
    [axes] = estimated(drawn, [[("a:n=1", 100, 120), ("a:n=2,estimator=bytes", 100, 90)]]).axes
    assert [text.get_text() for text in axes.get_yticklabels()] == ["a, bytes", "a"], (
        "one that is named has its own box"
    )
    [axes] = estimated(drawn, [[("a" * 30 + "b" * 30, 100, 110)]]).axes
    [name] = axes.get_yticklabels()
    assert name.get_text() == "a" * 19 + "…" + "b" * 20


def test_without_requests_there_is_an_empty_picture(drawn: list[Any]) -> None:
    assert estimated(drawn, [[("a", 0, 5), ("all", 5, 5)]]).texts[0].get_text() == "No estimate"


def test_of_many_requests_some_are_drawn_the_same_ones_each_time(
    drawn: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plots, "SAMPLED", 6)
    batches = [[("a", 100, 100 + 10 * batch + n) for n in range(10)] for batch in range(3)]
    told = [estimated(drawn, batches).texts[0].get_text() for _ in range(2)]
    # By chance two of each ten, with errors of 10 a batch and 0 to 9 in it.
    chosen = np.random.RandomState(0).choice(10, 2, replace=False)
    assert told == [f"Estimates of a request's size are off by {10 + chosen.mean():.0f}% on average"] * 2
