"""When to clear items that no later call needs: the best times for edits under cache prices.

Keeping a dead item costs its tokens at the price of reading them, call by call; clearing it makes the next request
write all that follows it again. What an edit costs doesn't depend on earlier edits, because it clears whatever is dead.
An edit makes the provider write again only what keep-all's request could have read from the cache behind it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


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


def best_times(items: Sequence[Dead], prices: KeepOrBreak) -> Schedule:
    """Return when each item is best cleared if each edit clears all items that are dead by then. The items are in order
    of position, and die before the end.

    If a is the edit before e, the items that die in (a, e] wait for e, and e cuts at the first of them. An earlier a
    has more waiting and cuts further ahead: once its waiting costs no less than a later one's, it is never better.
    """
    end, nothing = len(prices.keep), len(items)
    # By call, the price of one token up to it: to die at d and be cleared at e costs upto[e - 1] - upto[d - 1].
    upto = [0.0, *np.cumsum(prices.keep[1:]).tolist()]
    dying: dict[int, list[int]] = {}
    for number, item in enumerate(items):
        dying.setdefault(item.dies, []).append(number)
    gone = np.zeros(nothing + 1)
    died = waited = total = 0.0
    newest = 0
    came_from: dict[int, int] = {}
    earlier = [_Before(0, 0.0, 0.0, nothing)]
    # The calls at which an edit can pay, and the end.
    for e in [*sorted({*dying, *prices.cheaper}), end]:
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
            if waits <= total and a.cut < nothing and e < end:
                waits += prices.break_at(e, items[a.cut].position, a.behind, died)
            # Of schedules that cost the same, the one with fewer edits.
            if waits <= total:
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
