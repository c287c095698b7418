"""When to clear what nobody needs any more: the best times for edits under cache prices.

Keeping a dead item costs its tokens at the price of reading them, call by call; clearing it makes the next request
write what stands after it again. What an edit costs doesn't depend on earlier edits, because whatever is dead behind
the cut is cleared with it for nothing. Source of the recurrence: docs/references.md, "Bounds".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

EXACT_STEPS = 40_000_000
"""Above this many steps (items x calls cubed / 6) every edit clears all that is dead: one state instead of two."""


class Dead(msgspec.Struct, frozen=True):
    """An item that may be cleared from call `dies` on, counted from 1; that saves `saved` tokens a call."""

    position: int
    saved: int
    dies: int


class Prices(msgspec.Struct, frozen=True):
    """What edits cost. `keep[c]`: one dead token sent with call c of 1..T; index 0 is unused.

    `break_from(c)[p]`: an edit of the item at position p before call c, if all that is dead behind it goes too.
    """

    keep: Floats
    break_from: Callable[[int], Floats]


def best_times(items: Sequence[Dead], prices: Prices, steps: int = EXACT_STEPS) -> dict[int, int]:
    """Return the call at which each item is best cleared, by position; T + 1 is never.

    Exact for up to so many steps, otherwise the best among schedules whose every edit clears all that is dead.
    """
    calls = len(prices.keep) - 1
    useful = sorted((item for item in items if item.saved > 0 and item.dies <= calls), key=lambda item: item.position)
    if not useful:
        return {}
    exact = len(useful) * calls**3 / 6 <= steps
    return _exact(useful, prices, calls) if exact else _all_dead(useful, prices, calls)


def cost(items: Sequence[Dead], prices: Prices, times: dict[int, int]) -> float:
    """Return what a schedule costs beyond an editing that is free and immediate."""
    calls = len(prices.keep) - 1
    delays = sum(
        item.saved * float(prices.keep[item.dies : times.get(item.position, calls + 1)].sum())
        for item in items
        if item.saved > 0
    )
    first: dict[int, int] = {}
    for position, at in times.items():
        if at <= calls:
            first[at] = min(position, first.get(at, position))
    return delays + sum(float(prices.break_from(at)[position]) for at, position in first.items())


def _exact(items: list[Dead], prices: Prices, calls: int) -> dict[int, int]:
    """Least cost of the items from j on that die in (t0, t1], where everything dead is cleared at t0 and at t1.

    Item j waits for t1, or is cleared at some e between, which splits the rest at e.
    """
    end = calls + 1
    best: Any = np.zeros((end + 1, end + 1))
    broken = np.array(
        [prices.break_from(e)[[item.position for item in items]] if e else np.zeros(len(items)) for e in range(end)]
    )
    choices = []
    for column, item in reversed(list(enumerate(items))):
        waiting = np.zeros(end + 1)
        waiting[item.dies :] = item.saved * np.concatenate(([0.0], np.cumsum(prices.keep[item.dies :])))
        new = best.copy()
        choice = np.zeros((end + 1, end + 1), dtype=np.int32)
        rows, first = slice(0, item.dies), item.dies
        new[rows, first:] += waiting[first:]
        choice[rows, first:] = np.arange(first, end + 1)
        for e in range(first, end):
            paid = best[rows, e : e + 1] + (broken[e, column] + waiting[e]) + best[e, e + 1 :]
            part = new[rows, e + 1 :]
            better = paid < part - 1e-12
            part[better] = paid[better]
            choice[rows, e + 1 :][better] = e
        choices.append(choice)
        best = new
    times: dict[int, int] = {}
    intervals = [(0, end)]
    for item, choice in zip(items, reversed(choices), strict=True):
        at = next(k for k, (t0, t1) in enumerate(intervals) if t0 < item.dies <= t1)
        t0, t1 = intervals[at]
        when = int(choice[t0, t1])
        times[item.position] = when
        if when != t1:
            intervals[at : at + 1] = [(t0, when), (when, t1)]
    return times


def _all_dead(items: list[Dead], prices: Prices, calls: int) -> dict[int, int]:
    """The best edit calls if each edit clears all that is dead by then."""
    end = calls + 1
    kept = np.concatenate(([0.0], np.cumsum(prices.keep[1:]), [0.0]))
    saved = np.zeros(end + 1)
    nothing = max(item.position for item in items) + 1
    lowest = np.full(end + 1, nothing, dtype=np.int64)
    for item in items:
        saved[item.dies] += item.saved
        lowest[item.dies] = min(lowest[item.dies], item.position)
    total = np.zeros(end + 1)
    came_from = np.zeros(end + 1, dtype=np.int64)
    # kept[c] is the price of one token through call c; dying at d and cleared at e costs kept[e - 1] - kept[d - 1].
    before = np.concatenate(([0.0], kept[:-1]))
    for e in range(1, end + 1):
        # From an edit at a, what dies in (a, e] is cleared at e: sums over d from e downward.
        waits = np.cumsum((saved[1 : e + 1] * (before[e] - before[1 : e + 1]))[::-1])[::-1]
        cuts = np.minimum.accumulate(lowest[1 : e + 1][::-1])[::-1]
        broken = np.append(prices.break_from(e)[:nothing], 0.0)[cuts] if e < end else 0.0
        options = total[:e] + waits + broken
        came_from[e] = int(np.argmin(options))
        total[e] = options[came_from[e]]
    edits, at = [end], end
    while at > 0:
        at = int(came_from[at])
        edits.append(at)
    edits.sort()
    return {item.position: edits[int(np.searchsorted(edits, item.dies))] for item in items}
