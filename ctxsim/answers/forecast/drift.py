"""Drift: from when on sizes, models or the pace differ, and whether forecasts use only the later sessions."""

from collections.abc import Sequence

import msgspec
import numpy as np

from ctxsim.answers.forecast.ranges import LEAST, Array, Ints, blocks_of
from ctxsim.answers.forecast.sessions import Sessions

CHANCE = 0.01
"""Largest p-value of a change."""

SHUFFLES = 999

WEEK = 7


class Change(msgspec.Struct, frozen=True):
    """A change from session number `at`, from 0, on. `what` is `size`, or a model that begins sessions `more` or less
    often than before. `cuts`: forecasts use only the sessions since then. A change of model whose tokens cost the same
    as before doesn't cut.
    """

    at: int
    what: str
    share: float
    """The p-value: the share of random orders of the sessions with at least as large a change."""
    more: bool
    cuts: bool = True


def change_point(values: Sequence[float] | Array, blocks: Ints | None = None) -> tuple[int, float] | None:
    """Return the index from which on values are higher or lower than before, and its p-value; None if over CHANCE.
    Values of a block, given by its number, stay together, since they are alike; by default each is a block.

    The statistic is the largest difference of means on both sides of an index, over its standard error; its level comes
    from SHUFFLES of the values (a permutation test: F. Pesarin, L. Salmaso, Permutation Tests for Complex Data, 2010).
    Each side has at least LEAST values.
    """
    data = np.asarray(values, dtype=float)
    if len(data) < 2 * LEAST or not np.ptp(data):
        return None
    found = _differences(data, blocks)
    by_chance = _by_chance(found.max(axis=1))
    return (LEAST + int(found[0].argmax()), by_chance) if by_chance <= CHANCE else None


def _by_chance(statistics: Array) -> float:
    """Return the p-value: the share of orders whose statistic is at least that of the first, the values' own."""
    return float((statistics >= statistics[0] - 1e-12).mean())


def _differences(values: Array, blocks: Ints | None = None) -> Array:
    """The difference of means at every index, over its standard error (up to a constant) if all values were alike: a
    row for the values' own order, and one for each of SHUFFLES of the blocks.
    """
    many = len(values)
    units = np.arange(many if blocks is None else blocks.max() + 1)
    order = np.random.default_rng(0).permuted(np.tile(units, (SHUFFLES, 1)), axis=1)
    if blocks is not None:
        order = order.argsort(axis=1)[:, blocks].argsort(axis=1, kind="stable")
    rows = np.vstack([values, values[order]])
    before = np.arange(LEAST, many - LEAST + 1)
    sums = rows.cumsum(axis=1)
    total = sums[:, -1:]
    first = sums[:, before - 1]
    difference = (total - first) / (many - before) - first / before
    return np.asarray(np.abs(difference) / np.sqrt(1 / before + 1 / (many - before)))


def last_change(sessions: Sessions) -> Change | None:
    """Return the last change of the sessions' size or model that cuts, else one that doesn't; None if there is none, or
    if a session has no time to order it by.
    """
    if any(one is None for one in sessions.started):
        return None
    found: Change | None = None
    start = 0
    while True:
        later = sessions.part(start)
        days = blocks_of(later.started, ("",) * len(later))
        series = {"size": np.log1p(later.amounts["tokens"])}
        series |= {model: np.array(later.models) == model for model in {*later.models} - {""}}
        points = [
            Change(
                point[0], what, point[1], bool(values[point[0] :].mean() > values.mean()),
                what == "size" or _other_price(later, point[0]),
            )
            for what, values in series.items() if (point := change_point(values, days if what == "size" else None))
        ]  # fmt: skip
        # Where one model replaces another, the new one is reported.
        first = min(
            (one for one in points if one.cuts),
            key=lambda one: (one.share, one.at, not one.more, one.what), default=None,
        )  # fmt: skip
        if first is None:
            return found or max(points, key=lambda one: (one.at, -one.share, one.more, one.what), default=None)
        start += first.at
        found = msgspec.structs.replace(first, at=start)


def last_pace(counts: Ints) -> Ints:
    """Return the days, from 0, since which the number of sessions a day has not changed; the last day has a session.

    If it changed by one pause of a week or more, which is over, days before the pause count too, and the pause doesn't.
    """
    every = np.arange(len(counts))
    days, pause = _since(counts, every)
    if len(pause):
        # The change may have been found within the pause.
        busy = np.flatnonzero(counts[: pause[0]])
        pause = np.arange(busy.max(initial=-1) + 1, pause[-1] + 1)
    if len(pause) < WEEK or len(days) == len(counts):
        return days
    without, another = _since(counts, np.setdiff1d(every, pause))
    return without if len(another) < WEEK else days


def _since(counts: Ints, days: Ints) -> tuple[Ints, ...]:
    """Return those of the days that come after the last change, and the longest pause among them."""
    while point := change_point(np.log1p(counts[days])):
        days = days[point[0] :]
    # Each part but the first begins with a day that has a session.
    parts = np.split(days, np.flatnonzero(counts[days]))
    return days, max((part[counts[part] == 0] for part in parts), key=len)


def _other_price(sessions: Sessions, at: int) -> bool:
    """Whether the price per token differs between the sessions from number `at` on and those before."""
    if "usd" not in sessions.amounts:
        return False
    prices = np.log1p(1e6 * sessions.amounts["usd"] / np.maximum(1.0, sessions.amounts["tokens"]))
    return bool(np.ptp(prices)) and _by_chance(_differences(prices)[:, at - LEAST]) <= CHANCE
