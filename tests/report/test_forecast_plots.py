"""Pictures of forecasts: where the line, the fan and the marks are, from figures written by hand."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from matplotlib.dates import date2num

from ctxsim.report import usd_plots
from ctxsim.report.usd_plots import BLUE, GREY

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
    assert so_far.get_color() == BLUE and axes.get_xlabel() == "sessions" and axes.get_ylim()[0] == 0
    assert axes.get_ylabel().startswith("USD")


@pytest.mark.parametrize(("days", "end"), [(0, 2 + 4 * 2 / 3), (3, 5.0)])
def test_with_times_days_are_counted(drawn: list[Any], days: int, end: float) -> None:
    # 3 sessions began within 2 days, one in each 2 / 3 of a day: 4 more take 8 / 3. Three days are three days.
    started: list[float | None] = [START_S, START_S + DAY_S, START_S + 2 * DAY_S]
    axes = axes_of(drawn, {"tokens": np.array([10.0, 20.0, 30.0])}, started, 4.4, days, since=START_S + DAY_S)
    _, ahead, since = axes.lines
    at = date2num([datetime.fromtimestamp(START_S, UTC)])[0]
    assert date2num(ahead.get_xdata()) - at == pytest.approx([2, end]) and list(ahead.get_ydata()) == [60, 80]
    assert date2num(since.get_xdata()[0]) - at == pytest.approx(1) and since.get_color() == GREY
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
    assert usd_plots.plot_calibration(Path("c.png"), cases, "t", "a") == Path("c.png")
    [axes] = drawn[0].axes
    lines = [(line.get_label(), list(line.get_xdata()), list(line.get_ydata()), line.get_marker())
             for line in axes.lines]  # fmt: skip
    assert lines[0][1:3] == ([40, 100], [40, 100])
    # Of 4 ranges of 50 % three held, of both of 90 % each; further ahead none, and one of two.
    assert lines[1:] == [
        ("next 10 sessions", [50, 90], [75, 100], "o"), ("next 50 sessions", [50, 90], [0, 50], "s")
    ]  # fmt: skip
    assert (axes.get_xlim(), axes.get_ylim()) == ((45, 100), (0, 102))
    assert drawn[0].get_size_inches().tolist() == [5.5, 5.5] and not axes.get_legend().get_frame_on()
    assert lines[0][0] == "as promised" and axes.lines[0].get_color() == GREY
