"""OpenHands: over a number of events, a summary replaces those in the middle."""

from collections.abc import Sequence

from ctxsim.policies.agents.shared.history import condense
from ctxsim.policies.policy import SHIPPED, Count, Overflow, Policy, Positive
from ctxsim.transcript import Item
from ctxsim.view import View

PREVIEW = 500
"""Characters of each item that the summariser gets."""


class Condensing(Policy, abstract=True):
    """What the agent and its SDK share: the first events, a summary, and the last events.

    The system prompt is an event; so are a call with its text, and a result. The last events are half of `max_size`
    less those before them, or as many as bring the tokens to half of their limit. Calls and their results stay
    together. If that removes less than `minimum_progress` of the events, nothing happens for too many events; for too
    many tokens or a refused request, one summary replaces everything. The summariser gets 500 characters of each item.
    """

    source = "OpenHands/software-agent-sdk"

    max_size: int
    keep_first: int
    summary_tokens: int
    minimum_progress: float = 0.1

    @property
    def _system(self) -> int:
        """The number of events of the head: 1 if there is one, else 0."""
        head = self.sees.head
        return int(bool(head.system or head.tools or head.hidden))

    def before_call(self, view: View) -> View:
        limit = self.threshold()
        found, tokens = events(view), self.sees.estimate(view)
        count = len(found) + self._system
        few = [self._few(self.max_size)] if count > self.max_size else []
        light = [self._light(found, tokens - limit // 2)] if limit is not None and tokens > limit else []
        if not few + light:
            return view
        reason = f"{count} events, {tokens:,} tokens"
        return self._condensed(view, found, min(few + light), bool(light), reason) or view

    def on_overflow(self, view: View, error: Overflow) -> View | None:
        found, reason = events(view), "the provider refused: window exceeded"
        return self._condensed(view, found, self._few(len(found) + self._system), True, reason)

    def _few(self, count: int) -> int:
        return count // 2 - self.keep_first - 1

    def _light(self, found: Sequence[Sequence[Item]], tokens: float) -> int:
        """The number of events that may stay at the end if `tokens` tokens are to be removed."""
        saved = 0
        for position in range(max(0, self.keep_first - self._system), len(found)):
            saved += self.sees.size_of(found[position])
            if saved >= tokens:
                return len(found) - position - 1
        return 0

    def _condensed(
        self, view: View, found: Sequence[Sequence[Item]], tail: int, hard: bool, reason: str
    ) -> View | None:
        legal = [n for n in range(len(found) + 1) if _legal(found, n)]
        start = next((n for n in legal if n >= self.keep_first - self._system), len(found))
        end = next((n for n in legal if n >= len(found) - tail), 0)
        if end - start < self.minimum_progress * (len(found) + self._system):
            if not hard:
                return None
            start, end = 0, len(found)
        old = [item for event in found[start:end] for item in event]
        shown = [item.with_text(item.text[:PREVIEW]) for item in old]
        return condense(self, view, old, reason, self.summary_tokens, shown=shown)


class Openhands(Condensing):
    """Over `max_size` events or `max_tokens`: the first `keep_first` events, a summary, and the last ones.

    OpenHands/software-agent-sdk, openhands-sdk/openhands/sdk/context/condenser/llm_summarizing_condenser.py. 0 tokens
    mean the window. It must remove at least a tenth of the events.
    """

    decides_by = "tokenizer:vocabulary=cl100k_base"

    max_size: Positive = SHIPPED
    max_tokens: Count = 0
    keep_first: Positive = SHIPPED
    summary_tokens: Positive = 1_500

    def threshold(self) -> float:
        return min(self.max_tokens or self.sees.window, self.sees.window)


def events(items: Sequence[Item]) -> list[list[Item]]:
    """Return the items as events: each call, the first of a response with its text, and each result."""
    found: list[list[Item]] = []
    for item in items:
        thought = found and item.kind == "tool_call" and found[-1][-1].kind in ("assistant", "reasoning")
        if found and found[-1][-1].message == item.message and (thought or item.kind == "assistant"):
            found[-1].append(item)
        else:
            found.append([item])
    return found


def _legal(found: Sequence[Sequence[Item]], position: int) -> bool:
    """Whether events may be cut at a position: not within a response, and not between calls and their results."""
    if not 0 < position < len(found):
        return True
    item, before = found[position][0], found[position - 1][-1]
    return item.kind != "tool_result" and item.message != before.message
