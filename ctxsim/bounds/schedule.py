"""When to clear what nobody needs any more: the best times for edits under cache prices.

Keeping a dead item costs its tokens at the price of reading them, call by call; clearing it makes the next request
write what stands after it again. What an edit costs doesn't depend on earlier edits, because whatever is dead behind
the cut is cleared with it for nothing. Source of the recurrence: docs/references.md, "Bounds".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

EXACT_STEPS = 40_000_000
"""Above this many steps (items x moments cubed / 6) every edit clears all that is dead: one state instead of two."""


class Dead(msgspec.Struct, frozen=True):
    """An item that may be cleared from call `dies` on, counted from 1; that saves `saved` tokens a call."""

    position: int
    saved: int
    dies: int


class KeepOrBreak(msgspec.Struct, frozen=True):
    """What keeping and breaking cost. `keep[c]`: one dead token sent with call c of 1..T; index 0 is unused.

    `break_at(c, position, behind, dead)`: an edit of the item at a position before call c, without the tokens `behind`
    it that are dead by then and go too; `dead` are all such tokens, wherever they stand. Before a call of `cheaper` it
    may cost less than before the call ahead of it, before others only if something has died in between.
    """

    keep: Floats
    cheaper: frozenset[int]
    break_at: Callable[[int, int, float, float], float]


class Schedule(NamedTuple):
    """The call at which each item is cleared, by position; T + 1 is never. `cost` is what that takes beyond an editing
    that is free and immediate.
    """

    times: dict[int, int]
    cost: float


def best_times(items: Sequence[Dead], prices: KeepOrBreak, steps: int = EXACT_STEPS) -> Schedule:
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


def _breaks(items: Sequence[Dead], prices: KeepOrBreak, call: int) -> list[float]:
    """What an edit of each item before a call costs. The items are in order of position."""
    dead = sum(item.saved for item in items if item.dies <= call)
    behind, found = dead, []
    for item in items:
        behind -= item.saved if item.dies <= call else 0
        found.append(prices.break_at(call, item.position, behind, dead))
    return found


def _upto(prices: KeepOrBreak) -> Floats:
    """The price of one token through call c: dying at d and cleared at e costs upto[e - 1] - upto[d - 1]."""
    return np.concatenate(([0.0], np.cumsum(prices.keep[1:])))


def _exact(items: list[Dead], prices: KeepOrBreak, moments: Sequence[int]) -> Schedule:
    """Least cost of the items from j on that die in (t0, t1], where everything dead is cleared at t0 and at t1.

    Item j waits for t1, or is cleared at some e between, which splits the rest at e. Times are numbers of moments.
    """
    end = len(moments) - 1
    number = {moment: at for at, moment in enumerate(moments)}
    upto = _upto(prices)[np.array(moments[1:]) - 1]
    broken = np.array([_breaks(items, prices, moment) for moment in moments[1:-1]])
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


class _Before:
    """An edit that can be the one before: its call, what led to it, and what dies after it."""

    __slots__ = ("behind", "call", "cost", "cut", "died")

    def __init__(self, call: int, cost: float, died: float, cut: int) -> None:
        self.call = call
        self.cost = cost
        """Of all edits up to it, and what has waited by then for any."""
        self.died = died
        self.cut = cut
        """The number of the first item that dies after it."""
        self.behind = 0.0
        """Dead tokens behind that."""


def _all_dead(items: list[Dead], prices: KeepOrBreak, moments: Sequence[int]) -> Schedule:
    """The best edit calls if each edit clears all that is dead by then.

    An edit at e looks back to the edit before it, at a: what dies in (a, e] waits for e, and the first of it is where e
    cuts. An earlier a waits for more and cuts further ahead: once it waits no cheaper than a later one, it never will.
    """
    end, nothing = moments[-1], len(items)
    upto = _upto(prices).tolist()
    dying: dict[int, list[int]] = {}
    for number, item in enumerate(items):
        dying.setdefault(item.dies, []).append(number)
    gone = np.zeros(nothing + 1)
    died = waited = total = 0.0
    came_from: dict[int, int] = {}
    earlier = [_Before(0, 0.0, 0.0, nothing)]
    for e in moments[1:]:
        price = upto[e - 1]
        for number in dying.get(e, ()):
            saved = items[number].saved
            gone[number] += saved
            died += saved
            waited += saved * price
            behind = float(gone[number + 1 :].sum())
            for a in earlier:
                if a.cut < number:
                    a.behind += saved
                else:
                    a.cut, a.behind = number, behind
        total, cheapest, useful = math.inf, math.inf, []
        for a in reversed(earlier):
            waits = a.cost + price * (died - a.died) - waited
            if waits < cheapest:
                cheapest = waits
                useful.append(a)
            if a.cut < nothing and e < end:
                waits += prices.break_at(e, items[a.cut].position, a.behind, died)
            if waits < total:
                total, came_from[e] = waits, a.call
        earlier = [*reversed(useful), _Before(e, total + waited, died, nothing)]
    edits, at = [end], end
    while at > 0:
        at = came_from[at]
        edits.append(at)
    edits.sort()
    times = {item.position: edits[int(np.searchsorted(edits, item.dies))] for item in items}
    return Schedule(times, total)
