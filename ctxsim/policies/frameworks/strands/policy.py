"""Strands Agents: a sliding window after an invocation, or summaries; and reductions after a refusal."""

from abc import abstractmethod
from collections.abc import Sequence
from itertools import takewhile

from ctxsim.policies.frameworks.chat import (
    Message,
    counted,
    flat,
    in_place_of,
    items_of,
    messages,
    only,
    packed,
    since_usage,
)
from ctxsim.policies.policy import SHIPPED, Count, Overflow, Policy, Positive, ShareOrOff
from ctxsim.transcript import Usage
from ctxsim.view import View

EDGE = 200
"""Characters that a cut result keeps at either end."""
CUT = "... [truncated:"

Packed = list[Message]


class OfStrands(Policy, abstract=True):
    """Base class of Strands' policies. They reduce after a refusal, and before a call with `proactive_compression`."""

    decides_by = "strands"
    source = "strands-agents/sdk-python"
    version = "strands-agents 1.62.0"
    read_on = "2026-11-22"
    retries = 1_000  # it retries until it can't reduce any more

    pin_first: int
    proactive_compression: float

    def start(self) -> None:
        """Clear the pins."""
        self._pinned: frozenset[int] | None = None  # places of the first messages, set at the first reduction

    @abstractmethod
    def reduced(self, view: View) -> View | None:
        """Return a smaller view; None if there is none."""

    def threshold(self) -> float | None:
        """Return the tokens from which on it acts before a call; None without `proactive_compression`."""
        return self.proactive_compression * self.sees.window if self.proactive_compression else None

    def before_call(self, view: View) -> View:
        """Reduce the view once if it is over the threshold. The result may still be over it."""
        limit = self.threshold()
        if limit is not None and self._believed(view) >= limit:
            view = self.reduced(view) or view
        return view

    def _believed(self, view: View) -> int:
        found = messages(view)
        since = since_usage(self.sees, found)
        return self.sees.estimator.head(self.sees.head) + counted(self.sees, found) if since is None else since

    def pins(self, groups: Sequence[Packed]) -> frozenset[int]:
        """Return the places of pinned messages, which are never removed."""
        if self._pinned is None:
            first = flat(groups[: self.pin_first])
            self._pinned = frozenset(place for message in first for place in message.places)
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
        groups = packed(messages(view))
        new = sum(1 for _ in takewhile(lambda group: group[0].role == "user", reversed(groups)))
        if new and any(group[0].role == "tool" for group in groups[-new - 1 : -new]):
            # The invocation before these user texts ended on results, so `after_call` didn't slide.
            view = self._slid(view, new)
        view = super().before_call(view)
        return self._slid(view) if self.per_turn else view

    def after_call(self, view: View, usage: Usage) -> View:
        answered = not packed(messages(view))[-1][0].calls if view else False
        return self._slid(view) if answered else view

    def on_overflow(self, view: View, error: Overflow) -> View | None:
        return self._with_cut_results(view) or self.reduced(view)

    def _slid(self, view: View, new: int = 0) -> View:
        if len(packed(messages(view))) - new <= self.window_size:
            return view
        return self.reduced(view, new) or view

    def _with_cut_results(self, view: View) -> View | None:
        """The view with the results of the oldest message of results cut; None if they are cut already."""
        groups = packed(messages(view))
        pins = self.pins(groups)
        oldest = next((group for group in groups if group[0].role == "tool" and group[0].places[0] not in pins), None)
        if oldest is None or not self.should_truncate_results:
            return None
        texts = {
            one.items[0].place: _cut(one.text) for one in oldest if len(one.text) > 2 * EDGE and CUT not in one.text
        }
        return view.rewrite(texts, "the provider refused: oldest results cut") if texts else None

    def reduced(self, view: View, new: int = 0) -> View | None:
        """The view without its oldest messages; the last `new` stay and don't count. None if no cut is allowed."""
        groups = packed(messages(view))
        groups, apart = groups[: len(groups) - new], groups[len(groups) - new :]
        pins = self.pins(groups)
        start = 2 if len(groups) <= self.window_size else len(groups) - self.window_size
        at = next((n for n in range(start, len(groups)) if groups[n][0].role == "user"), None)
        if at is None:
            at = next(
                (n for n in range(start, len(groups) - 1) if groups[n][0].calls and groups[n + 1][0].role == "tool"),
                None,
            )
        if at is None:
            return None
        kept = [group for n, group in enumerate(groups) if n >= at or group[0].places[0] in pins]
        if len(kept) == len(groups):
            return None
        return only(view, flat([*kept, *apart]), f"before the last {self.window_size} messages")


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
        groups = packed(messages(view))
        ratio = min(0.8, max(0.1, self.summary_ratio))
        start = min(max(1, int(len(groups) * ratio)), len(groups) - self.preserve_recent_messages)
        if start <= 0:
            return None
        if start < len(groups):
            start = next((n for n in range(start, len(groups)) if _may_begin(groups[n : n + 2])), 0)
        pins = self.pins(groups)
        old = [one for one in flat(groups[:start]) if one.places[0] not in pins]
        text = self.sees.summarize(items_of(old), self.summary_tokens) if old else None
        return in_place_of(view, old, text, "its window was exceeded") if text is not None else None


def _may_begin(groups: Sequence[Packed]) -> bool:
    """Whether kept messages may begin with the first of two: no results, and its calls are answered by the second."""
    first = groups[0][0]
    return first.role != "tool" and not (first.calls and len(groups) > 1 and groups[1][0].role != "tool")
