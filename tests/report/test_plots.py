"""Pictures over calls and of estimates, from rows written by hand."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas
import pytest

from ctxsim.report import figure, plots
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
    assert grown(calls_of({"a": [5]}), "a").texts[1].get_text().replace("\n", " ").endswith(f"after it; blue: {CHOSEN}")


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
    assert heights[:2] == pytest.approx([0.02, 0.062])
    assert heights[3] - heights[2] == pytest.approx(0.042) and sum(heights[2:]) / 2 == pytest.approx(100.5 / 109.08)
    # Five names of 100 and a little less would reach beyond the top.
    [axes] = grown(calls_of({label: [1, 1_000 - n] for n, label in enumerate("abcde")})).axes
    heights = sorted(one.get_position()[1] for one in axes.texts)
    assert heights == pytest.approx([0.985 - 0.042 * n for n in range(4, -1, -1)])


def test_of_seventeen_grey_names_sixteen_have_room(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (plots.MOST_NAMES, plots.DOTS, plots.MOST_OFF, plots.LIMIT_GAP) == (16, 20_000, 10, 0.035)
    monkeypatch.setattr(plots, "MOST_NAMES", 2)
    found = grown(calls_of({"a": [1], "b": [10], "c": [30], "d": [100]}), "d")
    assert {one.get_text() for one in found.axes[0].texts} == {"c", "▶ d"}
    told = " ".join(found.texts[1].get_text().split())
    assert told.endswith(f"blue: {CHOSEN}; lines without a name: 2, see the table")


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


@pytest.mark.parametrize(
    ("limits", "texts"),
    [
        # 3.5 % of 108 are 3.78.
        ([(50.0, "x"), (53.7, "y")], {"y: 53.7; x: 50.0": 53.7}),
        # Texts are 4.2 % of 108 apart, 4.536, around 51.9.
        ([(50.0, "x"), (53.8, "y")], {"x: 50.0": 51.9 - 2.268, "y: 53.8": 51.9 + 2.268}),
        ([(1_000.0, "x")], {}),
    ],
)
def test_limits_further_apart_have_texts_of_their_own_beside_the_lines(limits: Any, texts: dict[str, float]) -> None:
    [axes] = grown(calls_of({"a": [100]}), limits=limits).axes
    found = {one.get_text(): one for one in axes.texts if ": " in one.get_text()}
    assert {name: one.get_position()[1] * 108 for name, one in found.items()} == pytest.approx(texts)
    # No line goes through a name, and red is what fails alone.
    assert all(one.get_position()[0] == NAMES_AT > 1 and one.get_color() == "black" for one in found.values())
    assert all(line.get_color() == "black" for line in axes.lines if line.get_linestyle() == ":")


def test_limits_that_are_just_so_near_share_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    # Without a token the axis ends at 1, of which a quarter lies between the two.
    monkeypatch.setattr(plots, "LIMIT_GAP", 0.25)
    [axes] = grown(calls_of({"a": [0]}), limits=[(0.5, "x"), (0.75, "y")]).axes
    assert [one.get_text() for one in axes.texts if ": " in one.get_text()] == ["y: 0.75; x: 0.5"]


def test_limits_are_shorter_on_paper() -> None:
    near = [(50_000, "rate limit per minute"), (50_100, "window less reserved output"), (50_200, "budget"),
            (50_300, "budget"), (50_300, "budget")]  # fmt: skip
    with figure.for_paper():
        [axes] = grown(calls_of({"a": [60_000]}), limits=near).axes
    assert [one.get_text() for one in axes.texts if ": " in one.get_text()] == [
        "budget: 50.2K to 50.3K; window: 50.1K; rate limit: 50.0K"
    ]


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
    one: Any = SimpleNamespace(run=run, title="T", many="3 transcripts")
    assert estimates(one, Path("e.png")) == Path("e.png")
    return drawn[-1]


def marks(axes: Any) -> dict[tuple[str, str], list[tuple[float, float]]]:
    return {
        (line.get_marker(), line.get_color()): list(zip(line.get_xdata(), line.get_ydata(), strict=True))
        for line in axes.lines if len(line.get_xdata()) and line.get_marker() not in ("None", "")
    }  # fmt: skip


def test_each_request_is_a_mark_beside_what_was_counted(drawn: list[Any]) -> None:
    # A bound decides by no estimate: its request is left out.
    found = estimated(drawn, [[("a:n=1", 100, 120), ("b:n=1", 400, 100), ("all", 7, 70)],
                              [("a:n=2", 200, 150), ("b:n=1", 0, 5)]])  # fmt: skip
    [axes] = found.axes
    of = {line.get_label(): line for line in axes.lines}
    # b is off four times, a by 1.2 and 4 / 3: b comes first and lies above.
    assert [name for name in of if name in "ab"] == ["b", "a"]
    shown = marks(axes)
    assert shown[of["a"].get_marker(), of["a"].get_color()] == [(100, pytest.approx(1.2)), (200, 0.75)]
    assert shown[of["b"].get_marker(), of["b"].get_color()] == [(400, 0.25)] and len(shown) == 2
    orders = {line.get_color(): line.get_zorder() for line in axes.lines if len(line.get_xdata())}
    assert orders[of["b"].get_color()] == 3 and orders[of["a"].get_color()] == pytest.approx(2.99)
    # The farthest is 4 times off, and 30 % more.
    assert axes.get_ylim() == pytest.approx((1 / 5.2, 5.2)) and axes.get_yscale() == axes.get_xscale() == "log"
    assert list(axes.get_yticks()) == [0.2, 0.5, 0.8, 1, 1.25, 2, 5] and list(axes.get_yticks(minor=True)) == []
    assert axes.yaxis.get_major_formatter()(1) == "exact" and axes.yaxis.get_major_formatter()(0.2) == "0.2 ×"
    minor = axes.xaxis.get_minor_formatter()
    assert [minor(value, None) for value in (200, 300, 500, 2_000)] == ["200", "", "500", "2K"]
    assert axes.xaxis.get_major_formatter()(1_000) == "1K"
    assert list(axes.lines[0].get_ydata()) == [1, 1]
    band = axes.patches[0]
    assert (band.get_y(), band.get_y() + band.get_height()) == pytest.approx((1 / 1.2, 1.2))
    assert axes.get_xlabel() == "input tokens of the request, counted by x and y (log scale)"
    assert axes.get_ylabel() == "estimate / count (log scale)\n← refused calls      context cut too early →"
    # The marks are 20, 75 and 25 % off.
    assert [" ".join(one.get_text().split()) for one in found.texts] == [
        "Estimates of a request's size are off by 40% on average",
        "T, 3 transcripts; a mark: a request; band: within a factor of 1.2; triangle: beyond a factor of 10",
    ]
    assert found.get_size_inches().tolist() == [9, 5.5] and found.legends[0]._ncols == 4


def test_what_is_far_off_is_a_triangle_at_the_end(drawn: list[Any]) -> None:
    rows = [("a", 100, 1_001), ("a", 100, 1_000), ("a", 100, 9), ("a", 30_000, 30_000)]
    [axes] = estimated(drawn, [rows]).axes
    shown = {marker: at for (marker, _), at in marks(axes).items()}
    # Ten times is still a mark.
    assert shown["^"] == [(100, 10)] and shown["v"] == [(100, 0.1)] and len(shown) == 3
    assert [at for marker, at in shown.items() if marker not in "^v"] == [[(100, 10), (30_000, 1)]]
    assert axes.get_ylim() == pytest.approx((1 / 13, 13)) and len(axes.get_yticks()) == 9
    # From 300 times on, only whole decades have names.
    assert [axes.xaxis.get_minor_formatter()(value, None) for value in (200, 500)] == ["", ""]
    [axes] = estimated(drawn, [[("a", 100, 100), ("a", 29_999, 29_999)]]).axes
    assert axes.xaxis.get_minor_formatter()(200, None) == "200"
    # Where all are exact the axis reaches half as far again, and 30 % more.
    assert axes.get_ylim() == pytest.approx((1 / 1.95, 1.95))


def test_a_request_of_one_token_is_one(drawn: list[Any]) -> None:
    [axes] = estimated(drawn, [[("a", 1, 2), ("a", 2, 2)]]).axes
    assert list(marks(axes).values()) == [[(1, 2), (2, 1)]]


def test_beyond_seven_policies_the_others_are_one_name(drawn: list[Any]) -> None:
    def legend(count: int) -> list[str]:
        found = estimated(drawn, [[(f"p{n}", 100, 100 + 10 * n) for n in range(count)]])
        return [one.get_text() for one in found.legends[0].get_texts()]

    # Those that are off the most come first.
    assert legend(8) == [f"p{n}" for n in range(7, -1, -1)]
    assert legend(10) == [*(f"p{n}" for n in range(9, 2, -1)), "3 others"]
    [long] = estimated(drawn, [[("a" * 20 + "b" * 20, 100, 110)]]).legends[0].get_texts()
    assert long.get_text() == "aaaaaaaaaaa…bbbbbbbbbbbb"
    legend(10)
    grey = [line for line in drawn[-1].axes[0].lines if line.get_color() == OTHER_COLOR]
    assert {line.get_marker() for line in grey} == {".", "^", "v"}


def test_without_requests_there_is_an_empty_picture(drawn: list[Any]) -> None:
    found = estimated(drawn, [[("a", 0, 5), ("all", 5, 5)]])
    assert found.texts[0].get_text() == "No estimate" and not found.legends and found.axes[0].get_xscale() == "linear"
    assert found.axes[0].xaxis.get_minor_formatter()(200, None) == ""


def test_of_many_requests_some_are_drawn_the_same_ones_each_time(
    drawn: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plots, "DOTS", 6)
    batches = [[("a", 100 * batch + n + 1, 100 * batch + n + 1) for n in range(10)] for batch in range(3)]
    sizes = [[x for at in marks(estimated(drawn, batches).axes[0]).values() for x, _ in at] for _ in range(2)]
    # Six of thirty by chance, in their order, each with its own row.
    chosen = np.sort(np.random.default_rng(0).choice(30, 6, replace=False))
    assert sizes == [[100 * (n // 10) + n % 10 + 1 for n in chosen]] * 2
