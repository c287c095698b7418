"""A picture of survival against cost: policies as rows, cheapest first, each with its amount and what it keeps."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ctxsim.answers.advice.figures import Share
from ctxsim.report.figure import finished, new_figure, told
from ctxsim.report.picture import Picture
from ctxsim.report.style import COLORS, LIMIT_COLOR, OTHER_COLOR, plain_axes
from ctxsim.report.tradeoff import Frontier, Point, dominated, frontiers, points

MOST_ROWS = 48
"""Rows, at most. Policies that others beat, except the advised one, are left out first, the most expensive first."""

MOST_AMOUNT = 200
"""The end of the axis, in % of keep-all's. A larger amount is written there as a number."""


def tradeoff(one: Picture, path: Path, dollars: bool) -> Path:
    """Draw a row per policy, cheapest first: its amount and what it keeps, in two panels, with intervals and bounds."""
    found = [point for point in points(one.pooled, dollars) if point.policy in one.labels]
    worse = dominated(found)
    rows = _rows(one, found, worse)
    figure, (left, right) = new_figure(10.5, 1.9 + 0.25 * len(rows), columns=2)
    least = [line for line in frontiers(one.run, dollars) if line.dash == "dot"]
    for place, point in enumerate(rows):
        _row(one, left, right, place, point, point.policy in worse)
        if least and (reached := least_amount(least[0], point.kept)) is not None:
            left.barh(place, reached, 0.9, color="#333333", alpha=0.1, linewidth=0)
    amount = "dollars (modelled)" if dollars else "input tokens sent (counted)"
    reach = max(100.0, *(100 * (point.amount.high or point.amount.value) for point in rows))
    left.set(xlabel=f"{amount}, % of keep-all's", xlim=(0, min(MOST_AMOUNT, 1.08 * reach)))
    right.set(xlabel="kept, % of what later calls used of old results", xlim=(-2, 102))
    left.axvline(100, color=OTHER_COLOR, linewidth=1, linestyle=":")
    left.set_yticks(range(len(rows)), [one.marked(point.policy) for point in rows], fontsize=9)
    right.set_yticks(range(len(rows)), [])
    for axes in (left, right):
        plain_axes(axes, ylim=(len(rows) - 0.4, -0.6))
    for name, point in zip(left.get_yticklabels(), rows, strict=True):
        name.set_color(_color(one, point))
        name.set_fontweight("bold" if point.policy == one.chosen else "normal")
    marks = _legend(one, rows, bool(least), len(found) - len(rows))
    return finished(figure, path, one.headline, f"{one.title}, {one.many}", marks)


def _rows(one: Picture, found: Sequence[Point], worse: set[str]) -> list[Point]:
    """The points that get a row, cheapest first."""
    needed = sorted(found, key=lambda point: (point.policy in worse and point.policy != one.chosen, point.amount.value))
    return sorted(needed[:MOST_ROWS], key=lambda point: point.amount.value)


def _color(one: Picture, point: Point) -> str:
    if point.policy == one.chosen:
        return COLORS[0]
    return LIMIT_COLOR if point.rejected else OTHER_COLOR if point.bound else "#333333"


def _row(one: Picture, left: Any, right: Any, place: int, point: Point, worse: bool) -> None:
    """Draw a policy's marks in both panels."""
    figures, color = one.pooled.all[point.policy], _color(one, point)
    if figures.kept_low is not None and figures.kept_high is not None:
        right.barh(place, 100 * (figures.kept_high - figures.kept_low), 0.6, left=100 * figures.kept_low, color=color,
                   alpha=0.25, linewidth=0)  # fmt: skip
    for axes, share in ((left, point.amount), (right, point.kept)):
        if share is not None:
            _mark(axes, place, share, color, "X" if point.rejected else "s" if point.bound else "o", worse)
    if 100 * point.amount.value > MOST_AMOUNT:
        left.text(MOST_AMOUNT * 0.98, place, f"{point.amount.value:.0%} →", color=color, fontsize=9, ha="right",
                  va="center", bbox={"facecolor": "white", "linewidth": 0, "pad": 1}, zorder=5)  # fmt: skip


def _mark(axes: Any, place: int, share: Share, color: str, marker: str, worse: bool) -> None:
    if share.low is not None and share.high is not None:
        axes.plot([100 * share.low, 100 * share.high], [place, place], color=color, linewidth=1.2, zorder=3)
        if 100 * share.high > MOST_AMOUNT > 100 * share.value:
            # The interval goes on beyond the axis.
            axes.plot(MOST_AMOUNT, place, ">", color=color, markersize=5, zorder=3, clip_on=False)
    face = "white" if worse else color
    # A mark at the end of an axis isn't cut off; one beyond the end isn't drawn.
    axes.plot(100 * share.value, place, marker, color=face, markeredgecolor=color, markeredgewidth=1.5, zorder=4,
              clip_on=100 * share.value > MOST_AMOUNT)  # fmt: skip


def least_amount(line: Frontier, kept: Share | None) -> float | None:
    """Return the proven least amount, in %, for what is kept: the frontier's at the nearest survival not above it."""
    proven = [x for x, y in zip(line.x, line.y, strict=True) if kept is not None and y <= 100 * kept.value + 1e-6]
    return max(proven, default=None)


def _legend(one: Picture, rows: Sequence[Point], least: bool, left: int) -> str:
    brackets = any(one.pooled.all[point.policy].kept_low is not None for point in rows)
    notes = {
        one.mark: one.chosen is not None,
        "red ×: some calls refused": any(point.rejected for point in rows),
        "hollow: another is better": True,
        "dotted: keep-all": True,
        "square: bound": any(point.bound for point in rows),
        "whiskers: 95 % of a sampled folder" if one.pooled.sample else "whiskers: the next sessions, 90 %": any(
            point.amount.low is not None for point in rows
        ),
        "left bar: what keeping as much costs at least": least,
        "right bar: range, by what summaries keep": brackets,
        f"{left} policies that others beat are in the table only": left > 0,
    }
    return told(notes)
