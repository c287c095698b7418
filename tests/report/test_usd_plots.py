"""Pictures of dollars: where bars, lines, fans and marks are, from figures written by hand."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.dates import date2num

from ctxsim.answers.advice.predicted import Came, Prediction
from ctxsim.answers.bill import facts
from ctxsim.answers.bill.sums import Sum
from ctxsim.report import usd_plots
from ctxsim.report.style import COLORS, OTHER_COLOR


def paid(*usd: float) -> Sum:
    parts = (facts.SYSTEM, f"{facts.RESULTS}Bash", facts.ASSISTANT, facts.USER)
    return Sum(usd_listed=sum(usd), parts={part: [0, 0, 0, one] for part, one in zip(parts, usd, strict=True)})


def test_bars_follow_each_other_and_the_title_names_the_most(drawn: list[Any]) -> None:
    rows = {"/a/b/c": paid(1.0, 2.0, 4.0, 0.5), "/x/y/z": paid(3.0, 0.0, 1.0, 0.5)}
    assert usd_plots.plot_bill("project", rows, Path("b.png")) == Path("b.png")
    [axes] = drawn[0].axes
    bars = [(kind.get_label(), [(bar.get_x(), bar.get_width()) for bar in kind]) for kind in axes.containers]
    assert [one for _, one in bars] == [
        [(0, 1), (0, 3)], [(1, 2), (3, 0)], [(3, 4), (3, 1)], [(7, 0.5), (4, 0.5)]
    ]  # fmt: skip
    from matplotlib.colors import to_hex

    colors = [to_hex(kind[0].get_facecolor()) for kind in axes.containers]
    assert colors == [*COLORS[:3], OTHER_COLOR]
    assert [one.get_text() for one in axes.get_yticklabels()] == ["b/c", "y/z"] and axes.yaxis_inverted()
    assert drawn[0].legends[0]._ncols == 4, "one line"
    # 12 dollars in all, 5 of them for answers: 41.7 %.
    assert drawn[0].texts[0].get_text().startswith("12.00 USD, 42% of it for the assistant's answers")


@pytest.mark.parametrize(("by", "ends"), [("model", ("r/0", "2 more")), ("day", ("2 earlier", "r/21"))])
def test_twenty_bars_are_drawn_as_in_the_table_and_the_rest_is_one(
    by: str, ends: tuple[str, str], drawn: list[Any]
) -> None:
    usd_plots.plot_bill(by, {f"r/{n}": paid(1.0, 0.0, 0.0, 0.0) for n in range(22)}, Path("b.png"))
    # 1.8 inches, and 0.36 for each row; for four at least.
    assert drawn[0].get_size_inches().tolist() == pytest.approx([10, 1.8 + 21 * 0.36])
    bars = drawn[0].axes[0].containers[0]
    assert sorted(bar.get_width() for bar in bars) == [1.0] * 20 + [2.0]
    assert drawn[0].texts[0].get_text().startswith("22.00 USD, 100%")
    names = [one.get_text() for one in drawn[0].axes[0].get_yticklabels()]
    assert (names[0], names[-1]) == ends, "of days the newest; a model's name is no path"
    usd_plots.plot_bill("day", {"a": paid(0.0, 0.0, 0.0, 0.0)}, Path("b.png"))
    assert drawn[1].texts[0].get_text() == "0.00 USD"
    assert drawn[1].get_size_inches().tolist() == pytest.approx([10, 1.8 + 4 * 0.36])
    assert drawn[1].texts[1].get_text() == "by day, and by what was paid for; parts fitted to recorded usage"


def came(usd: float, advised: bool, low: float = 2.0, high: float = 5.0, **settings: Any) -> Came:
    return Came(Prediction("pi", settings, {10: (3.0, 9.0)}, {10: (low, high)}), 10, usd, True, advised)


def test_a_row_is_a_bar_a_thin_one_and_what_came(drawn: list[Any]) -> None:
    assert usd_plots.plot_came([came(4.0, True, key=1), came(6.5, False)], Path("c.png")) == Path("c.png")
    [axes] = drawn[0].axes
    bars = [(one.get_x(), one.get_width(), one.get_y() + one.get_height() / 2, to_hex(one.get_facecolor()))
            for one in axes.patches]  # fmt: skip
    # As advised from 2 to 5, above it as set from 3 to 9.
    assert bars == [(2, 3, pytest.approx(0), COLORS[0]), (2, 3, pytest.approx(1), COLORS[0]),
                    (3, 6, pytest.approx(-0.3), OTHER_COLOR), (3, 6, pytest.approx(0.7), OTHER_COLOR)]  # fmt: skip
    marks = [(line.get_xdata()[0], line.get_ydata()[0], line.get_marker(), line.get_color()) for line in axes.lines]
    assert marks == [(4, 0, "o", COLORS[0]), (6.5, 1, "X", COLORS[1])]
    assert [one.get_text() for one in axes.get_yticklabels()] == [
        "pi, 1 January 1970: 4.00 USD in 10 sessions\nkey = 1",
        "pi, 1 January 1970: 6.50 USD in 10 sessions\nchange nothing",
    ]
    assert axes.get_xlim()[0] == 0 and axes.get_xlim()[1] > 9 and axes.get_ylim() == (1.5, -0.6)
    assert axes.get_xlabel() == "USD" and drawn[0].get_size_inches().tolist() == pytest.approx([10.5, 1.9 + 2 * 0.62])
    assert [one.get_text() for one in drawn[0].legends[0].get_texts()] == [
        "what came: as predicted", "what came: otherwise", "predicted with what was advised",
        "predicted as it was set before",
    ]  # fmt: skip
    grids = [axis.get_gridlines()[0].get_visible() for axis in (axes.xaxis, axes.yaxis)]
    assert grids == [True, False] and axes.get_yticklabels()[0].get_fontsize() == 9
    held = "1 of 2 predictions held for the advised settings, 2 for the earlier ones; nine in ten should."
    assert drawn[0].texts[0].get_text() == held


DAY_S = 86_400.0
START_S = 1_700_000_000.0


class Some(SimpleNamespace):
    def __len__(self) -> int:
        return len(self.started)


def axes_of(drawn: list[Any], amounts: dict[str, Any], started: list[float | None], come: float, days: int = 0,
            since: float | None = None) -> Any:  # fmt: skip
    sessions: Any = Some(started=started, amounts=amounts)
    amount = SimpleNamespace(middle=20.0, ranges={"50": (15.0, 25.0), "80": (10.0, 30.0), "90": (5.0, 40.0)})
    found: Any = SimpleNamespace(ahead=SimpleNamespace(many=days or come, days=bool(days)),
                                 come=SimpleNamespace(middle=come),
                                 amounts={"usd": amount, "tokens": amount}, since=since)  # fmt: skip
    assert usd_plots.plot_forecast(Path("f.png"), sessions, found, "A title", "about.") == Path("f.png")
    [axes] = drawn[-1].axes
    return axes


def fan(axes: Any) -> list[tuple[float, float]]:
    """The ends of each wedge at its right edge."""
    ends = []
    for wedge in axes.collections:
        points = wedge.get_paths()[0].vertices
        right = points[points[:, 0] == points[:, 0].max()][:, 1]
        ends.append((right.min(), right.max()))
    return ends


@pytest.mark.parametrize(("come", "end"), [(4.4, 7), (1.0, 4), (0.2, 4)])
def test_without_times_sessions_are_counted(drawn: list[Any], come: float, end: float) -> None:
    # 3 sessions of 1, 2 and 3 dollars: 6 so far. 4.4 more are 4 and end at 7; fewer than one are drawn as one.
    axes = axes_of(drawn, {"usd": np.array([1.0, 2.0, 3.0])}, [None, 0.0, 0.0], come)
    so_far, ahead = axes.lines
    assert so_far.get_xdata().tolist() == [1, 2, 3] and so_far.get_ydata().tolist() == [1, 3, 6]
    assert (list(ahead.get_xdata()), list(ahead.get_ydata())) == ([3, end], [6, 26])
    assert fan(axes) == [(11, 46), (16, 36), (21, 31)]
    assert [wedge.get_alpha() for wedge in axes.collections] == [0.15, 0.22, 0.3]
    assert drawn[-1].get_size_inches().tolist() == [9, 5] and axes.get_xticklabels()[0].get_rotation() == 0
    assert [text.get_text().strip() for text in axes.texts] == ["90 %", "80 %", "50 %"]
    assert [text.xy for text in axes.texts] == [(end, 46), (end, 36), (end, 31)]
    assert drawn[-1].texts[1].get_text() == "about; dashed: median; shaded: ranges of these probabilities"
    assert so_far.get_color() == COLORS[0] and axes.get_xlabel() == "sessions" and axes.get_ylim()[0] == 0
    assert axes.get_ylabel().startswith("USD")


@pytest.mark.parametrize(("days", "end"), [(0, 2 + 4 * 2 / 3), (3, 5.0)])
def test_with_times_days_are_counted(drawn: list[Any], days: int, end: float) -> None:
    # 3 sessions began within 2 days, one in each 2 / 3 of a day: 4 more take 8 / 3. Three days are three days.
    started: list[float | None] = [START_S, START_S + DAY_S, START_S + 2 * DAY_S]
    axes = axes_of(drawn, {"tokens": np.array([10.0, 20.0, 30.0])}, started, 4.4, days, since=START_S + DAY_S)
    _, ahead, since = axes.lines
    at = date2num([datetime.fromtimestamp(START_S, UTC)])[0]
    assert date2num(ahead.get_xdata()) - at == pytest.approx([2, end]) and list(ahead.get_ydata()) == [60, 80]
    assert date2num(since.get_xdata()[0]) - at == pytest.approx(1) and since.get_color() == OTHER_COLOR
    assert axes.get_xticklabels()[0].get_rotation() == 30
    assert axes.texts[-1].xy[1] == 1.0 and axes.get_xlabel() == "" and axes.get_ylabel().startswith("input tokens")


def test_a_mark_since_when_sessions_count_needs_times(drawn: list[Any]) -> None:
    axes = axes_of(drawn, {"usd": np.array([1.0])}, [None], 1.0, since=START_S)
    assert len(axes.lines) == 2 and len(axes.texts) == 3


def test_how_often_ranges_held_by_horizon(drawn: list[Any]) -> None:
    def tried(ahead: int, level: int, *held: bool) -> list[Any]:
        return [SimpleNamespace(ahead=ahead, level=level, held=one) for one in held]

    cases = [*tried(50, 90, True, False), *tried(10, 90, True, True), *tried(10, 50, False, True, True, True),
             *tried(50, 50, False)]  # fmt: skip
    assert usd_plots.plot_calibration(Path("c.png"), cases) == Path("c.png")
    [axes] = drawn[0].axes
    assert [one.get_text() for one in drawn[0].texts] == [
        "How often ranges of the next sessions held", "Each forecast was made from the sessions before it."
    ]  # fmt: skip
    lines = [(line.get_label(), list(line.get_xdata()), list(line.get_ydata()), line.get_marker())
             for line in axes.lines]  # fmt: skip
    assert lines[0][1:3] == ([40, 100], [40, 100])
    # Of 4 ranges of 50 % three held, of both of 90 % each; further ahead none, and one of two.
    assert lines[1:] == [
        ("next 10 sessions", [50, 90], [75, 100], "o"), ("next 50 sessions", [50, 90], [0, 50], "s")
    ]  # fmt: skip
    assert (axes.get_xlim(), axes.get_ylim()) == ((45, 100), (0, 102))
    assert drawn[0].get_size_inches().tolist() == [5.5, 5.5] and not axes.get_legend().get_frame_on()
    assert lines[0][0] == "as promised" and axes.lines[0].get_color() == OTHER_COLOR
