"""Shares and their intervals, which take into account that observations of one session are correlated."""

from collections.abc import Sequence
from math import exp, log, sqrt

import numpy as np

from ctxsim.recorded.resampled import Array, by_session, student, worth

Rate = tuple[float, float, float]
"""A share, or a difference of shares, and the ends of its interval."""

LEVEL = 0.9
FEWEST = 10
"""With fewer compactions an interval says little: PRIOR is shown instead."""

PRIOR = (0.2, 0.85)
"""Share of the lost and used that came again in other recordings: by the narrow definition, and by the wide one."""

Counts = Sequence[int] | Array


def share(hits: Counts, of: Counts, roots: Sequence[str]) -> Rate | None:
    """Return the share of all hits in all, and its interval, on the scale of log odds; `roots` has the session of each
    count. None for fewer than two sessions with counts.
    """
    had, all_of = by_session(roots, hits, of)
    had, all_of = had[all_of > 0], all_of[all_of > 0]
    if len(had) < 2:
        return None
    at, without = _with_and_without(had, all_of)
    if not 0 < at < 1:
        # At 0 or 1: exact binomial interval (C. Clopper, E. Pearson, Biometrika 26, 1934) of the effective number.
        reach = 1 - ((1 - LEVEL) / 2) ** (1 / worth(all_of))
        return at, max(0.0, at - reach), min(1.0, at + reach)
    odds, step = log(at / (1 - at)), _reach(without - at, all_of) / (at * (1 - at))
    low, high = (1 / (1 + exp(-end)) for end in (odds - step, odds + step))
    return at, low, high


def excess(hits: Counts, of: Counts, control: Counts, of_control: Counts, roots: Sequence[str]) -> Rate | None:
    """Return the difference of two shares of the same sessions, and its interval. None as in `share`."""
    both = by_session(roots, hits, of), by_session(roots, control, of_control)
    if any(np.count_nonzero(all_of) < 2 for _, all_of in both):
        return None
    (share, without), (other, without_other) = (_with_and_without(*one) for one in both)
    at = share - other
    # The effect of a large session on both shares cancels out, so all sessions weigh the same.
    reach = _reach(without - without_other - at, np.ones(len(without)))
    return at, at - reach, at + reach


def _with_and_without(had: Array, all_of: Array) -> tuple[float, Array]:
    """The share over all sessions, and the shares with each one left out."""
    return had.sum() / all_of.sum(), (had.sum() - had) / (all_of.sum() - all_of)


def _reach(errors: Array, sizes: Array) -> float:
    """Half the width of an interval: the jackknife over sessions, times Student's t for the effective number of
    sessions, since a few large ones say less than their number.
    """
    return student(max(2.0, worth(sizes) - 1), LEVEL) * sqrt((len(errors) - 1) / len(errors) * float((errors**2).sum()))
