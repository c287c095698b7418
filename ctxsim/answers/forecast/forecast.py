"""Forecasts of the next sessions: dollars, tokens, calls, compactions, refused calls."""

from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np

from ctxsim.answers.forecast.drift import Change, last_change, last_pace
from ctxsim.answers.forecast.ranges import (
    DAY,
    DRAWS,
    HALF,
    LEAST,
    Array,
    Ints,
    blocks_of,
    interval,
    next_sessions,
    recency,
    smoothed,
    varied,
)
from ctxsim.answers.forecast.sessions import Next, Sessions
from ctxsim.errors import CtxsimError
from ctxsim.results.frames import Frame, frame_of

LEVELS = (0.5, 0.8, 0.9)

FARTHEST = 0.5
"""Most sessions ahead that have an interval, as a share of the sessions seen."""

COUNTS = {"compactions": 0.5, "refused": 0.0}
"""Whole-number amounts, and what is added to those seen if ranges are no intervals: that none came so far doesn't mean
that none comes (Jeffreys' prior). It is 0 for refused calls: sessions that all fit their window go on to fit it.
"""

OF_SESSIONS, OF_PERIODS = 1.0, 0.35
"""Standard deviations, in logarithms, of a project's sessions and of its periods: medians over projects, for ranges if
too few sessions were seen. `python -m evidence.forecast` prints them.
"""

OF_DAYS = 1.0
"""Standard deviation, in logarithms, of the pace that one day shows, to divide by the root of the days seen. Measured
over projects from their first day on.
"""

FAR = 0.2
"""Standard deviation, in logarithms, of totals farther ahead than FARTHEST. Fitted on either of two projects, the value
held on the other.
"""

THURSDAY, SATURDAY = 3, 5
"""Days of the week, from Monday, 0; Saturday is the first of the weekend."""

LONGEST = 16 * HALF
"""Days before the last one that count for the pace."""

Basis = Literal["sessions", "far", "priors"]


class Amount(msgspec.Struct, frozen=True):
    """A forecast amount: the median of the draws, and its range by level in per cent."""

    middle: float
    ranges: dict[str, tuple[float, float]]


class Forecast(msgspec.Struct, frozen=True):
    """The forecast of the next sessions under one policy.

    `basis`: `sessions` if ranges are intervals; `far` if the sessions ahead are more than FARTHEST of those seen, and
    ranges are wider by FAR; `priors` if fewer than LEAST were seen, and ranges come from the spread of sessions of
    other projects. `seen` of the `known` sessions count: those since `since`, if `change` cuts. `priced` of the known
    sessions have all prices; missing dollars of the others count as 0. `come` is the number of sessions ahead, which
    varies by draw if the horizon is days. `untimed` more sessions have no start time.
    """

    policy: str
    ahead: Next
    basis: Basis
    seen: int
    known: int
    priced: int
    change: Change | None
    since: float | None
    come: Amount
    amounts: dict[str, Amount]
    recorded: dict[str, float]
    untimed: int = 0

    def frame(self) -> Frame:
        """Return a row for each amount and level: amount, level, low, middle, high."""
        return frame_of(
            {"amount": name, "level": int(level), "low": low, "middle": one.middle, "high": high}
            for name, one in {"sessions": self.come, **self.amounts}.items()
            for level, (low, high) in one.ranges.items()
        )


def forecast(
    sessions: Sessions, policy: str, ahead: Next, change: Change | msgspec.UnsetType | None = msgspec.UNSET
) -> Forecast:
    """Return the forecast of the next sessions. `change` is their last change, if it is known.

    Raises CtxsimError without sessions, or for days if one has no time.
    """
    if not len(sessions):
        raise CtxsimError("nothing to forecast from: no session has a call")
    change = last_change(sessions) if change is msgspec.UNSET else change
    later = _that_count(sessions, change)
    basis, many, draws = _totals(sessions, later, ahead)
    return Forecast(
        policy, ahead, basis, seen=len(later), known=len(sessions), priced=sessions.priced, untimed=sessions.untimed,
        change=change, since=later.started[0] if change and change.cuts else None, come=_amount(many.astype(float)),
        amounts={name: _amount(values) for name, values in draws.items()},
        recorded={name: float(values.sum()) for name, values in sessions.amounts.items()},
    )  # fmt: skip


def _totals(sessions: Sessions, later: Sessions, ahead: Next) -> tuple[Basis, Ints, dict[str, Array]]:
    """Return what a forecast from the sessions that count rests on, and draws: of how many come, and of totals."""
    rng = np.random.default_rng(0)
    many = come(sessions, ahead, rng)
    if len(later) < LEAST:
        return "priors", many, by_priors(later, many, rng)
    draws = drawn_totals(later, many, rng)
    if float(np.median(many)) <= FARTHEST * len(later):
        return "sessions", many, draws
    return "far", many, _wider(draws, len(later), many, rng)


def come(sessions: Sessions, ahead: Next, rng: np.random.Generator) -> Ints:
    """Return how many sessions come, by draw. Days are drawn from those since the pace last changed, weekends apart.

    Raises CtxsimError for days if a session has no time.
    """
    if not ahead.days:
        return np.full(DRAWS, ahead.many)
    known = [one for one in sessions.started if one is not None]
    if len(known) < len(sessions):
        raise CtxsimError("days can't be forecast: some sessions have no time; give a number of sessions, as --next 20")
    first, last = int(min(known) // DAY), int(max(known) // DAY)
    counts = np.bincount([int(one // DAY) - first for one in known], minlength=last - first + 1)
    older = max(0, len(counts) - LONGEST)
    seen = older + last_pace(counts[older:])
    # Day 0, 1 January 1970, was a Thursday.
    weekends = (np.arange(first, last + 1 + ahead.many) + THURSDAY) % 7 >= SATURDAY
    total = np.zeros(DRAWS)
    for weekend in (False, True):
        past = seen[weekends[seen] == weekend]
        # Who was seen at a weekend only hasn't been seen to rest on other days.
        past = past if weekend or len(past) else seen
        of = int((weekends[len(counts) :] == weekend).sum())
        if of and len(past):
            drawn = next_sessions(np.arange(len(past)), recency(past.astype(float).tolist()), of, rng)
            total += drawn @ counts[past]
    # Weeks differ more than their days do, and few days say little of those to come.
    off = float(np.hypot(OF_PERIODS, OF_DAYS / len(seen) ** 0.5))
    return np.rint(total * np.exp(rng.normal(0.0, off, DRAWS))).astype(np.int64)


def saving(now: Sessions, then: Sessions, ahead: Next) -> Amount:
    """Return the share of the next sessions' dollars that `then` saves against `now`, from draws of the same sessions
    for both. Savings and extra costs vary beyond the draws, as they do between projects (`ranges.varied`). `now` itself
    saves exactly nothing.
    """
    if then is now:
        return _amount(np.zeros(1))
    change, rng = last_change(now), np.random.default_rng(0)
    [left] = _left(_that_count(now, change), [_that_count(then, change).amounts["usd"]], come(now, ahead, rng), rng)
    return _amount(1 - left)


def saved(known: Sessions, billed: Array, each: Sequence[Array], ahead: Next) -> list[Amount]:
    """Return the dollars that each change saves of those forecast of the next sessions, given what it saves of each
    session known, as a part of the dollars `billed`; these are 0 for sessions whose savings aren't known.
    """
    later = _that_count(known, last_change(known))
    _, _, totals = _totals(known, later, ahead)
    at = max(len(known) - len(later), int(np.flatnonzero(billed)[0]))
    now = msgspec.structs.replace(known, amounts={"usd": billed}).part(at)
    # If the savings of all sessions are known, these are the draws of the totals.
    rng = np.random.default_rng(0)
    left = _left(now, [(billed - one)[at:] for one in each], come(known, ahead, rng), rng)
    return [_amount(totals["usd"] * (1 - one)) for one in left]


def _left(now: Sessions, then: Sequence[Array], many: Ints, rng: np.random.Generator) -> list[Array]:
    """The share of the next sessions' dollars that is left to pay, in each draw, for several changes."""
    drawn = _drawn(now, np.maximum(many, 1), rng)
    noise = np.random.default_rng(1).normal(size=(4, len(drawn)))
    # A draw without dollars saves nothing.
    return [np.nan_to_num(varied(drawn, one, now.amounts["usd"], noise), nan=1.0) for one in then]


def _that_count(sessions: Sessions, change: Change | None) -> Sessions:
    return sessions.part(change.at) if change and change.cuts else sessions


def _wider(draws: dict[str, Array], seen: int, many: Ints, rng: np.random.Generator) -> dict[str, Array]:
    """Return the draws of totals, widened for a horizon that is too far for the sessions seen."""
    factor = np.exp(rng.normal(0.0, FAR, len(many)))
    wide = {name: values * factor for name, values in draws.items()}
    for name in filter(draws.__contains__, COUNTS):
        wide[name] = np.rint(wide[name]) + rng.poisson(rng.gamma(COUNTS[name], size=len(many)) / seen * many)
    return wide


def drawn_totals(sessions: Sessions, many: Ints, rng: np.random.Generator) -> dict[str, Array]:
    """Return draws of each amount's total over the next sessions; `many` has the number of sessions of each draw."""
    drawn = _drawn(sessions, many, rng)
    return {
        name: drawn @ values if name in COUNTS else smoothed(values, drawn, rng)
        for name, values in sessions.amounts.items()
    }


def _drawn(sessions: Sessions, many: Ints, rng: np.random.Generator) -> Array:
    """How often each session is drawn among the next ones, in each draw: whole sessions, though blocks have many."""
    blocks = blocks_of(sessions.started, sessions.projects)
    parts = next_sessions(blocks, recency(sessions.started), np.maximum(many, 1), rng, len(many)) * (many > 0)[:, None]
    # Systematic sampling in random order: sums of parts are rounded, so that few of a block's sessions are drawn.
    order = np.random.default_rng(2).permuted(np.tile(np.arange(len(blocks)), (len(many), 1)), axis=1)
    sums = np.cumsum(np.take_along_axis(parts, order, 1), axis=1) + (np.arange(len(many))[:, None] + 0.5) / len(many)
    np.put_along_axis(parts, order, np.diff(np.floor(sums), axis=1, prepend=0.0), 1)
    return parts


def by_priors(sessions: Sessions, many: Ints, rng: np.random.Generator) -> dict[str, Array]:
    """Return the same, spread around the mean of the sessions seen as sessions and periods of other projects differ."""
    some = np.maximum(many, 1)
    noise = rng.normal(0.0, 1.0, len(many))

    def off(unknown: float) -> Array:
        return np.exp(noise * np.sqrt(OF_SESSIONS**2 * (unknown + 1 / some) + OF_PERIODS**2))

    def total(name: str, values: Array) -> Array:
        if name not in COUNTS:
            return np.asarray(values.mean() * many * off(1 / len(sessions)))
        # The rates already hold the uncertainty of the mean.
        rates = rng.gamma(values.sum() + COUNTS[name], size=len(many)) / len(sessions)
        return rng.poisson(rates * many * off(0.0)).astype(float)

    return {name: total(name, values) for name, values in sessions.amounts.items()}


def _amount(draws: Array) -> Amount:
    ranges = {f"{100 * level:.0f}": interval(draws, level) or (0.0, 0.0) for level in LEVELS}
    return Amount(float(np.median(draws)), ranges)
