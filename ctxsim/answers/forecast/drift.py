"""Drift: from when on a habit, a model or a pace is another one, and whether only later sessions say what comes."""

from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from ctxsim.answers.forecast.ranges import LEAST, Array
from ctxsim.answers.forecast.sessions import Sessions

CHANCE = 0.01
"""How seldom sessions without any order may seem to change so much."""

SHUFFLES = 999


class Change(msgspec.Struct, frozen=True):
    """From session number `at` on, from 0, `what` is another one: size, or how often the model that is named begins a
    session, `more` or less than before. `cuts`: whether only the sessions since then say what comes. A model whose
    tokens cost what those before did doesn't cut.
    """

    at: int
    what: str
    share: float
    """How seldom sessions in a random order change so much."""
    more: bool
    cuts: bool = True


def change_point(values: Sequence[float] | Array) -> tuple[int, float] | None:
    """Return from where on values are higher or lower than before, and how seldom that is by chance; None if it may be.

    The statistic is the largest difference of means on both sides of a place, over its standard error; its level comes
    from SHUFFLES of the values (a permutation test: F. Pesarin, L. Salmaso, Permutation Tests for Complex Data, 2010).
    There are LEAST values or more on either side.
    """
    data = np.asarray(values, dtype=float)
    if len(data) < 2 * LEAST or not np.ptp(data):
        return None
    found = _differences(data)
    by_chance = _by_chance(found.max(axis=1))
    return (LEAST + int(found[0].argmax()), by_chance) if by_chance <= CHANCE else None


def _by_chance(statistics: Array) -> float:
    """Return how many of the orders, the values' own first, show as much as that."""
    return float((statistics >= statistics[0] - 1e-12).mean())


def _differences(values: Array) -> Array:
    """The difference of means at every place, over its standard error if all were alike: a row for the values' own
    order, and one for each of SHUFFLES.
    """
    rng = np.random.default_rng(0)
    rows = np.stack([values, *(rng.permutation(values) for _ in range(SHUFFLES))])
    many = rows.shape[1]
    before = np.arange(LEAST, many - LEAST + 1)
    sums = rows.cumsum(axis=1)
    total = sums[:, -1:]
    first = sums[:, before - 1]
    difference = (total - first) / (many - before) - first / before
    return np.asarray(np.abs(difference) / np.sqrt(1 / before + 1 / (many - before)))


def last_change(sessions: Sessions) -> Change | None:
    """Return the last change of the sessions' size or model that cuts, otherwise one that doesn't; None where there is
    none, or no time to order them by.
    """
    if any(one is None for one in sessions.started):
        return None
    found: Change | None = None
    start = 0
    while True:
        later = sessions.part(start)
        series = {"size": np.log1p(later.amounts["tokens"])}
        series |= {model: np.array(later.models) == model for model in {*later.models} - {""}}
        points = [
            Change(
                point[0], what, point[1], bool(values[point[0] :].mean() > values.mean()),
                what == "size" or _other_price(later, point[0]),
            )
            for what, values in series.items() if (point := change_point(values))
        ]  # fmt: skip
        # Where one model takes another's place, the new one is told.
        first = min(points, key=lambda one: (not one.cuts, one.share, one.at, not one.more, one.what), default=None)
        if first is None or not first.cuts:
            return found or first
        start += first.at
        found = msgspec.structs.replace(first, at=start)


def last_pace(counts: Sequence[int] | npt.NDArray[np.int64]) -> int:
    """Return since which day, from 0, about as many sessions a day come as now."""
    values = np.log1p(counts)
    start = 0
    while point := change_point(values[start:]):
        start += point[0]
    return start


def _other_price(sessions: Sessions, at: int) -> bool:
    """Whether a token costs more or less in the sessions from number `at` on than in those before."""
    if "usd" not in sessions.amounts:
        return False
    prices = np.log1p(1e6 * sessions.amounts["usd"] / np.maximum(1.0, sessions.amounts["tokens"]))
    return bool(np.ptp(prices)) and _by_chance(_differences(prices)[:, at - LEAST]) <= CHANCE
