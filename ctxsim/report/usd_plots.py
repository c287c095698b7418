"""Pictures of dollars: a bill, a forecast after the sessions so far, its calibration, and predictions with outcomes."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from ctxsim.answers.advice.predicted import Came
from ctxsim.answers.advice.setting_names import title_of
from ctxsim.answers.advice.verdict import usd as few_digits
from ctxsim.answers.bill.sums import Sum
from ctxsim.answers.forecast.backtest import Tried
from ctxsim.answers.forecast.forecast import Forecast
from ctxsim.answers.forecast.sessions import Sessions
from ctxsim.report.advised import came_answer
from ctxsim.report.bill import ANSWERS, HEAD, RESULTS, SHOWN, paid_for, rows_of, usd
from ctxsim.report.figure import finished, legend_below, new_figure, stacked_bars
from ctxsim.report.style import COLORS, OTHER_COLOR, at_axis, day, plain_axes


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
    if amount == "tokens":
        axes.yaxis.set_major_formatter(at_axis)
    if timed:
        figure.autofmt_xdate()
    marks = "dashed: median; shaded: ranges of these probabilities"
    return finished(figure, path, title, about.removesuffix("."), marks)


def plot_calibration(path: Path, tried: Sequence[Tried]) -> Path:
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
    about = "Each forecast was made from the sessions before it."
    return finished(figure, path, "How often ranges of the next sessions held", about)


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
    about = f"by {by}, and by what was paid for; parts fitted to recorded usage"
    return finished(figure, path, f"{usd(total)} USD{share}", about)


def plot_came(found: Sequence[Came], path: Path) -> Path:
    """Draw predictions and outcomes, a row for each prediction, into a PNG or SVG file, and return its path."""
    figure, axes = new_figure(10.5, 1.9 + 0.62 * max(2, len(found)))
    rows = np.arange(len(found))
    for place, height, color, spans, label in (
        (rows, 0.34, COLORS[0], [one.prediction.advised[one.sessions] for one in found], "with what was advised"),
        (rows - 0.3, 0.1, OTHER_COLOR, [one.prediction.as_set[one.sessions] for one in found], "as it was set before"),
    ):
        low, high = np.array(spans).T
        axes.barh(place, high - low, height, left=low, color=color, alpha=0.4, label=f"predicted {label}")
    for held, mark, color, label in ((True, "o", COLORS[0], "as predicted"), (False, "X", COLORS[1], "otherwise")):
        those = [row for row, one in enumerate(found) if one.advised == held]
        axes.plot([found[row].usd for row in those], those, mark, color=color, markersize=9, markeredgecolor="white",
                  label=f"what came: {label}")  # fmt: skip
    axes.set_yticks(rows, [_name(one) for one in found], fontsize=9)
    plain_axes(axes, xlabel="USD", xlim=(0, None), ylim=(len(found) - 0.5, -0.6))
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.grid(visible=False, axis="y")
    legend_below(figure, axes)
    about = "Dollars of the first sessions after each advice, beside ranges of 90 %."
    return finished(figure, path, came_answer(found), about)


def _name(one: Came) -> str:
    what = "\n".join(f"{key} = {value}" for key, value in one.prediction.settings.items()) or "change nothing"
    sums = f"{few_digits(one.usd)} USD in {one.sessions} sessions"
    return f"{title_of(one.prediction.agent)}, {day(one.prediction.made)}: {sums}\n{what}"
