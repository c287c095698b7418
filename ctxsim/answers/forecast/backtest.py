"""Backtests: forecasts made at each session from those before it, compared with the sessions that followed."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from ctxsim.answers.forecast.drift import last_change
from ctxsim.answers.forecast.forecast import LEVELS, forecast
from ctxsim.answers.forecast.ranges import LEAST
from ctxsim.answers.forecast.sessions import Next, Sessions

HORIZONS = (5, 10, 20)

PLAIN = 2_000
"""Draws of the plain bootstrap that forecasts are compared with."""


class Tried(msgspec.Struct, frozen=True):
    """One forecast of one amount after `seen` sessions, for the next `ahead`, at a level in per cent. `came` is the
    amount that followed; `far`: the forecast's basis was `far`.

    `score` is the interval score (T. Gneiting, A. Raftery, Journal of the American Statistical Association 102, 2007),
    divided by the mean amount of `ahead` sessions; smaller is better. `plain` is the score of a bootstrap of the
    sessions before, `plain_held` whether its interval held.
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
    """Yield every possible forecast of dollars, or of tokens if prices are unknown or 0; for each horizon at most
    `most`, spread over the sessions. Forecasts from priors are left out.
    """
    amount = "usd" if np.any(sessions.amounts.get("usd", 0.0)) else "tokens"
    values = sessions.amounts[amount]
    usual = values.mean()
    places: dict[int, list[int]] = defaultdict(list)
    for ahead in horizons:
        every = range(LEAST, len(sessions) - ahead + 1)
        for seen in every[:: max(1, -(-len(every) // (most or len(sessions))))]:
            places[seen].append(ahead)
    for seen in sorted(places):
        before = sessions.part(0, seen)
        change = last_change(before)
        for ahead in places[seen]:
            found = forecast(before, "", Next(ahead), change)
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
    """Return the interval score: the width, plus 2 / (1 - level) times the distance of `came` from the interval."""
    return float(high - low + 2 / (1 - level) * (max(0.0, low - came) + max(0.0, came - high)))
