"""A search for cheaper schedules of clearings. Each is priced by its requests through the kernel.

It moves clearings of the best start until no move helps, then tries all that could be cheaper (branch and bound).
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, combinations

from ctxsim.simulator.bounds.schedule import Dead
from ctxsim.simulator.ledger import Ledger
from ctxsim.simulator.provider.prices import Prices, Split, cost_of
from ctxsim.simulator.provider.vendor import load_vendor

Times = dict[int, int]
"""By place, the call, from 1, from which on a stub is sent instead of the item; other places stay."""

CHEAPER = 1e-9
"""The least difference in USD that counts: bills are rounded to a tenth of it."""


class Search:
    """The cheapest schedule so far, `best`, and its cost, `usd`. It starts without any clearing.

    `limit` is the number of requests that may be walked in addition to those of offered schedules.
    """

    def __init__(self, ledger: Ledger, dead: Sequence[Dead], stub: str, limit: int) -> None:
        self._ledger, self._dead, self._stub, self._left = ledger, dead, stub, limit
        self._calls = len(ledger.kept)
        self._paid_keeping = [0.0, *accumulate(step.usd for step in ledger.kept)]
        self.best: Times = {}
        self.usd = self._paid_keeping[-1]

    @cached_property
    def _rest(self) -> list[float]:
        """By call, the least USD of it and all later ones; only a search needs it."""
        least = [0.0, *_least(self._dead, self._ledger), 0.0]
        return list(accumulate(reversed(least)))[::-1]

    def offer(self, times: Mapping[int, int]) -> None:
        """Walk a schedule to its end and take it if it is cheaper."""
        clearing = {place: call for place, call in times.items() if call <= self._calls}
        self._take(clearing, [0.0, *accumulate(self._ledger.usd_if_cleared(clearing, self._stub))])

    def run(self) -> None:
        """Look for a cheaper schedule, within the limit."""
        if self._left > 0:
            self._improve()
            self._exhaust()

    def _improve(self) -> None:
        """Move clearings of the best schedule while that makes it cheaper."""
        helped = True
        while helped and self._left > 0:
            helped = False
            for times in self._moves(self.best):
                if self._left <= 0:
                    return
                if self._take(times, self._priced(times)):
                    helped = True
                    break

    def _exhaust(self) -> None:
        """Try every schedule that can be cheaper: if the limit allows it, `best` is then the best of all.

        It starts without any clearing, and each step adds an edit after the earlier ones.
        """
        stack: list[tuple[Times, int, list[float]]] = [({}, 0, self._paid_keeping)]
        while stack:
            times, last, paid = stack.pop()
            for call in range(last + 1, len(paid)):
                if paid[call - 1] + self._rest[call] > self.usd - CHEAPER:
                    break
                waiting = [item.position for item in self._dead if item.dies <= call and item.position not in times]
                for chosen in _subsets(waiting):
                    if self._left <= 0:
                        return
                    longer = times | dict.fromkeys(chosen, call)
                    walked = self._priced(longer)
                    self._take(longer, walked)
                    if len(walked) > call and call < self._calls:
                        stack.append((longer, call, walked))

    def _take(self, times: Times, paid: Sequence[float]) -> bool:
        better = len(paid) > self._calls and paid[-1] < self.usd - CHEAPER
        if better:
            self.best, self.usd = times, paid[-1]
        return better

    def _priced(self, times: Times) -> list[float]:
        """The running sum of USD by call, from 0, up to the call at which the schedule can't be cheaper any more."""
        paid = [0.0]
        for number, usd in enumerate(self._ledger.usd_if_cleared(times, self._stub), 1):
            self._left -= 1
            paid.append(paid[-1] + usd)
            if paid[-1] + self._rest[number + 1] > self.usd - CHEAPER:
                break
        return paid

    def _moves(self, times: Times) -> Iterator[Times]:
        """Yield an edit's clearings at another call or never; then single ones at death, in another edit or never."""
        edits = sorted(set(times.values()))
        moments = sorted({*edits, *(item.dies for item in self._dead)})
        dies = {item.position: item.dies for item in self._dead}
        for edit in edits:
            group = [place for place, call in times.items() if call == edit]
            yield {place: call for place, call in times.items() if call != edit}
            for call in moments:
                if call != edit:
                    yield times | {place: max(call, dies[place]) for place in group}
        for place, death in dies.items():
            now = times.get(place)
            if now is not None:
                yield {other: call for other, call in times.items() if other != place}
            for call in sorted({death, *edits}):
                if call >= death and call != now:
                    yield times | {place: call}


def _subsets(places: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All subsets but the empty one, the largest first: to clear a dead item behind a cut mostly costs nothing."""
    for size in range(len(places), 0, -1):
        yield from combinations(places, size)


def _least(dead: Sequence[Dead], ledger: Ledger) -> list[float]:
    """The least USD of each call, output included: every dead item is gone, and all is read that is read uncleared.

    An edit never makes more of the other items readable: a cache entry needs an unchanged prefix.
    """
    rule = load_vendor(ledger.provider.cache).cache
    found = []
    for number, step in enumerate(ledger.kept, 1):
        split, provider = step.split, ledger.provider.of(ledger.transcript.calls[number - 1].model)
        prices, minimum = provider.prices or Prices(0.0, 0.0), rule.minimum(provider.model)
        gone = sum(item.saved for item in dead if item.dies <= number)
        total = split.total - gone
        ahead = sum(item.saved for item in dead if item.dies <= number and item.position < step.unread)
        # Reads are rounded down to steps and may end inside an item: up to a step, or that item, could be read too.
        read = max(0, min(total, split.read + rule.step - 1 - ahead)) if split.read else 0
        if provider.rate_limit is not None:
            # Smaller requests wait less, so entries that have expired for keep-all may be alive for them.
            read = total
        uncached = min(total - read, split.uncached)
        costs = [
            cost_of(prices, Split(read, total - read - rest, rest), step.output, provider.long_cache).total
            for rest in (uncached, total - read)
        ]
        written = split.write > 0 and total - split.uncached >= minimum
        found.append(costs[0] if written else min(costs))
    return found
