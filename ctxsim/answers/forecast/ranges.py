"""Draws of the next sessions from those seen: what forecasts, intervals and the advice are read off.

A draw first gives every block of sessions an unknown share of the future, the Bayesian bootstrap (D. Rubin, Annals of
Statistics 9, 1981), and then draws as many blocks as come. So it holds both what isn't known of the past and how the
next sessions differ. Sessions of one day and project come together; recent ones weigh more. What sessions to come do
that none did yet stands in `spread`. `python -m evidence.forecast` measures how often intervals hold.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

DRAWS = 1_000

HALF = 60
"""Sessions after which one counts half as much."""

FEW_BLOCKS = 5
"""With fewer days and projects than this, sessions are drawn one by one."""

DRIFT, SCARCE = 0.3, 1.0
"""Standard deviation by which shares differ from those seen, in logarithms: however many sessions showed it, and times
the root of one by their number. Measured over projects and dates.
"""

LEAST = 8
"""Sessions from which there is an interval; of fewer there is a range by priors over projects."""

LEVEL = 0.90
"""The level of intervals, unless another is asked for."""

DAY = 86_400


def blocks_of(started: Sequence[float | None], projects: Sequence[str]) -> npt.NDArray[np.int64]:
    """Return the number of the block that each session belongs to: its day (UTC) and project, or, where a session has
    no time or there are fewer than FEW_BLOCKS, each its own.
    """
    alone = np.arange(len(started))
    if any(one is None for one in started):
        return alone
    keys = [(int(one // DAY), project) for one, project in zip(started, projects, strict=True) if one is not None]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return np.array([numbers[key] for key in keys]) if len(numbers) >= FEW_BLOCKS else alone


def recency(started: Sequence[float | None]) -> Array:
    """Return how much each session counts, the newest 1, half as much HALF sessions earlier; all 1 without times."""
    if any(one is None for one in started):
        return np.ones(len(started))
    later = np.empty(len(started))
    later[np.argsort(np.asarray(started, dtype=float), kind="stable")] = np.arange(len(started))[::-1]
    found: Array = 0.5 ** (later / HALF)
    return found


def next_sessions(
    blocks: npt.NDArray[np.int64],
    weights: Array,
    ahead: int | npt.NDArray[np.int64],
    rng: np.random.Generator,
    draws: int = DRAWS,
) -> Array:
    """Return draws of the next `ahead` sessions, a row each: how often each session seen comes among them.

    Every row adds up to `ahead`, which may differ from draw to draw. Blocks come whole, so the numbers are no integers
    where these are of several sizes.
    """
    sizes = np.bincount(blocks)
    shape = np.bincount(blocks, weights) / sizes
    # As many observations as weights that differ are worth (Kish).
    shape *= shape.sum() / (shape**2).sum()
    shares = rng.gamma(shape, size=(draws, len(sizes)))
    shares /= shares.sum(axis=1, keepdims=True)
    come = np.broadcast_to(np.asarray(ahead), (draws,))
    many = np.maximum(1, np.rint(come * len(sizes) / len(blocks))).astype(np.int64)
    drawn = rng.multinomial(many, shares).astype(float)[:, blocks]
    found: Array = drawn * (come / drawn.sum(axis=1))[:, None]
    return found


def worth(parts: Array) -> float:
    """Return how many sessions with equal parts tell as much as these parts, an entry per session (Kish); of no part at
    all how many sessions there are.
    """
    return float(parts.sum() ** 2 / (parts**2).sum()) if parts.any() else float(len(parts))


def spread(sessions: float) -> float:
    """Return the standard deviation, in logarithms, by which a share of the next sessions may be off all that so many
    sessions have shown.
    """
    return float(np.sqrt(DRIFT**2 + SCARCE**2 / sessions))


def unseen(parts: Array, noise: Array) -> Array:
    """Return by what factor, in each draw, the next sessions' part of an effect is off that of those seen, given each
    one's part and what is drawn in standard deviations.
    """
    return np.asarray(np.exp(noise * spread(worth(parts))))


def varied(drawn: Array, own: Array, whole: Array, noise: Array) -> Array:
    """Return what share of a whole is to pay in each draw, given both by session: what some sessions save and what
    others pay more are off what was seen by factors of their own, by a row of `noise` each. No number where nothing was
    drawn to divide by.
    """
    less, more = np.maximum(whole - own, 0.0), np.maximum(own - whole, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        saved, added = (drawn @ np.stack([less, more], axis=1) / (drawn @ whole)[:, None]).T
    return np.asarray(stretched(1 - saved, unseen(less, noise[0])) + added * unseen(more, noise[1]))


def by_odds(drawn: Array, own: Array, whole: Array, noise: Array) -> Array:
    """Return what share of a whole is kept in each draw, given both by session: what is lost is off what was seen, by
    odds, so that it stays between nothing and all.
    """
    less = np.maximum(whole - own, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        lost = drawn @ less / (drawn @ whole)
    return np.asarray((1 - lost) / (1 - lost + lost * unseen(less, noise)))


def stretched(left: Array, times: Array) -> Array:
    """Return the share that is left to pay where a saving is `times` times as large; nothing saves more than all."""
    # A saving grows in logarithms.
    grows = (left < 1) & (times > 1)
    return np.where(grows, np.where(grows, left, 1.0) ** times, 1 - (1 - left) * times)


def smoothed(values: Array, drawn: Array, rng: np.random.Generator) -> Array:
    """Return the total of each draw, given each session's amount: no session comes again exactly.

    Amounts are smoothed in logarithms by the usual width, their standard deviation times n ** -1/5 (D. Scott,
    Multivariate Density Estimation, 1992).
    """
    known = values[values > 0]
    width = float(np.log(known).std()) * len(values) ** -0.2 if len(known) > 1 else 0.0
    # Of several that come the noise averages out.
    noise = rng.normal(0.0, 1.0, drawn.shape) * width / np.sqrt(np.maximum(drawn, 1.0))
    found: Array = (drawn * values * np.exp(noise)).sum(axis=1)
    return found


def interval(values: Array, level: float = LEVEL) -> tuple[float, float] | None:
    """Return between which values the middle `level` of draws lie; None where no draw has a value."""
    known = values[np.isfinite(values)]
    if not len(known):
        return None
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
