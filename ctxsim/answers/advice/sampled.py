"""A folder estimated from a sample of it: weights, and how far an estimate may be off the folder.

Each transcript stands for 1 / probability. Shares are ratio estimates against keep-all, whose totals of the folder are
known: an amount is the share times that total. The variance is the one that Hájek (1964) and Deville (1999) give for
unequal probabilities without replacement, with residuals of the ratio (Särndal, Swensson and Wretman 1992, 5.6), each
from the ratio without it, and Student's t of as many transcripts as their weights are worth; transcripts taken with
certainty add nothing. It is the sampling error of this folder, and says nothing of others.
"""

import numpy as np

from ctxsim.answers.forecast.ranges import Array
from ctxsim.recorded.resampled import student, worth

ACTED = 0.2
"""A policy that acts seldom may not have acted in a sample. So errors are as if half a transcript more had been drawn,
of which it saved or lost this share. `python -m evidence.samples` measures what intervals hold.
"""


def ends(parts: Array, wholes: Array, taken: Array, within: bool = False) -> tuple[float, float] | None:
    """Return the 95 % interval of the share that all parts are of all wholes; None if fewer than two transcripts with a
    whole were drawn at random.

    `parts` and `wholes` are divided by each transcript's inclusion probability, which `taken` has. `within`: no share
    is below 0 or above 1, so that the interval is Wilson's (1927), for as many draws of yes or no as vary as much.
    """
    of, chance = float(wholes.sum()), taken < 1
    share = float(parts.sum()) / of
    if not chance.any():
        return share, share
    many, whole = int(chance.sum()), wholes[chance]
    if np.count_nonzero(whole) < 2:
        return None
    # A transcript of great weight draws the share to its own: its residual from the others' share is larger.
    one = (parts - share * wholes)[chance] / (1 - whole / of)
    weight = (1 - taken[chance]) * many / (many - 1)
    middle = float((weight * one).sum() / weight.sum())
    usual = float(((1 - taken[chance]) * whole**2).sum() / whole.sum())
    variance = float((weight * (one - middle) ** 2).sum()) + (ACTED * usual) ** 2 / 2
    off = student(max(1.0, worth(whole) - 1)) * float(np.sqrt(variance)) / of
    if not within:
        return share - off, share + off
    near = (share * of + (1 - ACTED) * usual / 2) / (of + usual / 2)
    wide = off**2 / (near * (1 - near))
    centre, half = share + wide / 2, float(np.sqrt(wide * share * (1 - share) + wide**2 / 4))
    return (centre - half) / (1 + wide), (centre + half) / (1 + wide)
