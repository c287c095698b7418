"""What a schedule of clearings really costs: its requests walked through the provider, without policies and tables."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping

import msgspec

from ctxsim.provider import Bill, MockLLM, Provider
from ctxsim.provider.cache import Split
from ctxsim.provider.rendering import HEAD_POSITIONS, Rendering
from ctxsim.provider.vendor import load_vendor
from ctxsim.tokenizers.counter import Counter
from ctxsim.transcript import Call, Transcript
from ctxsim.view import View


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


class Walk:
    """A transcript before a provider. Costs are those that replay finds; a test holds them equal."""

    def __init__(self, transcript: Transcript, provider: Provider, counter: Counter, stub: str) -> None:
        self._transcript = transcript
        self._provider = provider
        self._counter = counter
        self._stub = stub
        self._outputs = [self._output_tokens(call) for call in transcript.calls]
        self._step = load_vendor(provider.cache).cache.step

    def steps(self, clear_at: Mapping[int, int]) -> Iterator[Step]:
        """Yield each request where each place of `clear_at` is sent a stub from that call on, counted from 1."""
        due: dict[int, dict[int, str]] = {}
        for place, number in clear_at.items():
            due.setdefault(number, {})[place] = self._stub
        llm = MockLLM(self._provider, self._counter, self._transcript.head)
        view = View(lambda item: 0)
        joined = changed_from = 0
        for number, call in enumerate(self._transcript.calls, 1):
            for item in self._transcript.items[joined : call.start]:
                if item.kind == "reasoning" and self._provider.reasoning == "never":
                    continue
                if item.kind == "user" and self._provider.reasoning == "current_turn":
                    view, changed_from = _without_reasoning(view, changed_from)
                view = view.grow(item)
            joined = call.start
            if number in due:
                view = view.rewrite(due[number], "")
                changed_from = min([changed_from, *(edit.position for edit in view.edits)])
                view = view.settled()
            bill = self._request(llm, view, number, call, changed_from)
            changed_from = len(view)
            # Rounded as in a row, so that sums agree.
            usd = round(bill.cost.total, 10) if bill.cost else 0.0
            yield Step(usd, bill.split, self._outputs[number - 1], self._unread(llm.rendering, bill.split.read))

    def _request(self, llm: MockLLM, view: View, number: int, call: Call, changed_from: int) -> Bill:
        llm.begin(self._scheduled_s(number, call), call.head or self._transcript.head, call.cold)
        tokens = llm.ask(view, changed_from)
        # Only a rate limit moves the clock, which a cache's lifetime goes by; what is refused is billed all the same.
        if self._provider.rate_limit is not None:
            llm.judge(view, tokens, changed_from)
        return llm.bill(self._outputs[number - 1], 0)

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


def _without_reasoning(view: View, changed_from: int) -> tuple[View, int]:
    """The vendor leaves out the reasoning of finished turns."""
    old = [item.place for item in view if item.kind == "reasoning"]
    if not old:
        return view, changed_from
    view = view.drop(old, "")
    return view.settled(), min(changed_from, view.edits[0].position)
