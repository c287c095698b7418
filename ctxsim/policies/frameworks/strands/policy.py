"""Strands Agents: a sliding window after an invocation, or summaries; and reductions after a refusal."""

from abc import abstractmethod
from collections.abc import Sequence
from itertools import chain, takewhile

from ctxsim.policies.frameworks.chat import Message, counted, in_place_of, items_of, messages, only, packed, since_usage
from ctxsim.policies.policy import SHIPPED, Count, Overflow, Policy, Positive, ShareOrOff
from ctxsim.transcript import Usage
from ctxsim.view import View

EDGE = 200
"""Characters that a cut result keeps at either end."""
CUT = "... [truncated:"


class OfStrands(Policy, abstract=True):
    """Base class of Strands' policies. They reduce after a refusal, and before a call with `proactive_compression`."""

    decides_by = "strands"
    source = "strands-agents/sdk-python"
    version = "strands-agents 1.62.0"
    retries = 1_000  # it retries until it can't reduce any more

    pin_first: int
    proactive_compression: float

    def start(self) -> None:
        self._pinned: frozenset[int] | None = None  # places of the first messages, set at the first reduction

    @abstractmethod
    def reduced(self, view: View) -> View | None:
        """Return a smaller view; None if there is none."""

    def threshold(self) -> float | None:
        return self.proactive_compression * self.sees.window if self.proactive_compression else None

    def before_call(self, view: View) -> View:
        limit, found = self.threshold(), messages(view)
        if limit is None:
            return view
        believed = since_usage(
            self.sees, found, lambda: self.sees.estimator.head(self.sees.head) + counted(self.sees, found)
        )
        return self.reduced(view) or view if believed >= limit else view

    def pins(self, found: Sequence[Message]) -> frozenset[int]:
        """Return the places of pinned messages, which are never removed."""
        if self._pinned is None:
            self._pinned = frozenset(item.place for item in items_of(found[: self.pin_first]))
        return self._pinned


class StrandsSliding(OfStrands):
    """Keep the last `window_size` messages once the agent has answered; cut one message of results at each refusal.

    strands-agents/sdk-python, strands/agent/conversation_manager, SlidingWindowConversationManager. It acts at the end
    of an invocation, also of one that ended on results; before a call only with `per_turn`, or from
    `proactive_compression` of the window on (upstream's true is 0.7). The kept messages begin at a user's text, else at
    a call with its results. A refusal cuts the oldest results to 200 characters at either end. If they are cut already,
    the oldest messages are removed, with the task unless `pin_first`.
    """

    window_size: Count = SHIPPED
    should_truncate_results: bool = True
    per_turn: bool = False
    pin_first: Count = 0
    proactive_compression: float = 0.0

    def before_call(self, view: View) -> View:
        found = packed(view)
        new = sum(1 for _ in takewhile(lambda message: message.role == "user", reversed(found)))
        if new and any(message.role == "tool" for message in found[-new - 1 : -new]):
            # The invocation before these user texts ended on results, so `after_call` didn't slide.
            view = self._slid(view, new)
        view = super().before_call(view)
        return self._slid(view) if self.per_turn else view

    def after_call(self, view: View, usage: Usage) -> View:
        answered = bool(view) and not messages(view)[-1].calls
        return self._slid(view) if answered else view

    def on_overflow(self, view: View, error: Overflow) -> View | None:
        return self._with_cut_results(view) or self.reduced(view)

    def _slid(self, view: View, new: int = 0) -> View:
        if len(packed(view)) - new <= self.window_size:
            return view
        return self.reduced(view, new) or view

    def _with_cut_results(self, view: View) -> View | None:
        """The view with the results of the oldest message of results cut; None if they are cut already."""
        found = packed(view)
        pins = self.pins(found)
        oldest = next((one for one in found if one.role == "tool" and one.places[0] not in pins), None)
        if oldest is None or not self.should_truncate_results:
            return None
        texts = {one.place: _cut(one.text) for one in oldest.items if len(one.text) > 2 * EDGE and CUT not in one.text}
        return view.rewrite(texts, "the provider refused: oldest results cut") if texts else None

    def reduced(self, view: View, new: int = 0) -> View | None:
        """The view without its oldest messages; the last `new` stay and don't count. None if no cut is allowed."""
        every = packed(view)
        found, apart = every[: len(every) - new], every[len(every) - new :]
        pins = self.pins(found)
        start = 2 if len(found) <= self.window_size else len(found) - self.window_size
        asked = (n for n in range(start, len(found)) if found[n].role == "user")
        answered = (n for n in range(start, len(found) - 1) if found[n].calls and found[n + 1].role == "tool")
        at = next(chain(asked, answered), None)
        if at is None:
            return None
        kept = [message for n, message in enumerate(found) if n >= at or message.places[0] in pins]
        if len(kept) == len(found):
            return None
        return only(view, [*kept, *apart], f"before the last {self.window_size} messages")


def _cut(text: str) -> str:
    removed = len(text) - 2 * EDGE
    return f"{text[:EDGE]}...\n\n{CUT} {removed} chars removed] ...\n\n...{text[-EDGE:]}"


class StrandsSummarizing(OfStrands):
    """After a refusal put a summary in the place of the oldest `summary_ratio` of the messages; the newest stay.

    strands/agent/conversation_manager, SummarizingConversationManager. The newest `preserve_recent_messages` stay, and
    a cut moves forward until it parts no call from its results. With `proactive_compression` it also acts before a
    call, from that share of the window on. An earlier summary is summarized again, even if it is the only old message.
    """

    summary_ratio: ShareOrOff = 0.3
    preserve_recent_messages: Count = 10
    pin_first: Count = 0
    proactive_compression: float = 0.0
    summary_tokens: Positive = 1_000

    def on_overflow(self, view: View, error: Overflow) -> View | None:
        return self.reduced(view)

    def reduced(self, view: View) -> View | None:
        found = packed(view)
        ratio = min(0.8, max(0.1, self.summary_ratio))
        start = min(max(1, int(len(found) * ratio)), len(found) - self.preserve_recent_messages)
        if start <= 0:
            return None
        if start < len(found):
            start = next((n for n in range(start, len(found)) if _may_begin(found[n : n + 2])), 0)
        pins = self.pins(found)
        old = [one for one in found[:start] if one.places[0] not in pins]
        text = self.sees.summarize(items_of(old), self.summary_tokens) if old else None
        return in_place_of(view, old, text, "its window was exceeded") if text is not None else None


def _may_begin(found: Sequence[Message]) -> bool:
    """Whether kept messages may begin with the first of two: no results, and its calls are answered by the second."""
    return found[0].role != "tool" and not (found[0].calls and len(found) > 1 and found[1].role != "tool")
