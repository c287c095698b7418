"""Forecasts held against what came: made at each session from those before it."""

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from ctxsim.answers.forecast.forecast import LEVELS, forecast
from ctxsim.answers.forecast.ranges import LEAST
from ctxsim.answers.forecast.sessions import Next, Sessions

HORIZONS = (5, 10, 20)

PLAIN = 2_000
"""Draws of the bootstrap that forecasts are held against."""


class Tried(msgspec.Struct, frozen=True):
    """One forecast of one amount: made after `seen` sessions, of the next `ahead`, at a level in per cent; `far`: as
    Forecast's basis.

    `score` is the interval score (T. Gneiting, A. Raftery, Journal of the American Statistical Association 102, 2007),
    as a share of the mean over all sessions of as many; the smaller the better. `plain` is that of a bootstrap of the
    sessions before, and `plain_held` whether that one held.
    """

    seen: int
    ahead: int
    amount: str
    level: int
    low: float
    high: float
    came: float
    held: bool
    score: float
    plain_held: bool
    plain: float
    far: bool = False


def backtest(sessions: Sessions, horizons: Sequence[int] = HORIZONS, most: int | None = None) -> Iterator[Tried]:
    """Yield every forecast of dollars, without prices of tokens, that could have been made; of each horizon at most
    so many, spread over the sessions.
    """
    amount = "usd" if "usd" in sessions.amounts else "tokens"
    values = sessions.amounts[amount]
    usual = values.mean()
    for ahead in horizons:
        places = range(LEAST, len(sessions) - ahead + 1)
        for seen in places[:: max(1, -(-len(places) // (most or len(sessions))))]:
            found = forecast(sessions.part(0, seen), "", Next(ahead))
            if found.basis == "priors":
                continue
            came = float(values[seen : seen + ahead].sum())
            simple = np.random.default_rng(0).choice(values[:seen], (PLAIN, ahead)).sum(axis=1)
            for level in LEVELS:
                percent = round(100 * level)
                low, high = found.amounts[amount].ranges[str(percent)]
                first, last = map(float, np.quantile(simple, [(1 - level) / 2, (1 + level) / 2]))
                ours, plain = (score(*ends, came, level) / (usual * ahead) for ends in ((low, high), (first, last)))
                held, plain_held = low <= came <= high, first <= came <= last
                far = found.basis == "far"
                yield Tried(seen, ahead, amount, percent, low, high, came, held, ours, plain_held, plain, far)


def score(low: float, high: float, came: float, level: float) -> float:
    """Return the interval score: the width, and what came outside, times 2 / (1 - level)."""
    return float(high - low + 2 / (1 - level) * (max(0.0, low - came) + max(0.0, came - high)))
