"""The picture of what was predicted and what came: where bars and marks are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from matplotlib.colors import to_hex

from ctxsim.answers.advice.predicted import Came, Prediction
from ctxsim.report import usd_plots
from ctxsim.report.style import COLORS, OTHER_COLOR


def came(usd: float, advised: bool, low: float = 2.0, high: float = 5.0, **settings: Any) -> Came:
    return Came(Prediction("pi", settings, {10: (3.0, 9.0)}, {10: (low, high)}), 10, usd, True, advised)


def test_a_row_is_a_bar_a_thin_one_and_what_came(drawn: list[Any]) -> None:
    assert usd_plots.plot_came([came(4.0, True, key=1), came(6.5, False)], Path("c.png")) == Path("c.png")
    [axes] = drawn[0].axes
    bars = [(one.get_x(), one.get_width(), one.get_y() + one.get_height() / 2, to_hex(one.get_facecolor()))
            for one in axes.patches]  # fmt: skip
    # As advised from 2 to 5, above it as set from 3 to 9; without settings there is nothing to compare with.
    assert bars == [(2, 3, pytest.approx(0), COLORS[0]), (3, 6, pytest.approx(-0.3), OTHER_COLOR),
                    (2, 3, pytest.approx(1), COLORS[0])]  # fmt: skip
    marks = [(line.get_xdata()[0], line.get_ydata()[0], line.get_marker(), line.get_color()) for line in axes.lines[:2]]
    assert marks == [(4, 0, "o", COLORS[0]), (6.5, 1, "X", COLORS[1])]
    assert [one.get_text() for one in axes.texts] == [
        "4.000 USD in 10 sessions", "6.500 USD in 10 sessions\nmissed by 1.500"
    ]  # fmt: skip
    assert [one.get_text().split("\n")[1] for one in axes.get_yticklabels()] == ["key = 1", "change nothing"]
    assert axes.get_yticklabels()[0].get_text().startswith("pi, 1 January 1970\n")
    # The farthest end is 9, and 5 % more.
    assert axes.get_xlim() == pytest.approx((0, 9.45)) and axes.get_ylim() == (1.5, -0.6)
    assert (axes.get_xscale(), axes.get_xlabel()) == ("linear", "USD")
    looks = [(one.get_alpha(), one.get_height()) for one in axes.patches]
    assert looks == [pytest.approx(one) for one in ((0.35, 0.34), (0.5, 0.1), (0.35, 0.34))]
    assert drawn[0].get_size_inches().tolist() == pytest.approx([10.5, 1.9 + 2 * 0.62])
    legend = [(line.get_label(), line.get_color(), line.get_marker()) for line in axes.lines[2:]]
    assert legend == [
        ("predicted with what was advised", COLORS[0], "None"), ("predicted as it was set before", OTHER_COLOR, "None"),
        ("what came: within the prediction", COLORS[0], "o"), ("what came: outside it", COLORS[1], "X"),
    ]  # fmt: skip
    assert all(len(line.get_xdata()) == 0 for line in axes.lines[2:]) and drawn[0].legends[0]._ncols == 3
    told = [(one.xy, one.get_color(), one.get_fontweight()) for one in axes.texts]
    assert told == [((1.02, 0), COLORS[0], "normal"), ((1.02, 1), COLORS[1], "bold")]
    assert axes.xaxis.get_major_formatter()(1_000, None) == "1,000"
    grids = [axis.get_gridlines()[0].get_visible() for axis in (axes.xaxis, axes.yaxis)]
    assert grids == [True, False] and axes.get_yticklabels()[0].get_fontsize() == 9
    held = "1 of 2 predictions held for the advised settings, 2 for the earlier ones; nine in ten should."
    assert drawn[0].texts[0].get_text() == held


@pytest.mark.parametrize(("high", "scale"), [(40.0, "linear"), (40.1, "log")])
def test_dollars_over_twenty_times_apart_are_logarithms(drawn: list[Any], high: float, scale: str) -> None:
    usd_plots.plot_came([came(4.0, True, 2.0, high)], Path("c.png"))
    [axes] = drawn[0].axes
    assert axes.get_xscale() == scale
    if scale == "log":
        assert axes.get_xlim() == pytest.approx((2 / 1.2, 1.2 * high))
        assert list(axes.get_xticks()) == [1, 2, 5, 10, 20, 50]


def test_nothing_is_no_logarithm(drawn: list[Any]) -> None:
    usd_plots.plot_came([came(0.0, False, 2.0, 90.0)], Path("c.png"))
    assert drawn[0].get_size_inches().tolist() == pytest.approx([10.5, 1.9 + 2 * 0.62])
    assert drawn[0].axes[0].get_xscale() == "linear" and "missed by 2.000" in drawn[0].axes[0].texts[0].get_text()
