"""Comparison of two sets of sessions that are not paired: what changed, and is it more than chance?

Each session, with its sub-agents, has one value of a figure. Sets differ in their projects and models, so sessions are
compared within strata of project and model. Typical sessions are compared, by ranks: a few that are ten times as large
as others have little weight. The effect is the median difference. Its p-value comes from a permutation test within
strata, its interval from a bootstrap of sessions.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist, median

import msgspec
import numpy as np
import numpy.typing as npt

from ctxsim.answers.bill.sums import Bill, Line, by_root, project_of
from ctxsim.answers.forecast.ranges import Array
from ctxsim.errors import CtxsimError
from ctxsim.recorded.resampled import ends as ends_of

Ints = npt.NDArray[np.int64]
Sides = npt.NDArray[np.bool_]

FIGURES = {
    "cost": "dollars of a session", "cost_per_call": "dollars of a call", "tokens": "input tokens of a session",
    "tokens_per_call": "input tokens of a call", "head": "tokens that go with every request",
    "calls": "calls of a session", "compactions": "compactions of a session",
}  # fmt: skip
"""The figures that are compared, with their descriptions."""

BY_NUMBER = "compactions"
"""The figure that is compared by difference; the others are compared by ratio."""

LEAST = 4
"""Least sessions of each set for a comparison."""

CHANCE = 0.05
DRAWS, RESAMPLES, TRIES, SEED = 2_000, 500, 200, 36
SHARE = 0.10
"""The relative change for which `power` is computed."""


class Difference(msgspec.Struct, frozen=True):
    """One figure of two sets: its medians, and the effect, in per cent of the first set, or as a difference if `ratio`
    is false. `low` to `high` is the effect's 95 % interval, `chance` its p-value.

    `power` is the probability that a change of 10 % would be found in such sets; None if `ratio` is false.
    """

    figure: str
    before: float
    after: float
    effect: float
    low: float
    high: float
    chance: float
    ratio: bool
    sessions: tuple[int, int]
    power: float | None

    @property
    def changed(self) -> bool:
        """Whether the p-value is at most CHANCE."""
        return self.chance <= CHANCE


class Case(msgspec.Struct, frozen=True):
    """A session with its sub-agents: its stratum (project and model), and its figures. Unknown figures are missing."""

    stratum: str
    figures: dict[str, float]


def cases(bill: Bill) -> list[Case]:
    """Return a case for each session of a bill that has tokens."""
    # A sub-agent's file may come first, but the session's own lines must.
    own_first = sorted(bill.lines, key=lambda line: line.session.parent != "")
    return [_case(lines) for lines in by_root(own_first).values()]


def _case(lines: Sequence[Line]) -> Case:
    tokens = sum(line.response.input for line in lines)
    # A session without a price of one of its responses has no cost.
    usd = sum(line.paid.usd for line in lines) if all(line.paid.how for line in lines) else 0.0
    # Of the first conversation only: a sub-agent has a head of its own.
    own = [line.response for line in lines if line.session is lines[0].session and line.response.head]
    figures = {
        "cost": usd, "cost_per_call": usd / len(lines), "tokens": tokens, "tokens_per_call": tokens / len(lines),
        "head": median(one.head for one in own) if own else 0.0, "calls": len(lines),
    }  # fmt: skip
    known = {name: float(value) for name, value in figures.items() if value > 0}
    known["compactions"] = float(sum(line.response.compacted > 0 for line in lines))
    # Without a recorded project not the log's folder, which differs between any two sets.
    project = project_of(lines[0]) if lines[0].session.project else ""
    return Case(f"{project} {lines[0].response.model}", known)


def differences(before: Sequence[Case], after: Sequence[Case]) -> list[Difference]:
    """Return the difference of each figure, over the sessions whose project and model both sets have, or over all if
    that leaves a set fewer than LEAST. Raises CtxsimError if a set has too few sessions.
    """
    if min(len(before), len(after)) < LEAST:
        raise CtxsimError(f"{len(before)} and {len(after)} sessions: each set needs {LEAST} for a comparison")
    made = (difference(figure, before, after) for figure in FIGURES)
    return [one for one in made if one]


def compared(before: Sequence[Case], after: Sequence[Case]) -> tuple[bool, tuple[int, int]]:
    """Return whether only sessions of shared projects and models are compared, and how many others each set has."""
    (first, second), shared = _alike(before, after)
    alike = all(case.stratum in shared for case in (*first, *second))
    return alike, (len(before) - len(first), len(after) - len(second))


def _alike(before: Sequence[Case], after: Sequence[Case]) -> tuple[list[Sequence[Case]], list[str]]:
    """The cases in shared strata, as others say nothing of a change, with these strata; all, as one stratum, if that
    leaves a set fewer than LEAST.
    """
    shared = sorted({case.stratum for case in before} & {case.stratum for case in after})
    kept: list[Sequence[Case]] = [[case for case in side if case.stratum in shared] for side in (before, after)]
    return (kept, shared) if min(map(len, kept)) >= LEAST else ([before, after], [])


def difference(figure: str, before: Sequence[Case], after: Sequence[Case]) -> Difference | None:
    """Return the difference of one figure; None if fewer than LEAST sessions of a set have it."""
    (before, after), shared = _alike(*([case for case in side if figure in case.figures] for side in (before, after)))
    if min(len(before), len(after)) < LEAST:
        return None
    ratio = figure != BY_NUMBER
    plain = np.array([case.figures[figure] for case in (*before, *after)])
    values = np.log(plain) if ratio else plain
    side = np.arange(len(plain)) >= len(before)
    strata = np.array([shared.index(case.stratum) if case.stratum in shared else -1 for case in (*before, *after)])
    rng = np.random.default_rng(SEED)
    ranks = _ranks(values, strata)
    dealt = _dealt(ranks, side, strata, rng)
    seen = abs(float(ranks[side].sum()))
    chance = (1 + int((np.abs(dealt) >= seen - 1e-9).sum())) / (DRAWS + 1)
    places = np.flatnonzero(~side), np.flatnonzero(side)
    drawn = []
    for _ in range(RESAMPLES):
        chosen = np.concatenate([rng.choice(own, len(own)) for own in places])
        drawn.append(_effect(values[chosen], side[chosen], strata[chosen]))
    ends = (_effect(values, side, strata), *ends_of(np.array(drawn), min(map(len, places))))
    effect, low, high = (100 * math.expm1(value) if ratio else float(value) for value in ends)
    first, second = (float(np.median(plain[own])) for own in places)
    power = _power(values, side, strata, rng) if ratio else None
    return Difference(figure, first, second, effect, low, high, chance, ratio, (len(before), len(after)), power)


def _ranks(values: Array, strata: Ints) -> Array:
    """Ranks within each stratum, minus their mean, divided by the stratum's size plus 1, so that large strata don't
    count for more than their sessions (van Elteren 1960). Equal values share their mean rank.
    """
    found = np.zeros(len(values))
    for one in np.unique(strata):
        at = np.flatnonzero(strata == one)
        _, which, counts = np.unique(values[at], return_inverse=True, return_counts=True)
        middle = np.cumsum(counts) - (counts - 1) / 2
        found[at] = (middle[which] - (len(at) + 1) / 2) / (len(at) + 1)
    return found


def _dealt(ranks: Array, side: Sides, strata: Ints, rng: np.random.Generator) -> Array:
    """The rank sum of the second set in DRAWS random permutations of the sessions within each stratum."""
    found = np.zeros(DRAWS)
    for one in np.unique(strata):
        at = strata == one
        mixed = rng.permuted(np.broadcast_to(ranks[at], (DRAWS, int(at.sum()))), axis=1)
        found += mixed[:, : int(side[at].sum())].sum(axis=1)
    return found


def _effect(values: Array, side: Sides, strata: Ints) -> float:
    """The median difference, second set minus first, of all pairs within strata (Hodges and Lehmann 1963)."""
    pairs = [
        np.subtract.outer(values[(strata == one) & side], values[(strata == one) & ~side]).ravel()
        for one in np.unique(strata)
    ]
    every = np.concatenate(pairs)
    return float(np.median(every if len(every) else np.subtract.outer(values[side], values[~side])))


def _power(values: Array, side: Sides, strata: Ints, rng: np.random.Generator) -> float:
    """How often a change of SHARE would be found in such sets: permuted within strata, the second one shifted by it."""
    _, stratum = np.unique(strata, return_inverse=True)
    sizes, second = np.bincount(stratum), np.bincount(stratum, side)
    found = 0
    for _ in range(TRIES):
        order = np.lexsort((rng.random(len(side)), strata))
        moved = np.empty_like(side)
        moved[np.argsort(strata, kind="stable")] = side[order]
        ranks = _ranks(values + math.log1p(SHARE) * moved, strata)
        # Variance of the rank sum if all orders are equally likely (Lehmann 1975); a session alone has rank 0.
        squares = np.bincount(stratum, ranks**2) / np.maximum(1, sizes - 1)
        variance = float((second * (sizes - second) / sizes * squares).sum())
        found += abs(float(ranks[moved].sum())) > NormalDist().inv_cdf(1 - CHANCE / 2) * variance**0.5 > 0
    return found / TRIES
