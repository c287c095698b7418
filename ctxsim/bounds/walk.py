"""What a schedule of clearings really costs: its requests walked through the provider, without policies and tables."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

import msgspec

from ctxsim.provider import MockLLM, Provider
from ctxsim.provider.cache import Split
from ctxsim.provider.prices import Cost
from ctxsim.provider.rendering import HEAD_POSITIONS, Rendering
from ctxsim.provider.vendor import load_vendor
from ctxsim.tokenizers.counter import Counter
from ctxsim.transcript import Call, Item, Transcript

FEW_ITEMS = 50_000
"""Up to so many items in all requests together, each call of the walk without clearings is a place to go on from."""


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


class _Reached(NamedTuple):
    """Where a walk stands before a call: the provider, the last request, what has joined, and what differs from it."""

    llm: MockLLM
    items: list[Item]
    joined: int
    changed_from: int

    def forked(self) -> _Reached:
        return _Reached(self.llm.forked(), self.items[:], self.joined, self.changed_from)


class Walk:
    """A transcript before a provider. Costs are those that replay finds; a test holds them equal."""

    def __init__(self, transcript: Transcript, provider: Provider, counter: Counter) -> None:
        self._transcript = transcript
        self._provider = provider
        self._counter = counter
        self._outputs = [self._output_tokens(call) for call in transcript.calls]
        self._step = load_vendor(provider.cache).cache.step
        self._stubs: dict[tuple[int, str], Item] = {}
        many = len(transcript.calls) * len(transcript.items) > FEW_ITEMS
        self._reached: list[_Reached] | None = None if many or provider.rate_limit is not None else []

    @cached_property
    def kept(self) -> list[Step]:
        """The requests of no clearing at all."""
        return list(self._from(self._start(), 1, {}, "", self._reached))

    def steps(self, clear_at: Mapping[int, int], stub: str) -> Iterator[Step]:
        """Yield each request where each place of `clear_at` is sent a stub from that call on, counted from 1."""
        due: dict[int, list[int]] = {}
        for place, number in clear_at.items():
            due.setdefault(number, []).append(place)
        first = min(due, default=len(self.kept) + 1)
        if first > len(self.kept):
            yield from self.kept
        elif self._reached:
            # Up to its first clearing a schedule sends what no clearing at all sends.
            yield from self.kept[: first - 1]
            yield from self._from(self._reached[first - 1].forked(), first, due, stub)
        else:
            yield from self._from(self._start(), 1, due, stub)

    def _start(self) -> _Reached:
        return _Reached(MockLLM(self._provider, self._counter, self._transcript.head), [], 0, 0)

    def _from(
        self, reached: _Reached, first: int, due: Mapping[int, list[int]], stub: str, save: list[_Reached] | None = None
    ) -> Iterator[Step]:
        """Yield the requests from a call on; `save` gets where the walk stands before each."""
        llm, items, joined, changed_from = reached
        for number, call in enumerate(self._transcript.calls[first - 1 :], first):
            if save is not None:
                save.append(_Reached(llm, items, joined, changed_from).forked())
            for item in self._transcript.items[joined : call.start]:
                if item.kind == "reasoning" and self._provider.reasoning == "never":
                    continue
                if item.kind == "user" and self._provider.reasoning == "current_turn":
                    changed_from = min(changed_from, _leave_out_reasoning(items))
                items.append(item)
            joined = call.start
            for place in due.get(number, ()):
                at = bisect_left(items, place, key=lambda item: item.place)
                if items[at].text != stub:
                    items[at] = self._cleared(items[at], stub)
                    changed_from = min(changed_from, at)
            split, cost = self._request(llm, items, number, call, changed_from)
            changed_from = len(items)
            # Rounded as in a row, so that sums agree.
            usd = round(cost.total, 10) if cost else 0.0
            yield Step(usd, split, self._outputs[number - 1], self._unread(llm.rendering, split.read))

    def _cleared(self, item: Item, stub: str) -> Item:
        known = (item.place, stub)
        if known not in self._stubs:
            self._stubs[known] = item.with_text(stub)
        return self._stubs[known]

    def _request(
        self, llm: MockLLM, items: list[Item], number: int, call: Call, changed_from: int
    ) -> tuple[Split, Cost | None]:
        llm.begin(self._scheduled_s(number, call), call.head or self._transcript.head, call.cold)
        tokens = llm.ask(items, changed_from)
        # Only a rate limit moves the clock, which a cache's lifetime goes by; what is refused is billed all the same.
        if self._provider.rate_limit is not None:
            llm.judge(items, tokens, changed_from)
        return llm.charge(self._outputs[number - 1])

    def _unread(self, rendering: Rendering, read: int) -> int:
        # What is read is rounded down to steps.
        whole = bisect_right(rendering.tokens, read + self._step - 1) - HEAD_POSITIONS if read else 0
        left = rendering.items[max(0, whole) :][:1]
        return left[0].place if left else len(self._transcript.items)

    def _output_tokens(self, call: Call) -> int:
        if call.usage is not None and call.usage.output_tokens is not None:
            return call.usage.output_tokens
        return sum(map(self._counter.item, self._transcript.items[call.start : call.end]))

    def _scheduled_s(self, number: int, call: Call) -> float:
        first = self._transcript.calls[0].time_s
        if call.time_s is not None and first is not None:
            return max(0.0, call.time_s - first)
        return (number - 1) * self._provider.pace_s


def _leave_out_reasoning(items: list[Item]) -> int:
    """The vendor leaves out the reasoning of finished turns; return from where on that makes a difference."""
    first = next((at for at, item in enumerate(items) if item.kind == "reasoning"), len(items))
    items[first:] = [item for item in items[first:] if item.kind != "reasoning"]
    return first
