"""Survival against cost: each policy as a point, those worth having, the frontier of the possible, and their picture:
policies as rows, cheapest first, each with its amount and what it keeps.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ctxsim.answers.advice.figures import Share
from ctxsim.answers.advice.pooled import Pooled
from ctxsim.answers.advice.settings import grids
from ctxsim.report.figure import finished, new_figure, told
from ctxsim.report.picture import Picture
from ctxsim.report.style import COLORS, LIMIT_COLOR, OTHER_COLOR, plain_axes
from ctxsim.results import Run
from ctxsim.results.run_info import is_nothing


class Point(msgspec.Struct, frozen=True):
    """One policy over all transcripts: its share of keep-all's dollars or tokens, and its share of rejected calls.

    `kept` is None if no call needed anything old.
    """

    policy: str
    bound: bool
    amount: Share
    kept: Share | None
    rejected: float


def points(pooled: Pooled, dollars: bool) -> list[Point]:
    """Return each policy's point, in the order of the run. By dollars, policies without a known price are left out."""
    found = []
    for label, figures in pooled.all.items():
        amount = figures.usd_share if dollars else figures.tokens_share
        if amount is not None:
            found.append(Point(label, figures.bound, amount, figures.kept, pooled.refusals(label)))
    return found


def dominated(found: Sequence[Point]) -> set[str]:
    """Return the policies that another one, or keep-all, beats in amount, survival or refusals and is worse in none."""

    def rank(point: Point) -> tuple[float, float, float]:
        return point.amount.value, -point.kept.value if point.kept else 0.0, point.rejected

    rivals = np.array([rank(point) for point in found if not point.bound or is_nothing(point.policy)]).reshape(-1, 3)

    def beaten(point: Point) -> bool:
        mine = rank(point)
        return bool(((rivals <= mine).all(axis=1) & (rivals < mine).any(axis=1)).any())

    return {point.policy for point in found if not point.bound and beaten(point)}


def joined(found: Sequence[Point]) -> list[list[Point]]:
    """Return the lines of a chart: settings of a policy that differ in one parameter only, in order of its values.

    If several parameters vary, it is the last, which changes fastest in a grid. A policy with two settings has no line.
    """
    by_label = {point.policy: point for point in found if not point.bound}
    lines: dict[tuple[str, ...], list[Point]] = {}
    for grid in grids(list(by_label)):
        for values, label in grid.labels.items() if len(grid.labels) > 2 else ():
            lines.setdefault((grid.name, *values[:-1]), []).append(by_label[label])
    return [line for line in lines.values() if len(line) > 1]


def frontier_line(run: Run, family: str, column: str) -> tuple[list[float], list[float]]:
    """Return a family's frontier: amounts, of all transcripts at one survival, as shares of keep-all's, and survivals.

    `column` is `tokens`, `cost_usd` or `scheduled_usd`. Both lists are empty if it isn't known, or if nothing aged
    is needed.
    """
    import pandas

    rows = run.of(run.labels[0])
    keep_all = rows.tokens_full_sum if column == "tokens" else (rows.cost_usd / rows.cost_vs_keep_all).dropna()
    whole = float(keep_all.sum())
    if not whole:
        return [], []
    known = rows.loc[keep_all.index]
    needed = dict(zip(known.transcript, known.calls_with_aged_needs > 0, strict=True))
    sums, always = pandas.Series(dtype=float), 0.0
    for batch in run.batches("frontier", ["transcript", "family", "survival", column]):
        line = batch[(batch.family == family) & batch.transcript.isin(needed)]
        if line[column].isna().any():
            return [], []
        has = line.transcript.astype(object).map(needed).astype(bool)
        # A transcript in which nothing old is needed takes the same amount at any survival.
        always += float(line[~has][column].sum())
        sums = sums.add(line[has].groupby("survival")[column].sum(), fill_value=0)
    # Rounded, because sums depend slightly on how the table is split into batches.
    shares = ((sums + always) / whole).round(9)
    return shares.tolist(), shares.index.tolist()


class Frontier(msgspec.Struct, frozen=True):
    """The least amount (`x`, in % of keep-all's) at which each survival (`y`, in %) is possible, with known future.

    Empty if it is unknown. `dash` is plotly's name of the line's dashes.
    """

    x: list[float]
    y: list[float]
    dash: str
    name: str


def frontiers(run: Run, dollars: bool) -> list[Frontier]:
    """Return a chart's frontiers: by removing whole results, for dollars also with the cost of edits, by any means."""
    column = "cost_usd" if dollars else "tokens"
    wanted = [("results", column, "solid", "whole results"), ("any", column, "dot", "any means")]
    if dollars:
        wanted.insert(1, ("results", "scheduled_usd", "dash", "the same, sent once, edits paid"))
    lines = [(frontier_line(run, family, name), dash, said) for family, name, dash, said in wanted]
    return [Frontier([100 * one for one in x], [100 * one for one in y], dash, said) for (x, y), dash, said in lines]


MOST_ROWS = 48
"""Rows, at most. Policies that others beat, except the advised one, are left out first, the most expensive first."""

MOST_AMOUNT = 200
"""The end of the axis, in % of keep-all's. A larger amount is written there as a number."""


def tradeoff(one: Picture, path: Path, dollars: bool) -> Path:
    """Draw a row per policy, cheapest first: its amount and what it keeps, in two panels, with intervals and bounds."""
    every = points(one.pooled, dollars)
    found, worse = [point for point in every if point.policy in one.labels], dominated(every)
    needed = sorted(found, key=lambda point: (point.policy in worse and point.policy != one.chosen, point.amount.value))
    rows = sorted(needed[:MOST_ROWS], key=lambda point: point.amount.value)
    figure, (left, right) = new_figure(10.5, 1.9 + 0.25 * len(rows), columns=2)
    least = [line for line in frontiers(one.run, dollars) if line.dash == "dot"]
    for place, point in enumerate(rows):
        _row(one, left, right, place, point, point.policy in worse)
        if least and (reached := least_amount(least[0], point.kept)) is not None:
            left.barh(place, reached, 0.9, color="#333333", alpha=0.1, linewidth=0)
    amount = "dollars (modelled)" if dollars else "input tokens sent (counted)"
    reach = max((100 * (point.amount.high or point.amount.value) for point in rows), default=100.0)
    left.set(xlabel=f"{amount}, % of keep-all's", xlim=(0, min(MOST_AMOUNT, 1.08 * max(100.0, reach))))
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
        one.mark: bool(one.mark),
        "×: some calls refused": any(point.rejected for point in rows),
        "hollow: another is better": True,
        "dotted: keep-all": True,
        "square: bound": any(point.bound and not point.rejected for point in rows),
        "whiskers: 95 % of a sampled folder" if one.pooled.sample else "whiskers: the next sessions, 90 %": any(
            point.amount.low is not None for point in rows
        ),
        "left bar: what keeping as much costs at least": least,
        "right bar: range, by what summaries keep": brackets,
        f"{left} policies that others beat are in the table only": left > 0,
    }
    return told(notes)
