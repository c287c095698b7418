"""What survival costs: each policy as a point, the frontier above them, and which are worth having."""

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
    """One policy over all transcripts: `amount` is its share of keep-all's dollars or tokens, `rejected` that of calls.

    `kept` is None where nothing old was needed.
    """

    policy: str
    bound: bool
    amount: Share
    kept: Share | None
    rejected: float


def points(pooled: Pooled, dollars: bool) -> list[Point]:
    """Return each policy's point, in the order of the run; by dollars only where prices are known."""
    found = []
    for label, figures in pooled.all.items():
        amount = figures.usd_share if dollars else figures.tokens_share
        if amount is not None:
            found.append(Point(label, figures.bound, amount, figures.kept, pooled.refusals(label)))
    return found


def dominated(found: Sequence[Point]) -> set[str]:
    """Return the policies that another one, or doing nothing, beats in amount, survival or refusals, worse in none."""

    def rank(point: Point) -> tuple[float, float, float]:
        return point.amount.value, -point.kept.value if point.kept else 0.0, point.rejected

    rivals = np.array([rank(point) for point in found if not point.bound or is_nothing(point.policy)]).reshape(-1, 3)

    def beaten(point: Point) -> bool:
        mine = rank(point)
        return bool(((rivals <= mine).all(axis=1) & (rivals < mine).any(axis=1)).any())

    return {point.policy for point in found if not point.bound and beaten(point)}


def joined(found: Sequence[Point]) -> list[list[Point]]:
    """Return the lines of a chart: settings of a policy that differ in one parameter only, in its order.

    Of several parameters that vary it is the last, which changes fastest in a grid. Two settings are no line.
    """
    by_label = {point.policy: point for point in found if not point.bound}
    lines: dict[tuple[str, ...], list[Point]] = {}
    for grid in grids(list(by_label)):
        for values, label in grid.labels.items() if len(grid.labels) > 2 else ():
            lines.setdefault((grid.name, *values[:-1]), []).append(by_label[label])
    return [line for line in lines.values() if len(line) > 1]


def frontier_line(run: Run, family: str, column: str) -> tuple[list[float], list[float]]:
    """Return amounts, as shares of keep-all's, and survival of a family's frontier: all transcripts together, each at
    that survival.

    `column` is `tokens`, `cost_usd` or `scheduled_usd`; empty where it isn't known or nothing aged is needed.
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
        # Where nothing old is needed any survival takes the same.
        always += float(line[~has][column].sum())
        sums = sums.add(line[has].groupby("survival")[column].sum(), fill_value=0)
    # Sums depend a little on how the table came in pieces.
    shares = ((sums + always) / whole).round(9)
    return list(shares.to_numpy()), list(shares.index)


class Frontier(msgspec.Struct, frozen=True):
    """The least that anybody who knows the future can reach: survival (`y`) for an amount (`x`), both in % of all.

    Empty where it isn't known.
    """

    x: list[float]
    y: list[float]
    dash: Literal["solid", "dash", "dot"]
    name: str


def frontiers(run: Run, dollars: bool) -> list[Frontier]:
    """Return a chart's frontiers: by removing whole results, for dollars also with what edits cost; by any means."""

    def of(family: str, column: str, dash: Literal["solid", "dash", "dot"], name: str) -> Frontier:
        x, y = ([100 * value for value in values] for values in frontier_line(run, family, column))
        return Frontier(x, y, dash, name)

    column = "cost_usd" if dollars else "tokens"
    paid = [of("results", "scheduled_usd", "dash", "the same, sent once, edits paid")] if dollars else []
    return [of("results", column, "solid", "whole results"), *paid, of("any", column, "dot", "any means")]
