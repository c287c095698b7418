"""The rule of advice, on figures and on draws of them: docs/advice.md says it in words.

Everything is in arrays: a row for each draw or resample of the sessions, a column for each policy.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ctxsim.answers.forecast.ranges import Array

HARDLY = 0.02
"""Share of keep-all's amount that is hardly anything: not worth a loss, and no reason to compact."""

CHANCE = 0.05
"""Largest share of draws in which a sound policy saves nothing: those below the lower end of the 90 % interval."""

RISK = 0.2
"""Largest share of draws in which a policy may lose more than allowed."""


class Seen(NamedTuple):
    """The candidates' figures: shares of keep-all's amount saved, shares kept, shares of calls refused; by policy, and
    in `saved_next` and `kept_next` by draw and policy. `nothing` is keep-all's column, None without it.
    """

    saved: Array
    kept: Array
    refused: Array
    saved_next: Array
    kept_next: Array
    nothing: int | None


def choice(seen: Seen, may_lose: float) -> int:
    """Return the column of the policy to take.

    Only policies with the fewest refused calls pass. A passing policy is sound if it saves HARDLY or more, saves
    nothing in at most CHANCE of the draws, and in all but RISK of them keeps at most `may_lose` less than the one that
    keeps most. Of the sound policies up to HARDLY dearer than the cheapest, the one that keeps most is taken; without a
    sound one it is keep-all. If keep-all is refused more than others, nothing has to be saved, and it isn't taken.
    """
    return int(_cheapest(seen, seen.saved[None], seen.kept[None], sound(seen, may_lose)[None])[0])


def sound(seen: Seen, may_lose: float) -> npt.NDArray[np.bool_]:
    """Return a mask of the policies that may be the answer: `choice` chooses among them."""
    bearable = _loss(seen) <= may_lose + 1e-9
    return np.asarray(_worth(seen, seen.saved, _low(seen)) & bearable & _passing(seen))


def choices(seen: Seen, saved: Array, kept: Array, may_lose: float) -> npt.NDArray[np.int64]:
    """Return the choice in each resample of the sessions, by the whole rule; `saved` and `kept` have a row for each. A
    saving has the same ratio to its lower end as over all sessions, a loss the same distance to its upper end.
    """
    passing = _passing(seen)
    most = np.where(passing, kept, -np.inf).max(axis=1, keepdims=True)
    # The distance of each loss over all sessions to its upper end, for use in each row.
    below = seen.kept[passing].max() - seen.kept
    off = _loss(seen) - below
    bearable = (most - kept + off <= may_lose + 1e-9) & passing
    # The ratio of each saving's lower end to the saving; below 0 if the policy may be dearer.
    with np.errstate(invalid="ignore", divide="ignore"):
        part = np.where(seen.saved > 0, _low(seen) / seen.saved, 0.0)
    return _cheapest(seen, saved, kept, _worth(seen, saved, saved * part) & bearable)


def _passing(seen: Seen) -> npt.NDArray[np.bool_]:
    return np.asarray(seen.refused <= seen.refused.min())


def _loss(seen: Seen) -> Array:
    """How much less each policy keeps than the one that keeps most, in all but RISK of the draws."""
    lost = seen.kept_next[:, _passing(seen)].max(axis=1, keepdims=True) - seen.kept_next
    return np.asarray(np.quantile(lost, 1 - RISK, axis=0))


def _low(seen: Seen) -> Array:
    return np.asarray(np.quantile(seen.saved_next, CHANCE, axis=0))


def _worth(seen: Seen, saved: Array, low: Array) -> npt.NDArray[np.bool_]:
    if seen.nothing is None or not _passing(seen)[seen.nothing]:
        return np.asarray(np.full(saved.shape, True))
    return np.asarray((saved >= HARDLY - 1e-9) & (low > 1e-9))


def _cheapest(seen: Seen, saved: Array, kept: Array, among: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """In each row, of the sound policies that are hardly dearer than the cheapest, the one that keeps most."""
    most = np.where(among, saved, -np.inf).max(axis=1, keepdims=True)
    near = among & (saved >= most - HARDLY - 1e-9)
    # If several keep the same, the cheaper one is taken, then the first.
    found = np.argmax(np.where(near, kept + 1e-6 * saved, -np.inf), axis=1)
    passing = _passing(seen)
    instead = np.argmax(np.where(passing, kept, -np.inf), axis=1)
    if seen.nothing is not None and passing[seen.nothing]:
        instead[:] = seen.nothing
    return np.asarray(np.where(among.any(axis=1), found, instead))
