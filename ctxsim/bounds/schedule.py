"""When to clear what nobody needs any more: the best times for edits under cache prices.

Keeping a dead item costs its tokens at the price of reading them, call by call; clearing it makes the next request
write what stands after it again. What an edit costs doesn't depend on earlier edits, because whatever is dead behind
the cut is cleared with it for nothing. Source of the recurrence: docs/references.md, "Bounds".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

EXACT_STEPS = 40_000_000
"""Above this many steps (items x moments cubed / 6) every edit clears all that is dead: one state instead of two."""


class Dead(msgspec.Struct, frozen=True):
    """An item that may be cleared from call `dies` on, counted from 1; that saves `saved` tokens a call."""

    position: int
    saved: int
    dies: int


class Prices(msgspec.Struct, frozen=True):
    """What edits cost. `keep[c]`: one dead token sent with call c of 1..T; index 0 is unused.

    `break_at(c, positions, behind, dead)`: edits of the items at these positions before call c, each without the tokens
    `behind` it that are dead by then and go too; `dead` are all such tokens, wherever they stand. Before a call of
    `cheaper` that may be less than before the call ahead of it, before others only if something has died in between.
    """

    keep: Floats
    cheaper: frozenset[int]
    break_at: Callable[[int, Ints, Floats, float], Floats]


class Schedule(NamedTuple):
    """The call at which each item is cleared, by position; T + 1 is never. `cost` is what that takes beyond an editing
    that is free and immediate.
    """

    times: dict[int, int]
    cost: float


def best_times(items: Sequence[Dead], prices: Prices, steps: int = EXACT_STEPS) -> Schedule:
    """Return when each item is best cleared.

    Exact for up to so many steps, otherwise the best among schedules whose every edit clears all that is dead.
    """
    calls = len(prices.keep) - 1
    useful = sorted((item for item in items if item.saved > 0 and item.dies <= calls), key=lambda item: item.position)
    if not useful:
        return Schedule({}, 0.0)
    # When an edit can be worth its while; 0 and T + 1 are the ends.
    moments = [0, *sorted({*(item.dies for item in useful), *prices.cheaper}), calls + 1]
    exact = len(useful) * len(moments) ** 3 / 6 <= steps
    return _exact(useful, prices, moments) if exact else _all_dead(useful, prices, moments)


def _break_of(items: Sequence[Dead], prices: Prices, call: int, positions: Sequence[int]) -> Floats:
    """What edits at these positions before a call cost. The items are in order of position."""
    dead = [item for item in items if item.dies <= call]
    gone = np.concatenate((np.cumsum([item.saved for item in reversed(dead)])[::-1], [0.0])) if dead else np.zeros(1)
    behind = gone[np.searchsorted([item.position for item in dead], positions, side="right")]
    return prices.break_at(call, np.asarray(positions), behind, float(gone[0]))


def _upto(prices: Prices) -> Floats:
    """The price of one token through call c: dying at d and cleared at e costs upto[e - 1] - upto[d - 1]."""
    return np.concatenate(([0.0], np.cumsum(prices.keep[1:])))


def _exact(items: list[Dead], prices: Prices, moments: Sequence[int]) -> Schedule:
    """Least cost of the items from j on that die in (t0, t1], where everything dead is cleared at t0 and at t1.

    Item j waits for t1, or is cleared at some e between, which splits the rest at e. Times are numbers of moments.
    """
    end = len(moments) - 1
    number = {moment: at for at, moment in enumerate(moments)}
    upto = _upto(prices)[np.array(moments[1:]) - 1]
    positions = [item.position for item in items]
    broken = np.array([_break_of(items, prices, moment, positions) for moment in moments[1:-1]])
    best: Any = np.zeros((end + 1, end + 1))
    choices = []
    for column, item in reversed(list(enumerate(items))):
        first = number[item.dies]
        waiting = np.zeros(end + 1)
        waiting[first:] = item.saved * (upto[first - 1 :] - upto[first - 1])
        new = best.copy()
        choice = np.zeros((end + 1, end + 1), dtype=np.int32)
        rows = slice(0, first)
        new[rows, first:] += waiting[first:]
        choice[rows, first:] = np.arange(first, end + 1)
        for e in range(first, end):
            paid = best[rows, e : e + 1] + (broken[e - 1, column] + waiting[e]) + best[e, e + 1 :]
            part = new[rows, e + 1 :]
            better = paid < part - 1e-12
            part[better] = paid[better]
            choice[rows, e + 1 :][better] = e
        choices.append(choice)
        best = new
    times: dict[int, int] = {}
    intervals = [(0, end)]
    for item, choice in zip(items, reversed(choices), strict=True):
        at = next(k for k, (t0, t1) in enumerate(intervals) if t0 < number[item.dies] <= t1)
        t0, t1 = intervals[at]
        when = int(choice[t0, t1])
        times[item.position] = moments[when]
        if when != t1:
            intervals[at : at + 1] = [(t0, when), (when, t1)]
    return Schedule(times, float(best[0, end]))


def _all_dead(items: list[Dead], prices: Prices, moments: Sequence[int]) -> Schedule:
    """The best edit calls if each edit clears all that is dead by then.

    An edit at e looks back to the edit before it, at a: what dies in (a, e] waits for e, and the first of it is where e
    cuts. An earlier a waits for more and cuts further ahead: once it waits dearer than a later one, it always will.
    """
    end = moments[-1]
    upto = _upto(prices)
    dying: dict[int, list[int]] = {}
    for number, item in enumerate(items):
        dying.setdefault(item.dies, []).append(number)
    positions = np.array([item.position for item in items])
    gone = np.zeros(len(items) + 1)
    died = waited = 0.0
    came_from: dict[int, int] = {}
    # Of each edit that can be the one before: its call, its cost less what died before it, the place in `items` of
    # the first that dies after it, and the dead tokens behind that.
    starts, least, cuts, behind = np.zeros(1, np.int64), np.zeros(1), np.full(1, len(items)), np.zeros(1)
    paid_for = np.zeros(1)
    for e in moments[1:]:
        for number in dying.get(e, ()):
            saved = items[number].saved
            gone[number] += saved
            died += saved
            waited += saved * upto[e - 1]
            behind[cuts < number] += saved
            later = cuts > number
            if later.any():
                cuts[later], behind[later] = number, gone[number + 1 :].sum()
        waits = least + upto[e - 1] * (died - paid_for) - waited
        options = waits.copy()
        cutting = cuts < len(items)
        if e < end and cutting.any():
            options[cutting] += prices.break_at(e, positions[cuts[cutting]], behind[cutting], died)
        best = int(np.argmin(options))
        came_from[e] = int(starts[best])
        total = options[best]
        useful = np.append(waits[:-1] <= np.minimum.accumulate(waits[::-1])[::-1][1:], True)
        starts = np.append(starts[useful], e)
        least = np.append(least[useful], total + waited)
        paid_for = np.append(paid_for[useful], died)
        cuts = np.append(cuts[useful], len(items))
        behind = np.append(behind[useful], 0.0)
    edits, at = [end], end
    while at > 0:
        at = came_from[at]
        edits.append(at)
    edits.sort()
    times = {item.position: edits[int(np.searchsorted(edits, item.dies))] for item in items}
    return Schedule(times, float(total))
