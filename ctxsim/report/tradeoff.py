"""Survival against cost: each policy as a point, the frontier of the possible, and the policies worth having."""

from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np

from ctxsim.answers.advice.figures import Share
from ctxsim.answers.advice.pooled import Pooled
from ctxsim.answers.advice.settings import grids
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
    needed = (rows.calls_with_aged_needs > 0).to_numpy(dtype=bool)
    some = bool(needed.any())
    if column != "tokens":
        known = rows.cost_vs_keep_all.notna().to_numpy(dtype=bool)
        rows, needed = rows[known], needed[known]
        whole = float((rows.cost_usd / rows.cost_vs_keep_all).sum())
    else:
        whole = float(rows.tokens_full_sum.sum())
    if not some or not whole:
        return [], []
    places = pandas.Index(rows.transcript.to_numpy(dtype=object))
    sums, always = pandas.Series(dtype=float), 0.0
    for batch in run.batches("frontier", ["transcript", "family", "survival", column]):
        line = batch[batch.family == family]
        at = places.get_indexer(line.transcript.to_numpy(dtype=object))
        line, at = line[at >= 0], at[at >= 0]
        if line[column].isna().any():
            return [], []
        has = needed[at]
        # A transcript in which nothing old is needed takes the same amount at any survival.
        always += float(line[~has][column].sum())
        sums = sums.add(line[has].groupby("survival")[column].sum(), fill_value=0)
    # Rounded, because sums depend slightly on how the table is split into batches.
    shares = ((sums + always) / whole).round(9)
    return list(shares.to_numpy()), list(shares.index)


class Frontier(msgspec.Struct, frozen=True):
    """The least amount (`x`, in % of keep-all's) at which each survival (`y`, in %) is possible, with known future.

    Empty if it is unknown.
    """

    x: list[float]
    y: list[float]
    dash: Literal["solid", "dash", "dot"]
    name: str


def frontiers(run: Run, dollars: bool) -> list[Frontier]:
    """Return a chart's frontiers: by removing whole results, for dollars also with the cost of edits, by any means."""

    def of(family: str, column: str, dash: Literal["solid", "dash", "dot"], name: str) -> Frontier:
        x, y = ([100 * value for value in values] for values in frontier_line(run, family, column))
        return Frontier(x, y, dash, name)

    column = "cost_usd" if dollars else "tokens"
    paid = [of("results", "scheduled_usd", "dash", "the same, sent once, edits paid")] if dollars else []
    return [of("results", column, "solid", "whole results"), *paid, of("any", column, "dot", "any means")]
