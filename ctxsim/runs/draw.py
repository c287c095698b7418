"""A sample with probability proportional to size, without replacement: systematic, in randomised order.

Hartley and Rao, Sampling with unequal probabilities and without replacement, Annals of Mathematical Statistics 33
(1962), 350-374. Units so large that their probability would reach 1 are taken with certainty first, again and again.
Whatever the order, a unit is taken with exactly its probability: the random start lies in a stretch of that length.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def inclusion(sizes: Sequence[float], wanted: int) -> npt.NDArray[np.float64]:
    """Return each unit's probability of being among `wanted` units, proportional to its size, at most 1.

    A unit without a size counts as the smallest that has one: what can't be drawn would be forgotten.
    """
    known = np.asarray(sizes, dtype=float)
    positive = known[known > 0]
    known = np.maximum(known, positive.min() if len(positive) else 1.0)
    found = np.ones(len(known))
    rest = np.ones(len(known), dtype=bool)
    while rest.any() and wanted < len(known):
        share = (wanted - (~rest).sum()) * known / known[rest].sum()
        certain = rest & (share >= 1 - 1e-12)
        if not certain.any():
            found[rest] = share[rest]
            break
        rest &= ~certain
    return found


def draw(probabilities: npt.NDArray[np.float64], seed: int) -> list[int]:
    """Return the numbers of the units that are drawn, in order; as many as the probabilities' sum."""
    dice = np.random.default_rng(seed)
    certain = probabilities >= 1
    order = dice.permutation(np.flatnonzero(~certain))
    return sorted([*np.flatnonzero(certain).tolist(), *order[steps(probabilities[order], dice.random())].tolist()])


def steps(probabilities: npt.NDArray[np.float64], start: float) -> npt.NDArray[np.int64]:
    """Return which units lie under `start`, `start` + 1, ... when their probabilities are laid end to end."""
    ends = np.cumsum(probabilities)
    many = round(float(ends[-1])) if len(ends) else 0
    if many:
        ends *= many / ends[-1]
    found: npt.NDArray[np.int64] = np.minimum(
        np.searchsorted(ends, start + np.arange(many), side="right"), len(ends) - 1
    )
    return found
