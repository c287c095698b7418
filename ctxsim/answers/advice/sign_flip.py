"""The chance of a paired difference where nothing changed: a sign-flip permutation test, by session.

Each session is measured under both, so that differences are paired. Where nothing changed, A and B could be swapped
within a session: its difference has either sign with the same chance. Nothing is assumed of how differences are
distributed, and transcripts of one session, which resemble each other, swap together (R. A. Fisher, The Design of
Experiments, 1935, section 21).
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

EXACT = 14
"""Up to so many sessions that differ every assignment of signs is looked at; of more, some are drawn."""

DRAWS = 9_999
DRAWN_AT_ONCE = 4_000_000
"""Signs in memory."""


def sign_flip(differences: Sequence[float] | npt.NDArray[np.float64], roots: Sequence[str]) -> float | None:
    """Return the two-sided p-value of a mean paired difference, `roots` naming each one's session; 0 to 1.

    It is the share of assignments of signs whose sum is at least as far from 0 as that of what was seen; of drawn ones
    what was seen counts as one more. None for fewer than two sessions.
    """
    session = np.unique(np.asarray(roots), return_inverse=True)[1]
    sums = np.bincount(session, weights=np.asarray(differences, dtype=float))
    if len(sums) < 2:
        return None
    # What doesn't differ has no sign to swap.
    sums = sums[sums != 0]
    # Sums of the same numbers in another order may differ in their last digits.
    seen = abs(sums.sum()) - 1e-9 * np.abs(sums).sum()
    if len(sums) <= EXACT:
        signs = 1 - 2 * (np.arange(2 ** len(sums))[:, None] >> np.arange(len(sums)) & 1)
        return float(np.mean(np.abs(signs @ sums) >= seen))
    chance, beyond, left = np.random.default_rng(0), 0, DRAWS
    while left:
        some = min(left, max(1, DRAWN_AT_ONCE // len(sums)))
        drawn = 2 * chance.integers(0, 2, (some, len(sums)), dtype=np.int8) - 1
        beyond += int(np.sum(np.abs(drawn @ sums) >= seen))
        left -= some
    return (beyond + 1) / (DRAWS + 1)
