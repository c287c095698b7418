"""The ends of an interval from resamples: wide enough for few sessions, and none for fewer than six."""

from statistics import NormalDist

import numpy as np
import numpy.typing as npt

FEWEST = 6
"""Fewest sessions for a 95 % interval, and that must differ for a p-value of at most .05. The range of five, which no
resample leaves, misses their median with a probability of 2 / 2^5 = .06, which is also the smallest p-value.
"""


def ends(resamples: npt.NDArray[np.float64], sessions: int) -> tuple[float, float]:
    """Return the 95 % interval of a figure, given its values in resamples of at least FEWEST sessions.

    Percentiles at 2.5 % hold a mean in 88 % of cases for six sessions. So the tails are smaller here, by Student's t
    and the bias of a resample's variance (T. Hesterberg, What Teachers Should Know about the Bootstrap, 2015, 4.3).
    """
    tail = 100 * NormalDist().cdf(-student(sessions - 1) * (sessions / (sessions - 1)) ** 0.5)
    low, high = np.percentile(resamples, [tail, 100 - tail])
    return float(low), float(high)


def student(freedom: float) -> float:
    """Return the 97.5th percentile of Student's t, to a hundredth from four degrees of freedom on (Cornish and Fisher).

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.5.
    """
    z = NormalDist().inv_cdf(0.975)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / freedom**power for power, term in enumerate(terms, 1))
