"""OpenHands: its events are counted, and those in the middle become a summary."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from ctxsim.policies.agents.condense import condense
from ctxsim.policies.policy import Count, Overflow, Policy, Positive
from ctxsim.transcript import Item
from ctxsim.view import View

PREVIEW = 500
"""Characters of each event that the summariser gets."""


@dataclass
class Openhands(Policy):
    """Over `max_size` events or `max_tokens`: the first `keep_first` events, a summary, and the last ones.

    OpenHands/software-agent-sdk, openhands-sdk/openhands/sdk/context/condenser/llm_summarizing_condenser.py. The
    system prompt is an event; so are a text, a call and a result. The tail is half of `max_size` less what stands
    before it, or what brings the tokens to half of `max_tokens`; 0 means the window. Calls and their results aren't
    parted. Where that would leave out less than a tenth, too many events are let be; too many tokens, or a refused
    request, turn everything into one summary. The summariser gets 500 characters of each event.
    """

    family = "agents"
    source = "OpenHands/software-agent-sdk"
    version = "1.58.0"
    read_on = "2026-11"
    decides_by: ClassVar[str] = "tokenizer:vocabulary=cl100k_base"

    max_size: Positive = 80
    max_tokens: Count = 0
    keep_first: Positive = 4
    summary_tokens: Positive = 1_500

    def threshold(self) -> float:
        return min(self.max_tokens or self.sees.window, self.sees.window)

    def before_call(self, view: View) -> View:
        limit = self.threshold()
        events, tokens = len(view) + 1, self.sees.estimate(view)
        reasons: list[Literal["events", "tokens"]] = []
        if events > self.max_size:
            reasons.append("events")
        if tokens > limit:
            reasons.append("tokens")
        if not reasons:
            return view
        tails = [self._few(self.max_size) if why == "events" else self._light(view, tokens, limit) for why in reasons]
        return self._condensed(view, min(tails), "tokens" in reasons, f"{events} events, {tokens:,} tokens") or view

    def on_overflow(self, view: View, error: Overflow) -> View | None:
        return self._condensed(view, self._few(len(view) + 1), True, "the provider refused: window exceeded")

    def _few(self, events: int) -> int:
        return max(0, events // 2 - self.keep_first - 1)

    def _light(self, view: View, tokens: int, limit: float) -> int:
        """How many items may stay at the end, so that tokens sink to half of the limit."""
        saved, first = 0, self.keep_first - 1
        for position in range(first, len(view)):
            saved += self.sees.estimator.item(view[position])
            if saved >= tokens - limit // 2:
                return len(view) - position - 1
        return 0

    def _condensed(self, view: View, tail: int, hard: bool, reason: str) -> View | None:
        legal = _legal(view)
        start = next((n for n in legal if n >= self.keep_first - 1), len(view))
        end = next((n for n in legal if n >= len(view) - tail), len(view))
        old = view[start:end] if end > start else []
        if len(old) < 0.1 * (len(view) + 1):
            if not hard:
                return None
            old = list(view)
        at = next((item.order for item in view[end:] if len(old) < len(view)), None)
        shown = [item.with_text(item.text[:PREVIEW]) for item in old]
        return condense(self, view, old, reason, self.summary_tokens, at, shown)


def _legal(view: Sequence[Item]) -> list[int]:
    """The positions at which the view may be cut: not within a message, and not between a call and its results."""
    found = [0]
    for position in range(1, len(view)):
        item, before = view[position], view[position - 1]
        if item.kind != "tool_result" and item.message != before.message:
            found.append(position)
    return [*found, len(view)]
