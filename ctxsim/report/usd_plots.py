"""Pictures of dollars: a bill, a forecast after the sessions so far, its calibration, and predictions with outcomes."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from ctxsim.answers.advice.predicted import Came, Range
from ctxsim.answers.advice.setting_names import title_of
from ctxsim.answers.advice.verdict import usd as few_digits
from ctxsim.answers.bill.sums import Sum
from ctxsim.answers.forecast.backtest import Tried
from ctxsim.answers.forecast.forecast import Forecast
from ctxsim.answers.forecast.sessions import Sessions
from ctxsim.report.advised import came_answer, day
from ctxsim.report.bill import ANSWERS, HEAD, RESULTS, SHOWN, paid_for, rows_of, usd
from ctxsim.report.figure import finished, legend_below, new_figure, stacked_bars
from ctxsim.report.style import COLORS, OTHER_COLOR, plain_axes


def plot_forecast(path: Path, sessions: Sessions, found: Forecast, title: str, about: str) -> Path:
    """Draw the running sum of dollars, or of tokens, of the sessions so far, and the ranges of the next ones."""
    figure, axes = new_figure(9, 5)
    amount = "usd" if "usd" in sessions.amounts else "tokens"
    sums = np.cumsum(sessions.amounts[amount])
    dates = [datetime.fromtimestamp(one, UTC) for one in sessions.started if one is not None]
    timed = len(dates) == len(sessions)
    here: Any = dates if timed else np.arange(1, len(sums) + 1)
    span = (dates[-1] - dates[0]) / max(1, len(dates)) if timed else 1
    steps = found.ahead.many if found.ahead.days else round(found.come.middle)
    there = here[-1] + (timedelta(days=found.ahead.many) if timed and found.ahead.days else span * max(1, steps))
    axes.step(here, sums, where="post", color=COLORS[0], linewidth=1.8)
    for level, shade in (("90", 0.15), ("80", 0.22), ("50", 0.3)):
        low, high = found.amounts[amount].ranges[level]
        ends = [sums[-1] + low, sums[-1] + high]
        axes.fill_between(
            [here[-1], there], [sums[-1], ends[0]], [sums[-1], ends[1]], color=COLORS[0], alpha=shade, lw=0
        )
        axes.annotate(f" {level} %", (there, ends[1]), fontsize=8, color=OTHER_COLOR, va="center")
    axes.plot([here[-1], there], [sums[-1], sums[-1] + found.amounts[amount].middle], color=COLORS[0], ls="--", lw=1.2)
    if found.since is not None and timed:
        axes.axvline(datetime.fromtimestamp(found.since, UTC), color=OTHER_COLOR, lw=1, ls=":")
        # At the top, because the line of past sums is at the bottom there.
        axes.annotate(" only later sessions count", (datetime.fromtimestamp(found.since, UTC), 1.0),
                      xycoords=("data", "axes fraction"), fontsize=8, color=OTHER_COLOR, va="top")  # fmt: skip
    plain_axes(axes, xlabel="" if timed else "sessions", ylim=(0, None),
               ylabel="USD, added up" if amount == "usd" else "input tokens, added up")  # fmt: skip
    if timed:
        figure.autofmt_xdate()
    marks = "dashed: median; shaded: ranges of these probabilities"
    return finished(figure, path, title, about.removesuffix("."), marks)


def plot_calibration(path: Path, tried: Sequence[Tried], title: str, about: str) -> Path:
    """Draw, by horizon, the share of ranges of each level that held. On the diagonal, the share equals the level."""
    figure, axes = new_figure(5.5, 5.5)
    axes.plot([40, 100], [40, 100], color=OTHER_COLOR, lw=1, label="as promised")
    marks = "osD^v"
    for number, ahead in enumerate(sorted({one.ahead for one in tried})):
        levels = sorted({one.level for one in tried})
        share = [100 * np.mean([one.held for one in tried if (one.ahead, one.level) == (ahead, level)])
                 for level in levels]  # fmt: skip
        axes.plot(levels, share, marker=marks[number % len(marks)], label=f"next {ahead} sessions", lw=1.2)
    plain_axes(axes, xlabel="level of the range, %", ylabel="ranges that held, %", xlim=(45, 100), ylim=(0, 102))
    axes.legend(frameon=False, loc="lower right", fontsize=9)
    return finished(figure, path, title, about)


REST = "user, summaries, rest"
PAID_FOR = {
    HEAD: "the head (system prompt and tools)", RESULTS: "tools' results", ANSWERS: "the assistant's answers",
    REST: "the user, summaries and the rest",
}  # fmt: skip


def plot_bill(by: str, found: Mapping[str, Sum], path: Path) -> Path:
    """Draw the sums of a grouping into a PNG or SVG file, and return its path."""
    names, rows = zip(*rows_of(by, found, 2 * SHOWN), strict=True)
    figure, axes = new_figure(10, 1.8 + 0.36 * max(4, len(rows)))
    paid = {kind: [paid_for("" if kind == REST else kind, one) for one in rows] for kind in PAID_FOR}
    styles = {kind: {"color": color} for kind, color in zip(PAID_FOR, (*COLORS[:3], OTHER_COLOR), strict=True)}
    stacked_bars(axes, names, paid, styles)
    plain_axes(axes, xlabel="USD")
    legend_below(figure, axes, len(PAID_FOR))
    sums = {kind: sum(its) for kind, its in paid.items()}
    total, most = sum(one.usd for one in rows), max(sums, key=lambda kind: sums[kind])
    share = f", {sums[most] / sum(sums.values()):.0%} of it for {PAID_FOR[most]}" if sums[most] else ""
    return finished(figure, path, f"{usd(total)} USD{share}", "by what was paid for; parts fitted to recorded usage")


WIDE = 20
"""If the largest amount is more than this many times the least, the axis of dollars is logarithmic."""


def plot_came(found: Sequence[Came], path: Path) -> Path:
    """Draw predictions and outcomes, a row for each prediction, into a PNG or SVG file, and return its path."""
    figure, axes = new_figure(10.5, 1.9 + 0.62 * max(2, len(found)))
    from matplotlib.ticker import LogLocator

    for row, one in enumerate(found):
        color, weight = (COLORS[0], "normal") if one.advised else (COLORS[1], "bold")
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
    for mark, color, where in (("o", COLORS[0], "within the prediction"), ("X", COLORS[1], "outside it")):
        axes.plot([], [], mark, color=color, markersize=9, markeredgecolor="white", label=f"what came: {where}")
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
    off = "" if one.advised else f"\nmissed by {few_digits(max(low - one.usd, one.usd - high))}"
    return f"{few_digits(one.usd)} USD in {one.sessions} sessions{off}"
