"""The picture of `advise --score`: what was predicted, and what came."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ctxsim.answers.advice.predicted import Came, Range
from ctxsim.answers.advice.setting_names import title_of
from ctxsim.answers.advice.verdict import usd
from ctxsim.report.advised import came_answer, day
from ctxsim.report.figure import finished, legend_below, new_figure
from ctxsim.report.style import COLORS, OTHER_COLOR, plain_axes

HELD, MISSED = COLORS[0], COLORS[1]

WIDE = 20
"""From this ratio of the largest amount to the least on, dollars are drawn in logarithms."""


def plot_came(found: Sequence[Came], path: Path) -> Path:
    """Draw a row for each prediction into a PNG or SVG file, and return its path: a bar from the least to the most that
    was predicted as advised, above it a thin one as it was set, and what came as a dot, or as a cross where it missed.
    """
    figure, axes = new_figure(10.5, 1.9 + 0.62 * max(2, len(found)))
    from matplotlib.ticker import LogLocator

    for row, one in enumerate(found):
        color, weight = (HELD, "normal") if one.advised else (MISSED, "bold")
        _bar(axes, row, one.prediction.advised[one.sessions], 0.34, COLORS[0], 0.35)
        if one.prediction.settings:
            _bar(axes, row - 0.3, one.prediction.as_set[one.sessions], 0.1, OTHER_COLOR, 0.5)
        axes.plot(one.usd, row, "o" if one.advised else "X", color=color, markersize=9, markeredgecolor="white",
                  zorder=3)  # fmt: skip
        axes.annotate(_result(one), (1.02, row), xycoords=("axes fraction", "data"), va="center", fontsize=9,
                      color=color, fontweight=weight)  # fmt: skip
    axes.set_yticks(range(len(found)), [_name(one) for one in found], fontsize=9)
    axes.set_ylim(len(found) - 0.5, -0.6)
    ends = [end for one in found for end in (one.usd, *one.prediction.advised[one.sessions],
                                             *one.prediction.as_set[one.sessions])]  # fmt: skip
    if min(ends) > 0 and max(ends) > WIDE * min(ends):
        axes.set_xscale("log", subs=())
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.set_xlim(min(ends) / 1.2, 1.2 * max(ends))
    else:
        axes.set_xlim(0, 1.05 * max(ends))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
    plain_axes(axes, xlabel="USD")
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.grid(visible=False, axis="y")
    axes.plot([], [], color=COLORS[0], alpha=0.35, linewidth=9, label="predicted with what was advised")
    axes.plot([], [], color=OTHER_COLOR, alpha=0.5, linewidth=3, label="predicted as it was set before")
    for mark, color, name in (("o", HELD, "what came: within the prediction"), ("X", MISSED, "what came: outside it")):
        axes.plot([], [], mark, color=color, markersize=9, markeredgecolor="white", label=name)
    legend_below(figure, axes)
    about = "Dollars of the first sessions after each advice, beside ranges of 90 %."
    return finished(figure, path, came_answer(found), about)


def _bar(axes: Any, row: float, span: Range, height: float, color: str, alpha: float) -> None:
    axes.barh(row, span[1] - span[0], height, left=span[0], color=color, alpha=alpha, linewidth=0)


def _name(one: Came) -> str:
    what = "\n".join(f"{key} = {value}" for key, value in one.prediction.settings.items()) or "change nothing"
    return f"{title_of(one.prediction.agent)}, {day(one.prediction.made)}\n{what}"


def _result(one: Came) -> str:
    low, high = one.prediction.advised[one.sessions]
    off = "" if one.advised else f"\nmissed by {usd(max(low - one.usd, one.usd - high))}"
    return f"{usd(one.usd)} USD in {one.sessions} sessions{off}"
