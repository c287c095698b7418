"""The ends of an interval from resamples: wide enough for few sessions, and none for fewer than six."""

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

FEWEST = 6
"""Fewest sessions for a 95 % interval, and that must differ for a p-value of at most .05. The range of five, which no
resample leaves, misses their median with a probability of 2 / 2^5 = .06, which is also the smallest p-value.
"""


def by_session(roots: Sequence[str] | Sequence[int], *values: npt.ArrayLike) -> list[Array]:
    """Return the sum of each of several figures by root session; `roots` has the session of each value."""
    session = np.unique(np.asarray(roots), return_inverse=True)[1]
    return [np.bincount(session, weights=np.asarray(one, dtype=float)).astype(float) for one in values]


def worth(parts: Array) -> float:
    """Return the effective number of sessions (Kish), given a part of each one; their number if all parts are 0."""
    return float(parts.sum() ** 2 / (parts**2).sum()) if parts.any() else float(len(parts))


def ends(resamples: Array, sessions: int) -> tuple[float, float]:
    """Return the 95 % interval of a figure, given its values in resamples of at least FEWEST sessions.

    Percentiles at 2.5 % hold a mean in 88 % of cases for six sessions. So the tails are smaller here, by Student's t
    and the bias of a resample's variance (T. Hesterberg, What Teachers Should Know about the Bootstrap, 2015, 4.3).
    """
    tail = 100 * NormalDist().cdf(-student(sessions - 1) * (sessions / (sessions - 1)) ** 0.5)
    low, high = np.percentile(resamples, [tail, 100 - tail])
    return float(low), float(high)


def student(freedom: float, level: float = 0.95) -> float:
    """Return the end of Student's t's central `level`, to a hundredth from four degrees of freedom on (Cornish and
    Fisher).

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.5.
    """
    z = NormalDist().inv_cdf((1 + level) / 2)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / freedom**power for power, term in enumerate(terms, 1))
