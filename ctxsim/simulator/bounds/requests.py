"""Requests of schedules as numbers, without rendering any of them.

All schedules of a transcript send the same items: a request has the tokens of the one that nothing was cleared in, less
what has gone. Tests hold dollars and tokens equal to those of the mock provider.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.simulator.bounds.asked import Asked, Present, asked_of
from ctxsim.simulator.bounds.reads import Longest, Marked, Nothing, Shared
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.cache import Split
from ctxsim.simulator.provider.prices import cost_of
from ctxsim.simulator.provider.rendering import Rendered
from ctxsim.simulator.provider.vendor import load_vendor
from ctxsim.transcript import Transcript


class Step(msgspec.Struct, frozen=True):
    """One request: its dollars, its tokens by class, the output's, and the first place that it couldn't read whole."""

    usd: float
    split: Split
    output: int
    unread: int

    @property
    def total(self) -> int:
        """Input tokens of all classes."""
        return self.split.read + self.split.write + self.split.uncached


class Requests:
    """The requests of one transcript to a provider without a rate limit; all with one head."""

    def __init__(
        self, transcript: Transcript, provider: Provider, counter: Counter, rendered: Rendered | None = None
    ) -> None:
        self._items = transcript.items
        self._provider = provider
        self._counter = counter
        self._rule = load_vendor(provider.cache).cache
        self._asked = asked_of(transcript, provider, counter, rendered)
        self._held: list[list[int]] = []
        """What the cache remembers of each request where nothing is cleared."""
        self._shared: dict[str, Shared] = {}
        self._saved: dict[tuple[int, str], int] = {}

    def kept(self) -> Iterator[Step]:
        """Yield each request where nothing is cleared. To be called once, before any schedule is asked for."""
        present, cache = Present(), self._open("")
        for asked in self._asked:
            present.begin(asked)
            cache.begin(asked, asked.changed)
            split, held = cache.split(asked, present)
            self._held.append(held)
            # What is read is rounded down to steps.
            whole = bisect_right(present.tokens, split.read + self._rule.step - 1) if split.read else 0
            unread = max(asked.first, whole - 1) if asked.first < asked.end >= whole else len(self._items)
            yield Step(self._usd(asked, split), split, asked.output, unread)

    def usd(self, first: int, due: Mapping[int, Sequence[int]], stub: str) -> Iterator[float]:
        """Yield what each request costs from the call `first` on, the first in which something is cleared.

        `due`: by call, counted from 1, the places that are sent a stub from it on.
        """
        present, cache = Present(), self._open(stub)
        for asked, held in zip(self._asked[: first - 1], self._held, strict=False):
            present.begin(asked)
            cache.begin(asked, asked.changed)
            cache.hold(asked, held)
        for number, asked in enumerate(self._asked[first - 1 :], first):
            present.begin(asked)
            changed = asked.changed
            for place in due.get(number, ()):
                if self._items[place].text != stub:
                    present.clear(place, self._saved_by(place, stub))
                    changed = min(changed, place)
            cache.begin(asked, changed)
            yield self._usd(asked, cache.split(asked, present)[0])

    def _open(self, stub: str) -> Nothing | Marked | Longest:
        rule, provider = self._rule, self._provider
        lifetime_s = rule.lifetime(provider.model, provider.long_cache)
        match rule.kind:
            case "none":
                return Nothing()
            case "prefix":
                if stub not in self._shared:
                    self._shared[stub] = Shared(self._items, self._counter, stub)
                return Longest(rule, provider, lifetime_s, self._shared[stub])
            case "breakpoints":
                return Marked(rule, rule.minimum(provider.model), lifetime_s)

    def _usd(self, asked: Asked, split: Split) -> float:
        if asked.prices is None:
            return 0.0
        # Rounded as in a row, so that sums agree.
        return round(cost_of(asked.prices, split, asked.output, self._provider.long_cache).total, 10)

    def _saved_by(self, place: int, stub: str) -> int:
        key = (place, stub)
        if key not in self._saved:
            item = self._items[place]
            self._saved[key] = self._counter.item(item) - self._counter.text(stub) - sum(m.tokens for m in item.media)
        return self._saved[key]
