"""A folder estimated from a sample of it: weights, and how far an estimate may be off the folder.

Each transcript stands for 1 / probability. Shares are ratio estimates against keep-all, whose totals of the folder are
known: an amount is the share times that total. The variance is the one that Hájek (1964) and Deville (1999) give for
unequal probabilities without replacement, with residuals of the ratio (Särndal, Swensson and Wretman 1992, 5.6);
transcripts taken with certainty add nothing. It is the sampling error of this folder, and says nothing of others.
"""

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from ctxsim.answers.forecast.ranges import Array
from ctxsim.results.run_info import Sample


def probabilities(sample: Sample, transcripts: Sequence[str]) -> Array:
    """Return the inclusion probabilities of some of a sample's transcripts."""
    known = {one.transcript: one.probability for one in sample.drawn}
    return np.asarray([known[name] for name in transcripts], dtype=float)


def reach(residuals: Array, of: float, taken: Array) -> float | None:
    """Return half the width of a ratio's 95 % interval; None if only one transcript was drawn at random.

    `residuals` are each transcript's part minus the ratio times its whole, divided by its inclusion probability.
    `taken` has these probabilities; `of` is the estimated total of the wholes.
    """
    chance = taken < 1
    many = int(chance.sum())
    if not many:
        return 0.0
    if many < 2:
        return None
    weight = (1 - taken[chance]) * many / (many - 1)
    one = residuals[chance]
    middle = float((weight * one).sum() / weight.sum())
    variance = float((weight * (one - middle) ** 2).sum())
    return student(many - 1) * float(np.sqrt(variance)) / of


def student(freedom: int) -> float:
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
    return z + sum(term / float(freedom) ** power for power, term in enumerate(terms, 1))
