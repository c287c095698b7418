"""What a prompt cache reads of a schedule's requests, told from where they differ instead of by hashes.

A clearing is never undone. So what a cache holds of a request can be read up to the first place cleared since.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence

from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.simulator.bounds.asked import NOWHERE, Asked, Present
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.cache import Split
from ctxsim.simulator.provider.vendor import CacheRule
from ctxsim.transcript import Item


class Nothing:
    """`NoCache`."""

    def begin(self, asked: Asked, changed: int) -> None:
        """Nothing is held."""

    def hold(self, asked: Asked, marks: Sequence[int]) -> None:
        """Nothing is remembered."""

    def split(self, asked: Asked, present: Present) -> tuple[Split, list[int]]:
        """Return all tokens as uncached."""
        return Split(0, 0, present.before(asked.end)), []


class Marked:
    """`BreakpointCache`, its entries by the place that they end before."""

    def __init__(self, rule: CacheRule, minimum: int, lifetime_s: float) -> None:
        self._rule = rule
        self._minimum = minimum
        self._lifetime_s = lifetime_s
        self._ends: list[int] = []
        self._expires: dict[int, float] = {}

    def begin(self, asked: Asked, changed: int) -> None:
        """A call begins whose request differs from a place on from the one before."""
        kept = 0 if asked.cold else bisect_right(self._ends, changed)
        for end in self._ends[kept:]:
            del self._expires[end]
        del self._ends[kept:]

    def hold(self, asked: Asked, marks: Sequence[int]) -> None:
        """Remember a request up to some places."""
        for end in marks:
            if end not in self._expires:
                insort(self._ends, end)
            self._expires[end] = asked.now_s + self._lifetime_s

    def split(self, asked: Asked, present: Present) -> tuple[Split, list[int]]:
        """Return the request's tokens by class, and what is remembered of it."""
        marks, longest = [], 0
        for end in asked.marks:
            tokens = present.before(end)
            if tokens >= self._minimum:
                marks.append(end)
                longest = tokens
        hit = next((found for mark in reversed(marks) if (found := self._look_back(asked, present, mark)) >= 0), -1)
        read = present.before(hit) if hit >= 0 else 0
        held = [*marks, hit] if hit >= 0 else marks
        self.hold(asked, held)
        cached = max(read, longest)
        return Split(read, cached - read, present.before(asked.end) - cached), held

    def _look_back(self, asked: Asked, present: Present, mark: int) -> int:
        farthest = present.runs[mark] - self._rule.lookback
        at = bisect_right(self._ends, mark)
        for number in range(at - 1, max(0, at - self._rule.readable) - 1, -1):
            end = self._ends[number]
            if present.runs[end] <= farthest:
                break
            if self._expires[end] >= asked.now_s:
                return end
        return -1


class Longest:
    """`PrefixCache`: the request before, up to where this one differs."""

    def __init__(self, rule: CacheRule, provider: Provider, lifetime_s: float, shared: Shared) -> None:
        self._rule = rule
        self._minimum = rule.minimum(provider.model)
        self._lifetime_s = lifetime_s
        self._shared = shared
        self._end = -1
        self._last_s = 0.0
        self._changed = NOWHERE

    def begin(self, asked: Asked, changed: int) -> None:
        """A call begins whose request differs from a place on from the one before."""
        self._changed = changed
        if asked.cold:
            self._end = -1

    def hold(self, asked: Asked, marks: Sequence[int]) -> None:
        """Remember a request."""
        self._end, self._last_s = asked.end, asked.now_s

    def split(self, asked: Asked, present: Present) -> tuple[Split, list[int]]:
        """Return the request's tokens by class."""
        total, read = present.before(asked.end), 0
        if self._end >= 0 and asked.now_s - self._last_s <= self._lifetime_s:
            if self._changed >= self._end:
                read = present.before(asked.answered)
            else:
                read = present.before(self._changed)
                if self._rule.partial_items:
                    read += self._shared.tokens(asked, self._changed)
        read -= read % self._rule.step
        read = read if read >= self._minimum else 0
        self.hold(asked, [])
        if self._rule.paid_writes and total >= self._minimum:
            return Split(read, total - read, 0), []
        return Split(read, 0, total - read), []


class Shared:
    """Tokens that a result shares with the stub that stands there from now on."""

    def __init__(self, items: Sequence[Item], counter: Counter, stub: str) -> None:
        self._items = items
        self._counter = counter
        self._stub = stub
        self._known: dict[int, int] = {}

    def tokens(self, asked: Asked, changed: int) -> int:
        """Return them for the first place that differs from the request before. Where reasoning is left out something
        of another kind stands, and shares nothing.
        """
        if changed == asked.changed:
            return 0
        if changed not in self._known:
            self._known[changed] = self._counter.shared(self._items[changed].text, self._stub)
        return self._known[changed]
