"""Draws of the next sessions from those seen, on which forecasts, intervals and the advice are based.

A draw first gives every block of sessions a random share of the future, the Bayesian bootstrap (D. Rubin, Annals of
Statistics 9, 1981), and then draws as many blocks as come. It thus holds both the uncertainty about the past and the
variation of the next sessions. Sessions of one day and project form a block; recent ones weigh more. `spread` adds
deviations from all sessions seen. `python -m evidence.forecast` measures how often intervals hold.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ctxsim.recorded.resampled import worth

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

DRAWS = 1_000

HALF = 60
"""Half-life of a session's weight, in sessions."""

FEW_BLOCKS = 5
"""With fewer blocks of day and project, sessions are drawn one by one."""

DRIFT, SCARCE = 0.3, 1.0
"""Standard deviations of the next sessions' shares around those seen, in logarithms: one for any number of sessions,
one to divide by the root of their number. Measured over projects and dates.
"""

FIRST = 0.1
"""How much of a session's amount a policy saves or adds, or of what it kept it loses, where it has not done so before.
Measured in the same way.
"""

LEAST = 8
"""Least sessions for an interval; with fewer there is a range by priors over projects."""

LEVEL = 0.90
"""The default level of intervals."""

DAY = 86_400


def blocks_of(started: Sequence[float | None], projects: Sequence[str]) -> Ints:
    """Return the number of each session's block: its day (UTC) and project. Each session is a block of its own if one
    has no time, or if there are fewer than FEW_BLOCKS.
    """
    alone = np.arange(len(started))
    if any(one is None for one in started):
        return alone
    keys = [(int(one // DAY), project) for one, project in zip(started, projects, strict=True) if one is not None]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return np.array([numbers[key] for key in keys]) if len(numbers) >= FEW_BLOCKS else alone


def recency(started: Sequence[float | None]) -> Array:
    """Return the weight of each session: 1 for the newest, half as much HALF sessions earlier; all 1 without times."""
    if any(one is None for one in started):
        return np.ones(len(started))
    later = np.empty(len(started))
    later[np.argsort(np.asarray(started, dtype=float), kind="stable")] = np.arange(len(started))[::-1]
    return np.asarray(0.5 ** (later / HALF))


def next_sessions(
    blocks: Ints, weights: Array, ahead: int | Ints, rng: np.random.Generator, draws: int = DRAWS
) -> Array:
    """Return draws of the next `ahead` sessions, a row each: how often each session seen is in them.

    Every row adds up to `ahead`, which may be an array with a number for each draw. Blocks are drawn whole, so the
    numbers are no integers if blocks differ in size.
    """
    sizes = np.bincount(blocks)
    shape = np.bincount(blocks, weights) / sizes
    # The effective number of observations of unequal weights (Kish).
    shape *= shape.sum() / (shape**2).sum()
    shares = rng.gamma(shape, size=(draws, len(sizes)))
    shares /= shares.sum(axis=1, keepdims=True)
    come = np.broadcast_to(np.asarray(ahead), (draws,))
    many = np.maximum(1, np.rint(come * len(sizes) / len(blocks))).astype(np.int64)
    drawn = rng.multinomial(many, shares).astype(float)[:, blocks]
    return np.asarray(drawn * (come / drawn.sum(axis=1))[:, None])


def spread(sessions: float) -> float:
    """Return the standard deviation, in logarithms, of a share of the next sessions around that of `sessions` seen."""
    return float(np.sqrt(DRIFT**2 + SCARCE**2 / sessions))


def unseen(parts: Array, noise: Array) -> Array:
    """Return the factor, in each draw, between an effect in the next sessions and in those seen, given each session's
    part of the effect and the draws' `noise` in standard deviations.
    """
    return np.asarray(np.exp(noise * spread(worth(parts))))


def anew(sessions: int, noise: Array) -> Array:
    """Return, for each draw, the share of the next sessions that do what none of those seen did, from a row of noise.

    As if half a session had done it (Jeffreys' prior).
    """
    half = noise**2 / 2
    return np.asarray(half / (sessions + half))


def varied(drawn: Array, own: Array, whole: Array, noise: Array) -> Array:
    """Return the share of `whole` that `own` is in each draw, both given by session. NaN if a draw's whole is 0.

    The savings of some sessions and the extra costs of others are each multiplied by a random factor, from the first
    two rows of `noise`. By the other two, some of the next sessions save or add FIRST, even if none has so far.
    """
    less, more = np.maximum(whole - own, 0.0), np.maximum(own - whole, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        saved, added = (drawn @ np.stack([less, more], axis=1) / (drawn @ whole)[:, None]).T
    left = stretched(1 - saved, unseen(less, noise[0])) + added * unseen(more, noise[1])
    saves, adds = (FIRST * anew(len(whole), one) for one in noise[2:])
    return np.asarray(left * (1 - saves) + adds)


def by_odds(drawn: Array, own: Array, whole: Array, noise: Array, first: float = FIRST) -> Array:
    """Return the share of `whole` that `own` keeps in each draw, both given by session. The odds of a loss are
    multiplied by a random factor, so that the share stays between 0 and 1. Where `noise` is positive, some of the next
    sessions lose `first` of what they kept, even if none has so far.
    """
    less = np.maximum(whole - own, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        lost = drawn @ less / (drawn @ whole)
    kept = (1 - lost) / (1 - lost + lost * unseen(less, noise))
    return np.asarray(kept * (1 - first * anew(len(whole), np.maximum(noise, 0.0))))


def stretched(left: Array, times: Array) -> Array:
    """Return the share that is left to pay if a saving is `times` as large; it doesn't fall below 0."""
    # A larger saving is scaled in logarithms, so that it stays below 1.
    grows = (left < 1) & (times > 1)
    return np.where(grows, np.where(grows, left, 1.0) ** times, 1 - (1 - left) * times)


def smoothed(values: Array, drawn: Array, rng: np.random.Generator) -> Array:
    """Return the total of each draw, given each session's amount. No session repeats exactly, so amounts are smoothed.

    Amounts are smoothed in logarithms by the usual width, their standard deviation times n ** -1/5 (D. Scott,
    Multivariate Density Estimation, 1992).
    """
    known = values[values > 0]
    width = float(np.log(known).std()) * len(values) ** -0.2 if len(known) > 1 else 0.0
    # The noise of a session that is drawn several times averages out.
    noise = rng.normal(0.0, 1.0, drawn.shape) * width / np.sqrt(np.maximum(drawn, 1.0))
    return np.asarray((drawn * values * np.exp(noise)).sum(axis=1))


def interval(values: Array, level: float = LEVEL) -> tuple[float, float] | None:
    """Return the ends of the central `level` of the draws; None if no draw is finite."""
    known = values[np.isfinite(values)]
    if not len(known):
        return None
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
