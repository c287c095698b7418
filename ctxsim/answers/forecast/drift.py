"""Drift: from which session on a habit or a model is another one, so that only later sessions say what comes."""

from collections.abc import Sequence

import msgspec
import numpy as np

from ctxsim.answers.forecast.ranges import LEAST, Array
from ctxsim.answers.forecast.sessions import Sessions

CHANCE = 0.01
"""How seldom sessions without any order may seem to change so much."""

SHUFFLES = 999


class Change(msgspec.Struct, frozen=True):
    """From session number `at` on, from 0, `what` is another one: size, or how often the model that is named begins a
    session, `more` or less than before.
    """

    at: int
    what: str
    share: float
    """How seldom sessions in a random order change so much."""
    more: bool


def change_point(values: Sequence[float] | Array) -> tuple[int, float] | None:
    """Return from where on values are higher or lower than before, and how seldom that is by chance; None if it may be.

    The statistic is the largest difference of means on both sides of a place, over its standard error; its level comes
    from SHUFFLES of the values (a permutation test: F. Pesarin, L. Salmaso, Permutation Tests for Complex Data, 2010).
    There are LEAST values or more on either side.
    """
    data = np.asarray(values, dtype=float)
    if len(data) < 2 * LEAST or not np.ptp(data):
        return None
    rng = np.random.default_rng(0)
    shuffled = np.stack([data, *(rng.permutation(data) for _ in range(SHUFFLES))])
    found = _differences(shuffled)
    largest = np.abs(found).max(axis=1)
    by_chance = float((largest >= largest[0] - 1e-12).mean())
    return (LEAST + int(np.abs(found[0]).argmax()), by_chance) if by_chance <= CHANCE else None


def _differences(rows: Array) -> Array:
    """Each row's difference of means at every place, over its standard error if all were alike."""
    many = rows.shape[1]
    before = np.arange(LEAST, many - LEAST + 1)
    sums = rows.cumsum(axis=1)
    total = sums[:, -1:]
    first = sums[:, before - 1]
    difference = (total - first) / (many - before) - first / before
    return np.asarray(difference / np.sqrt(1 / before + 1 / (many - before)))


def last_change(sessions: Sessions) -> Change | None:
    """Return the last change of the sessions' size or model; None where there is none, or no time to order them by."""
    if any(one is None for one in sessions.started):
        return None
    found: Change | None = None
    start = 0
    while True:
        later = sessions.part(start)
        series = {"size": np.log1p(later.amounts["tokens"])}
        series |= {model: np.array(later.models) == model for model in {*later.models} - {""}}
        points = [
            Change(point[0], what, point[1], bool(values[point[0] :].mean() > values.mean()))
            for what, values in series.items() if (point := change_point(values))
        ]  # fmt: skip
        if not points:
            return found
        # Where one model takes another's place, the new one is told.
        first = min(points, key=lambda one: (one.share, one.at, not one.more, one.what))
        start += first.at
        found = msgspec.structs.replace(first, at=start)
