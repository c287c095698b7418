"""What survival costs: each policy as a point, the frontier above them, which are worth having, which one to take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import msgspec
import numpy as np
import pandas

from ctxsim.report.intervals import bootstrap_mean, refused
from ctxsim.results import Run

USED = [
    "transcript", "root", "survival", "tokens_sum", "tokens_full_sum", "cost_vs_keep_all", "calls", "overflows",
    "rate_limited", "invalid_pairs", "stopped",
]  # fmt: skip
"""Columns that advice is made from."""

MOST_LEFT_OUT = 200
"""Sessions that are left out one at a time; of more than these a sample."""

STABLE = 0.8
"""A recommendation that fewer sessions than this share agree with, when each is left out, comes with a warning."""


class Point(msgspec.Struct, frozen=True):
    """One policy over the transcripts of a scope: means over transcripts.

    `tokens` and `dollars` are shares of keep-all's, `rejected` is the share of refused calls.
    """

    policy: str
    bound: bool
    survival: float | None
    tokens: float
    dollars: float | None
    rejected: float


class Scope:
    """The transcripts that have aged needs (all, if none has), and, for dollars, known prices."""

    def __init__(self, run: Run, dollars: bool = False) -> None:
        self._run = run
        self._dollars = dollars
        part = self._priced(run.labels[0]) if run.labels else None
        self.needed = part is not None and bool((part.calls_with_aged_needs > 0).any())
        """Whether anything old was needed at all."""

    def _priced(self, label: str) -> Any:
        part = self._run.of(label)
        return part[part.cost_vs_keep_all.notna()] if self._dollars else part

    def of(self, label: str) -> Any:
        """Return one policy's summary rows of these transcripts."""
        part = self._priced(label)
        return part[part.calls_with_aged_needs > 0] if self.needed else part

    def transcripts(self) -> Any:
        """Return a row for each of them."""
        return self.of(self._run.labels[0])


def points(run: Run, of: Callable[[str], Any]) -> list[Point]:
    """Return each policy's point over its summary rows, which `of` gives, in the order of the run."""
    found = []
    for label in run.labels:
        part = of(label)
        if not len(part):
            continue
        known = part.survival.notna().any()
        priced = part.cost_vs_keep_all.notna().all()
        found.append(
            Point(
                policy=label,
                bound=label in run.info.bounds,
                survival=float(part.survival.mean()) if known else None,
                tokens=float((part.tokens_sum / part.tokens_full_sum.clip(lower=1)).mean()),
                dollars=float(part.cost_vs_keep_all.mean()) if priced else None,
                rejected=float(refused(part).sum() / part.calls.sum()),
            )
        )
    return found


def priced(run: Run) -> bool:
    """Whether dollars are known for most of the transcripts that tell something about survival."""
    if not run.labels:
        return False
    return len(Scope(run, dollars=True).transcripts()) * 2 >= len(Scope(run).transcripts()) > 0


def amount(point: Point, dollars: bool) -> float:
    """A point's dollars, or its tokens where no price is known."""
    return point.dollars if dollars and point.dollars is not None else point.tokens


def dominated(found: Sequence[Point], dollars: bool) -> set[str]:
    """Return the policies that another one beats: no worse in amount, survival and refusals, and better in one."""

    def beats(a: Point, b: Point) -> bool:
        mine = (amount(a, dollars), -(a.survival or 0.0), a.rejected)
        theirs = (amount(b, dollars), -(b.survival or 0.0), b.rejected)
        return all(x <= y for x, y in zip(mine, theirs, strict=True)) and mine != theirs

    usable = [point for point in found if not point.bound]
    return {point.policy for point in usable if any(beats(other, point) for other in usable)}


def frontier_line(run: Run, family: str, column: str) -> tuple[list[float], list[float]]:
    """Return amounts, as shares of keep-all's, and survival of a family's frontier: means over a scope's transcripts.

    `column` is `tokens`, `cost_usd` or `scheduled_usd`; empty where it isn't known or nothing aged is needed.
    """
    dollars = column != "tokens"
    scope = Scope(run, dollars)
    if not scope.needed:
        return [], []
    rows = scope.transcripts().set_index("transcript")
    whole = rows.cost_usd / rows.cost_vs_keep_all if dollars else rows.tokens_full_sum
    whole.index = whole.index.astype(object)
    sums, counts = pandas.Series(dtype=float), pandas.Series(dtype=float)
    for batch in run.batches("frontier", ["transcript", "family", "survival", column]):
        line = batch[batch.family == family]
        of_keep_all = whole.reindex(line.transcript.astype(object)).to_numpy()
        # Other transcripts are out of scope.
        line, of_keep_all = line[of_keep_all == of_keep_all], of_keep_all[of_keep_all == of_keep_all]
        if line[column].isna().any():
            return [], []
        shares = (line[column] / of_keep_all).groupby(line.survival)
        sums, counts = sums.add(shares.sum(), fill_value=0), counts.add(shares.size(), fill_value=0)
    # Sums depend a little on how the table came in pieces.
    means = (sums / counts).round(9)
    return list(means.to_numpy()), list(means.index)


class Frontier(msgspec.Struct, frozen=True):
    """The least that anybody who knows the future can reach: survival (`y`) for an amount (`x`), both in % of all.

    Empty where it isn't known. `name` is for a page that explains frontiers, `about` says it alone.
    """

    x: list[float]
    y: list[float]
    dash: Literal["solid", "dash", "dot"]
    name: str
    about: str


def frontiers(run: Run, dollars: bool) -> list[Frontier]:
    """Return a chart's frontiers: by removing whole results, for dollars also with what edits cost; by any means."""
    column = "cost_usd" if dollars else "tokens"
    free = ", edits free" if dollars else ""
    lines: list[tuple[str, str, Literal["solid", "dash", "dot"], str, str]] = [
        ("results", column, "solid", "whole results", f"least by removing whole results at the right time{free}"),
        ("any", column, "dot", "any means", "least by any means"),
    ]
    if dollars:
        paid = "the same, each result sent once, with what edits cost"
        lines.insert(1, ("results", "scheduled_usd", "dash", "the same, sent once, edits paid", paid))
    found = []
    for family, one, dash, name, about in lines:
        x, y = frontier_line(run, family, one)
        found.append(Frontier([100 * value for value in x], [100 * value for value in y], dash, name, about))
    return found


class Advice(msgspec.Struct, frozen=True):
    """Which setting to take, why, and on how many of the sessions it depends.

    `agreement`: share of sessions without which the advice is the same; None for one session. `others`: what it would
    be without some session, and without how many.
    """

    policy: str
    reason: str
    agreement: float | None
    others: dict[str, int]


def advise(run: Run) -> Advice | None:
    """Return the recommended policy: fewest refused calls, then a survival that can't be told from the best, then the
    cheapest. None if there is no policy but bounds.
    """
    dollars = priced(run)
    scope = Scope(run, dollars)
    parts = {label: scope.of(label)[USED] for label in run.labels}
    chosen = _choose(run, parts, dollars)
    if chosen is None:
        return None
    roots = list(dict.fromkeys(next(iter(parts.values())).root))
    if len(roots) < 2:
        return Advice(chosen[0], chosen[1], None, {})
    if len(roots) > MOST_LEFT_OUT:
        roots = [roots[n] for n in sorted(np.random.default_rng(0).choice(len(roots), MOST_LEFT_OUT, replace=False))]
    others: dict[str, int] = {}
    for root in roots:
        without = _choose(run, {label: part[part.root != root] for label, part in parts.items()}, dollars)
        if without is not None and without[0] != chosen[0]:
            others[without[0]] = others.get(without[0], 0) + 1
    return Advice(chosen[0], chosen[1], 1 - sum(others.values()) / len(roots), others)


def _choose(run: Run, parts: Mapping[str, Any], dollars: bool) -> tuple[str, str] | None:
    found = [point for point in points(run, parts.__getitem__) if not point.bound]
    if not found:
        return None
    fewest = min(point.rejected for point in found)
    passing = [point for point in found if point.rejected == fewest]
    refused = f"{fewest:.1%} of calls refused, the fewest" if fewest else "no call refused"
    best = max(passing, key=lambda point: (point.survival or 0.0, -amount(point, dollars)))
    near = [point for point in passing if point is best or _level(parts[point.policy], parts[best.policy])]
    cheapest = min(near, key=lambda point: amount(point, dollars))
    unit = f"{amount(cheapest, dollars):.0%} of keep-all's {'dollars' if dollars else 'tokens'}"
    if cheapest.survival is None:
        return cheapest.policy, f"{refused}; cheapest ({unit}); nothing old was needed, so survival says nothing"
    kept = f"{cheapest.survival:.0%} kept"
    if len(near) > 1 and cheapest is not best:
        kept += f", not to be told from the best ({best.survival:.0%})"
    if len(near) == 1:
        return cheapest.policy, f"{refused}; {kept}, more than by any other; {unit}"
    return cheapest.policy, f"{refused}; {kept}; cheapest of {len(near)} such settings ({unit})"


def _level(part: Any, best: Any) -> bool:
    """Whether the paired difference to the best can be 0; of one session, whether it is."""
    pair = [one.set_index("transcript") for one in (best, part)]
    difference = (pair[0].survival - pair[1].survival).dropna()
    if not len(difference) or not np.any(difference.to_numpy()):
        return True
    interval = bootstrap_mean(difference.to_numpy(), pair[0].root[difference.index].to_numpy())
    return interval is not None and interval[1] <= 0
