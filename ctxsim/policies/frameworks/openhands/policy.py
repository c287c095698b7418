"""OpenHands' condenser: over a number of events, a summary in the place of those in the middle."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from ctxsim.policies.agents.shared.condense import results_cut
from ctxsim.policies.frameworks.chat import in_place_of, messages
from ctxsim.policies.policy import SHIPPED, Count, Overflow, Policy, Positive, Share
from ctxsim.transcript import Item
from ctxsim.view import View

PREVIEW = 500
"""Characters of a result that the summarizer sees."""

Unit = list[Item]
"""What no cut may part: a response with its results, or one message."""


def events(unit: Unit) -> int:
    """Return how many events a unit is: each call one, the text of its response with the first; each result one."""
    calls = sum(item.kind == "tool_call" for item in unit)
    results = sum(item.kind == "tool_result" for item in unit)
    return max(calls, results < len(unit)) + results


@dataclass
class OpenhandsCondenser(Policy):
    """Over `max_size` events, put a summary in the place of all but the first `keep_first` and the newest half.

    OpenHands/software-agent-sdk, openhands/sdk/context/condenser, LLMSummarizingCondenser with the numbers of
    default_condenser; the system prompt is an event too. Cuts move forward to where calls and results are whole, so
    that nothing may be left behind the summary. Less than `minimum_progress` of the events: nothing happens. With
    `max_tokens` (0: none) it acts over so many too, down to half. A refusal summarizes half of the events, or, where
    that can't be, everything. The summarizer sees 500 characters of each result.
    """

    source = "OpenHands/software-agent-sdk"
    version = "openhands-sdk 1.58.0"
    read_on = "2026-11-22"
    agent = "openhands-sdk"
    retries = 5

    max_size: Positive = SHIPPED
    keep_first: Count = SHIPPED
    max_tokens: Count = 0
    minimum_progress: Share = SHIPPED
    summary_tokens: Positive = 1_000

    def threshold(self) -> float | None:
        return self.max_tokens or None

    def before_call(self, view: View) -> View:
        units = view.exchanges()
        ends = self._ends(units)
        tails = []
        if ends[-1] > self.max_size:
            tails.append(self.max_size // 2 - self.keep_first - 1)
        if self.max_tokens and self.sees.estimate(view) > self.max_tokens:
            tails.append(ends[-1] - self._enough(view, units, ends))
        if not tails:
            return view
        return self._condensed(view, units, min(tails), f"over {self.max_size} events") or view

    def on_overflow(self, view: View, error: Overflow) -> View | None:
        units = view.exchanges()
        half = self._ends(units)[-1] // 2 - self.keep_first - 1
        reason = "the provider refused: window exceeded"
        return self._condensed(view, units, half, reason) or self._summarized(view, units, reason)

    def _ends(self, units: Sequence[Unit]) -> list[int]:
        """Events up to each place where a cut is legal: before the first unit, and after each."""
        return list(accumulate(map(events, units), initial=int(bool(self.sees.head.system))))

    def _enough(self, view: View, units: Sequence[Unit], ends: Sequence[int]) -> int:
        """Events from the first on that must go for the rest to be at half of `max_tokens`."""
        wanted = self.sees.estimate(view) - self.max_tokens // 2
        saved = 0
        for unit, before, end in zip(units, ends[:-1], ends[1:], strict=True):
            if before >= self.keep_first:
                saved += sum(map(self.sees.estimator.item, unit))
            if saved >= wanted:
                return end
        return ends[-1]

    def _condensed(self, view: View, units: Sequence[Unit], tail: int, reason: str) -> View | None:
        """The view with its middle summarized; None if too little of it may leave."""
        ends = self._ends(units)
        first = next((n for n, end in enumerate(ends) if end >= max(self.keep_first, ends[0])), None)
        last = next((n for n, end in enumerate(ends) if end >= ends[-1] - tail), None)
        if first is None or last is None or last <= first:
            return None
        if ends[last] - ends[first] < self.minimum_progress * ends[-1]:
            return None
        return self._summarized(view, units[first:last], reason)

    def _summarized(self, view: View, units: Sequence[Unit], reason: str) -> View | None:
        old = [item for unit in units for item in unit]
        if not old:
            return None
        text = self.sees.summarize(results_cut(old, PREVIEW), self.summary_tokens)
        return None if text is None else in_place_of(view, messages(old), text, reason)
