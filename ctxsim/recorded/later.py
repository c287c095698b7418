"""Later calls of a segment predicted from its earlier ones: how far a fit is off what it hasn't seen."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ctxsim.recorded.usage import LEAST_FACTOR, MOST_FACTOR, Request

ENOUGH = 8
"""Calls with usage from which a segment is cut in halves."""

PRIOR_TOKENS = 5_000
"""The prior of a model's factor counts as much as so many tokens of growth."""


def factor_of(found: Sequence[Request], prior: float) -> float:
    """Return the provider's tokens for each counted one, by how requests grew; calls before which something else joined
    or went say nothing.
    """
    counted, recorded = float(PRIOR_TOKENS), PRIOR_TOKENS * prior
    for last, this in pairwise(found):
        grew = this.text - last.text
        by = this.recorded - this.framing - last.recorded + last.framing
        if grew > 0 and LEAST_FACTOR * grew <= by <= MOST_FACTOR * grew:
            counted, recorded = counted + grew, recorded + by
    return recorded / counted


def later_calls(found: Sequence[Request], prior: float, whole: bool = False) -> list[tuple[Request, float]]:
    """Return the calls in the later half of a segment, and their tokens as the earlier half predicts them.

    From the last call whose usage is known each grows by what joins. A log that holds all that was sent needs none.
    """
    if len(found) < ENOUGH:
        return []
    known = len(found) // 2
    if whole:
        return [(one, float(one.text + one.framing)) for one in found[known:]]
    factor, last = factor_of(found[:known], prior), found[known - 1]
    return [
        (one, last.recorded + factor * (one.text - last.text) + one.framing - last.framing) for one in found[known:]
    ]


def later_errors(found: Sequence[Request], prior: float, whole: bool = False) -> tuple[float, ...]:
    """Return |predicted - recorded| / recorded of each call in the later half; empty for a short segment."""
    return tuple(
        round(abs(tokens - one.recorded) / one.recorded, 4) for one, tokens in later_calls(found, prior, whole)
    )
