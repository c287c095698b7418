"""When to clear items that no later call needs: the best times for edits under cache prices.

Keeping a dead item costs its tokens at the price of reading them, call by call; clearing it makes the next request
write all that follows it again. What an edit costs doesn't depend on earlier edits, because whatever is dead behind
the cut is cleared with it for nothing.

Let C(e, j) be the cost of an edit at call e that cuts at item j, and delay_j(t) the cost of keeping the dead item j
until call t. At t0 and at t1 everything dead is cleared. The items from j on that die after t0 but not after t1 cost at
least

    F_j(t0, t1) = min( F_{j+1}(t0, t1) + delay_j(t1),
                       min over e of C(e, j) + delay_j(e) + F_{j+1}(t0, e) + F_{j+1}(e, t1) )

over the calls e at which something dies or the cache is cold. An edit makes the provider write again only what
keep-all's request could have read from the cache behind it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

EXACT_STEPS = 40_000_000
"""Above this many steps (items x moments cubed / 6) every edit clears all dead items: one state instead of two."""


class Dead(msgspec.Struct, frozen=True):
    """An item that may be cleared from call `dies` on, counted from 1; that saves `saved` tokens a call."""

    position: int
    saved: int
    dies: int


class KeepOrBreak(msgspec.Struct, frozen=True):
    """USD of keeping dead items and of breaking the cache. Lists by call go from 1 to T; their index 0 is unused.

    `keep[c]`: one dead token sent with call c. An edit of the item at p before call c makes the call write, at
    `break_usd[c]` a token, what it could have read behind the item: `readable[c]` - `ends[p]` tokens. If `runs[p]` is
    less than `reach[c]`, no cache entry is within reach: all `readable[c]` tokens are written. Before a call in
    `cheaper`, an edit can cost less than one call earlier; before others, only if an item has died in between.
    """

    keep: Floats
    cheaper: frozenset[int]
    break_usd: Sequence[float]
    readable: Sequence[float]
    reach: Sequence[float]
    ends: Sequence[float]
    runs: Sequence[int]

    def break_at(self, call: int, position: int, behind: float, dead: float) -> float:
        """Return the USD of an edit of one item before a call. `behind` are the tokens behind the item that are dead
        by then and leave with it, `dead` all tokens that are dead by then.
        """
        stays = dead if self.runs[position] < self.reach[call] else self.ends[position] + behind
        return max(0.0, self.readable[call] - stays) * self.break_usd[call]


class Schedule(NamedTuple):
    """`times` is the call at which each item is cleared, by position; T + 1 is never. `cost` is in USD, beyond that of
    edits that are free and immediate.
    """

    times: dict[int, int]
    cost: float


def best_times(items: Sequence[Dead], prices: KeepOrBreak, steps: int = EXACT_STEPS) -> Schedule:
    """Return when each item is best cleared.

    Exact by `prices` for up to `steps` steps, else the best of the schedules in which every edit clears all dead items.
    """
    calls = len(prices.keep) - 1
    useful = sorted((item for item in items if item.saved > 0 and item.dies <= calls), key=lambda item: item.position)
    if not useful:
        return Schedule({}, 0.0)
    # The calls at which an edit can pay; 0 and T + 1 are the ends.
    moments = [0, *sorted({*(item.dies for item in useful), *prices.cheaper}), calls + 1]
    exact = len(useful) * len(moments) ** 3 / 6 <= steps
    return _exact(useful, prices, moments) if exact else _all_dead(useful, prices, moments)


def _breaks(items: Sequence[Dead], prices: KeepOrBreak, calls: Sequence[int]) -> Floats:
    """USD of an edit before each call (rows) of each item (columns). The items are in order of position."""
    found = np.zeros((len(calls), len(items)))
    for row, call in enumerate(calls):
        upto = list(accumulate(float(item.saved) if item.dies <= call else 0.0 for item in items))
        for column, item in enumerate(items):
            found[row, column] = prices.break_at(call, item.position, upto[-1] - upto[column], upto[-1])
    return found


def _upto(prices: KeepOrBreak) -> Floats:
    """By call, the price of one token up to it: to die at d and be cleared at e costs upto[e - 1] - upto[d - 1]."""
    return np.concatenate(([0.0], np.cumsum(prices.keep[1:])))


def _exact(items: list[Dead], prices: KeepOrBreak, moments: Sequence[int]) -> Schedule:
    """Least cost of the items from j on that die in (t0, t1], where everything dead is cleared at t0 and at t1.

    Item j waits for t1, or is cleared at some e between, which splits the rest at e. Times are indexes of `moments`.
    """
    end = len(moments) - 1
    number = {moment: at for at, moment in enumerate(moments)}
    deaths = [number[item.dies] for item in items]
    upto = _upto(prices)[np.array(moments[1:]) - 1]
    broken = _breaks(items, prices, moments[1:-1])
    best: Any = np.zeros((end + 1, end + 1))
    cutting, behind = [], []
    for column in range(len(items) - 1, -1, -1):
        first = deaths[column]
        waiting = items[column].saved * (upto[first - 1 :] - upto[first - 1])
        # The cost of editing the item at each moment from its death on, and of keeping it until then.
        cut = broken[first - 1 :, column] + waiting[:-1]
        new = best.copy()
        new[:first, first:] += waiting
        ahead = best[:first, first:end] + cut
        for e in range(first, end):
            part = new[:first, e + 1 :]
            np.minimum(part, ahead[:, e - first, None] + best[e, e + 1 :], out=part)
        cutting.append((waiting, cut))
        behind.append(best)
        best = new
    times: dict[int, int] = {}
    intervals = [(0, end)]
    for item, first, (waiting, cut), rest in zip(items, deaths, reversed(cutting), reversed(behind), strict=True):
        at = next(k for k, (t0, t1) in enumerate(intervals) if t0 < first <= t1)
        t0, t1 = intervals[at]
        when, least = t1, float(rest[t0, t1] + waiting[t1 - first])
        split = rest[t0, first:t1] + cut[: t1 - first] + rest[first:t1, t1]
        for e, paid in enumerate(split.tolist(), first):
            if paid < least - 1e-12:
                when, least = e, paid
        times[item.position] = moments[when]
        if when != t1:
            intervals[at : at + 1] = [(t0, when), (when, t1)]
    return Schedule(times, float(best[0, end]))


@dataclass(slots=True)
class _Before:
    """A candidate for the edit before the present one."""

    call: int
    cost: float
    """Of the edits and waits up to it, plus `waited` at that time, which is subtracted later."""
    died: float
    cut: int
    """The number, by position, of the first of the items that die after it."""
    behind: float = 0.0
    """Dead tokens behind the item `cut`."""


def _all_dead(items: list[Dead], prices: KeepOrBreak, moments: Sequence[int]) -> Schedule:
    """The best edit calls if each edit clears all items that are dead by then.

    If a is the edit before e, the items that die in (a, e] wait for e, and e cuts at the first of them. An earlier a
    has more waiting and cuts further ahead: once its waiting costs no less than a later one's, it is never better.
    """
    end, nothing = moments[-1], len(items)
    upto = _upto(prices).tolist()
    dying: dict[int, list[int]] = {}
    for number, item in enumerate(items):
        dying.setdefault(item.dies, []).append(number)
    gone = np.zeros(nothing + 1)
    died = waited = total = 0.0
    newest = 0
    came_from: dict[int, int] = {}
    earlier = [_Before(0, 0.0, 0.0, nothing)]
    for e in moments[1:]:
        price = upto[e - 1]
        for number in dying.get(e, ()):
            saved = items[number].saved
            gone[number] = saved
            died += saved
            waited += saved * price
            # Items mostly die in order of position; then none is dead behind.
            behind = float(gone[number + 1 :].sum()) if number < newest else 0.0
            newest = max(newest, number)
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
            if waits < total and a.cut < nothing and e < end:
                waits += prices.break_at(e, items[a.cut].position, a.behind, died)
            if waits < total:
                total, came_from[e] = waits, a.call
        earlier = [*reversed(useful), _Before(e, total + waited, died, nothing)]
    edits, at = [end], end
    while at > 0:
        at = came_from[at]
        edits.append(at)
    edits.sort()
    at_edit = np.searchsorted(edits, [item.dies for item in items]).tolist()
    times = {item.position: edits[number] for item, number in zip(items, at_edit, strict=True)}
    return Schedule(times, total)
