"""What a schedule of clearings really costs: its requests before the provider, without policies and tables."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from functools import cached_property

from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.simulator.bounds.requests import Requests, Step
from ctxsim.simulator.provider import MockLLM, Provider
from ctxsim.simulator.provider.course import course
from ctxsim.simulator.provider.rendering import HEAD_POSITIONS, Rendered, Rendering
from ctxsim.simulator.provider.vendor import load_vendor
from ctxsim.transcript import Item, Transcript


class Walk:
    """A transcript before a provider. Costs are those that replay finds; a test holds them equal."""

    def __init__(
        self, transcript: Transcript, provider: Provider, counter: Counter, rendered: Rendered | None = None
    ) -> None:
        """`rendered`: what is known of the transcript's items as this provider renders them."""
        self._rendered = rendered
        self._transcript = transcript
        self._provider = provider
        self._counter = counter

    @cached_property
    def _requests(self) -> Requests | None:
        """The short way: where no wait moves the clock, and the head is the transcript's."""
        heads = {call.head or self._transcript.head for call in self._transcript.calls}
        if self._provider.rate_limit is not None or heads != {self._transcript.head}:
            return None
        return Requests(self._transcript, self._provider, self._counter, self._rendered)

    @cached_property
    def kept(self) -> list[Step]:
        """The requests of no clearing at all."""
        return list(self._requests.kept() if self._requests else self.asked({}, ""))

    def usd(self, clear_at: Mapping[int, int], stub: str) -> Iterator[float]:
        """Yield what each request costs where each place of `clear_at` is sent a stub from that call, from 1, on."""
        due: dict[int, list[int]] = {}
        for place, number in clear_at.items():
            due.setdefault(number, []).append(place)
        # Up to its first clearing a schedule sends what no clearing at all sends.
        first = min([*due, len(self.kept) + 1])
        if self._requests:
            yield from (step.usd for step in self.kept[: first - 1])
            yield from self._requests.usd(first, due, stub)
        else:
            yield from (step.usd for step in self.asked(due, stub))

    def asked(self, due: Mapping[int, list[int]], stub: str) -> Iterator[Step]:
        """Yield the same requests as the provider itself renders and bills them. `due`: by call, what is cleared."""
        items: list[Item] = []
        llm = MockLLM(self._provider, self._counter, self._transcript.head)
        for leg in course(self._transcript, self._provider, self._counter):
            changed_from = len(llm.rendering.items)
            for at, item in enumerate(leg.joining):
                if at == leg.turn:
                    changed_from = min(changed_from, _leave_out_reasoning(items))
                items.append(item)
            for place in due.get(leg.number, ()):
                at = bisect_left(items, place, key=lambda item: item.place)
                if items[at].text != stub:
                    items[at] = items[at].with_text(stub)
                    changed_from = min(changed_from, at)
            llm.begin(leg.scheduled_s, leg.head, leg.call.cold)
            tokens = llm.ask(items, changed_from)
            # A rate limit moves the clock, which a cache's lifetime goes by; what is refused is billed all the same.
            if self._provider.rate_limit is not None:
                llm.judge(items, tokens, changed_from)
            split, cost = llm.charge(leg.tokens_output)
            # Rounded as in a row, so that sums agree.
            usd = round(cost.total, 10) if cost else 0.0
            yield Step(usd, split, leg.tokens_output, self._unread(llm.rendering, split.read))
            items += leg.answered

    def _unread(self, rendering: Rendering, read: int) -> int:
        # What is read is rounded down to steps.
        step = load_vendor(self._provider.cache).cache.step
        whole = bisect_right(rendering.tokens, read + step - 1) - HEAD_POSITIONS if read else 0
        left = rendering.items[max(0, whole) :][:1]
        return left[0].place if left else len(self._transcript.items)


def _leave_out_reasoning(items: list[Item]) -> int:
    """The vendor leaves out the reasoning of finished turns; return from where on that makes a difference."""
    first = next((at for at, item in enumerate(items) if item.kind == "reasoning"), len(items))
    items[first:] = [item for item in items[first:] if item.kind != "reasoning"]
    return first
