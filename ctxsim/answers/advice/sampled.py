"""A folder estimated from a sample of it: weights, and how far an estimate may be off the folder.

Each transcript stands for 1 / probability. Shares are ratio estimates against keep-all, whose totals of the folder are
known: an amount is the share times that total. The variance is the one that Hájek (1964) and Deville (1999) give for
unequal probabilities without replacement, with residuals of the ratio (Särndal, Swensson and Wretman 1992, 5.6);
transcripts taken with certainty add nothing. It is the sampling error of this folder, and says nothing of others.
"""

from collections.abc import Sequence

import numpy as np

from ctxsim.answers.forecast.ranges import Array
from ctxsim.recorded.resampled import student
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
