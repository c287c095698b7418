"""How far a forecast looks: so many sessions, or the days that come, with as many sessions as days had so far."""

import re
from datetime import UTC, datetime

import msgspec
import numpy as np
import numpy.typing as npt

from ctxsim.answers.forecast.draws import DAY, DRAWS, next_sessions, recency
from ctxsim.answers.forecast.sessions import Sessions
from ctxsim.errors import CtxsimError, many

WEEKEND = 5
"""The first day of the weekend, from Monday, 0."""


class Next(msgspec.Struct, frozen=True):
    """The next so many sessions, or with `days` those of so many days."""

    many: int
    days: bool = False

    def __str__(self) -> str:
        return many(self.many, "day(s)" if self.days else "session(s)")


def parse_next(text: str) -> Next:
    """Return the horizon of `20` or `7d`. Raises CtxsimError if it is none."""
    found = re.fullmatch(r"([1-9]\d{0,5})(d?)", text)
    if found is None:
        raise CtxsimError(f"'{text}' is no horizon: a number of sessions, as 20, or of days, as 7d, up to 999,999")
    return Next(int(found[1]), bool(found[2]))


def come(sessions: Sessions, ahead: Next, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return how many sessions come, by draw: days like those since the first, weekends apart.

    Raises CtxsimError for days where a session has no time.
    """
    if not ahead.days:
        return np.full(DRAWS, ahead.many)
    known = [one for one in sessions.started if one is not None]
    if len(known) < len(sessions):
        raise CtxsimError("days can't be forecast: some sessions have no time; give a number of sessions, as --next 20")
    first, last = int(min(known) // DAY), int(max(known) // DAY)
    counts = np.bincount([int(one // DAY) - first for one in known], minlength=last - first + 1)
    later = range(last + 1, last + 1 + ahead.many)
    total = np.zeros(DRAWS)
    for weekend in (False, True):
        past = np.array([n for n in range(len(counts)) if _weekend(first + n) == weekend], dtype=np.int64)
        of = sum(_weekend(day) == weekend for day in later)
        if not of or not len(past):
            continue
        weights = recency([float(n) for n in past])
        drawn = next_sessions(np.arange(len(past)), weights, of, rng)
        total += drawn @ counts[past]
    return np.rint(total).astype(np.int64)


def _weekend(day: int) -> bool:
    return datetime.fromtimestamp(day * DAY, UTC).weekday() >= WEEKEND
