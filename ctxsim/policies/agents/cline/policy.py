"""Cline: a summary and the newest 20,000 tokens, or the history condensed without a model."""

import json
from collections.abc import Iterable, Sequence
from typing import Literal

from ctxsim.policies.agents.shared.history import condense, last_asked, newly_asked, results_cut
from ctxsim.policies.agents.shared.tools import ends_of, is_shell
from ctxsim.policies.policy import SHIPPED, Count, Overflow, Policy, Positive, Share
from ctxsim.transcript import RESPONSE_KINDS, Item
from ctxsim.view import View

ASSISTANT_FIELDS, RESULT_FIELDS, USER_FIELDS = 283, 207, 120
"""Characters of a message's own fields (id, time, metrics): means of a session in Cline's format. A result is in an
object of its own, of 87 characters as observed."""

MARK = "\n...[truncated {left} chars]...\n"

MOST_UNDERESTIMATED = 4
"""Greatest factor by which the last request's usage may exceed the count; a greater one is reduced to it."""

LEFT_OF_RESULTS = 16
"""Characters of each result that the summariser gets, as seen where cline doesn't know the model's window."""


class Cline(Policy):
    """From `threshold_ratio` of the input on, by its own count: a summary, then the newest messages.

    cline/cline, sdk/packages/core/src/extensions/context: compaction.ts, agentic-compaction.ts, basic-compaction.ts.
    The input is the model's `max_input_tokens`, at most the window; 0 is the window. It counts ceil(characters of the
    messages' JSON / 3). Results count as they are sent until the first compaction, and uncut afterwards. If the last
    request's usage was larger, the limit is divided by the same factor. "agentic" keeps messages from the end until
    they have `preserve_tokens`, extended back to a response; they include the user's newest text, unless it is the
    first item. "basic" uses no model: it keeps the user's texts and the newest messages within 0.7 of the limit.
    Messages kept once are never removed later, so the next compaction removes all messages after them. A refused
    request is compacted by "basic" to half, once per run. On arrival, results keep 8,000 characters at their ends.
    """

    source = "cline/cline"
    decides_by = "serialized"

    strategy: Literal["agentic", "basic"] = "agentic"
    threshold_ratio: Share = SHIPPED
    max_input_tokens: Count = SHIPPED
    preserve_tokens: Positive = SHIPPED
    summary_tokens: Positive = 1_500

    def start(self) -> None:
        # By a result's place, the tokens that it counts beyond its text: as it is sent, and uncut.
        self._more: dict[int, tuple[int, int]] = {}
        self._compacted = False
        self._recovered = False
        self._frozen: set[int] = set()

    def threshold(self) -> float:
        return self.threshold_ratio * min(self.max_input_tokens or self.sees.window, self.sees.window)

    def on_tool_result(self, item: Item) -> Item:
        text = item.text if len(item.text) <= 8_000 else ends_of(item.text, 3_985, 3_985, MARK)
        plain = len(json.dumps(text))
        self._more[item.place] = (_in_an_object(text, plain), _in_an_object(item.text, plain))
        return item.with_text(text)

    def before_call(self, view: View) -> View:
        if not view:
            return view
        if newly_asked(view):
            self._recovered = False
        used = self.sees.estimate(view) + self._fields(view, self._compacted)
        told = (self.sees.usage.input_tokens or 0) if self.sees.usage else 0
        limit = self.threshold() / min(MOST_UNDERESTIMATED, max(1, told / used))
        if used < limit:
            return view
        reason = f"{used:,} tokens are {limit:,.0f} or more"
        if self.strategy == "agentic":
            return self._agentic(view, reason)
        return self._basic(view, 0.7 * limit - self.sees.estimator.head(self.sees.head), reason)

    def on_overflow(self, view: View, error: Overflow) -> View | None:
        if self._recovered:
            return None
        self._recovered = True
        return self._basic(view, self._size(view) / 2, "the provider refused: window exceeded")

    def _fields(self, items: Iterable[Item], whole: bool) -> int:
        """Tokens of the messages' fields: one message for each response, each text of the user and each result."""
        tokens, behind = 0, None
        for item in items:
            if item.kind == "tool_result":
                tokens += self._more.get(item.place, (0, 0))[whole]
            elif item.message != behind:
                tokens += -(-(ASSISTANT_FIELDS if item.kind in RESPONSE_KINDS else USER_FIELDS) // 3)
            behind = item.message
        return tokens

    def _size(self, items: Sequence[Item]) -> int:
        """Tokens of items for the choice of what stays: a result counts uncut."""
        return self.sees.size_of(items) + self._fields(items, whole=True)

    def _agentic(self, view: View, reason: str) -> View:
        tokens, start = 0, len(view)
        for message in reversed(view.messages()):
            if tokens >= self.preserve_tokens:
                break
            tokens += self._size(message)
            start -= len(message)
        asked = last_asked(view)
        if asked > 0:
            start = min(start, asked)
        while start and view[start].kind == "tool_result":
            start -= 1
        while start and view[start].message == view[start - 1].message:
            start -= 1
        old = view[:start]
        made = condense(self, view, old, reason, self.summary_tokens, shown=results_cut(old, LEFT_OF_RESULTS))
        self._compacted = self._compacted or made is not None
        return made or view

    def _basic(self, view: View, target: float, reason: str) -> View:
        kept = {item.place for item in view if item.kind == "user"} | self._frozen
        left = target - self._size([item for item in view if item.place in kept])
        for exchange in reversed(view.exchanges()):
            if all(item.place in kept for item in exchange):
                continue
            left -= self._size(exchange)
            if left < 0:
                break
            kept |= {item.place for item in exchange}
        old = [item for item in view if item.place not in kept]
        if not old or all(item.synthetic for item in old):
            return view
        self._frozen = {item.place for item in view if item.place in kept and item.kind != "user"}
        self._compacted = True
        at = next((item.order for item in view if item.place in self._frozen), view[-1].order + 1)
        made = view.drop([item.place for item in old], reason)
        return made.insert(_notice(old), at, reason, sources=[item.place for item in old])


def _in_an_object(text: str, plain: int) -> int:
    """Tokens that a result in its object and message counts beyond JSON of `plain` characters."""
    return -(-(len(json.dumps(text)) - plain + RESULT_FIELDS) // 3)


def _notice(old: Sequence[Item]) -> str:
    """A note on the removed items: their commands, their other calls, and their last three texts."""
    calls = [item for item in old if item.kind == "tool_call"]
    said = [item.text for item in old if item.kind in RESPONSE_KINDS - {"reasoning", "tool_call"}]
    parts = ["<SYSTEM_NOTICE>", "Earlier context was compacted."]
    for told, shell in (("Tools used:", False), ("Commands ran:", True)):
        made = [f"{item.tool} {item.text[:100]}" for item in calls if is_shell(item.tool) is shell]
        parts += [told, *made] if made else []
    return "\n".join([*parts, *said[-3:], "</SYSTEM_NOTICE>"])
