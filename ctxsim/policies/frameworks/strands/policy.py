"""Strands Agents: a window of messages that slides after an invocation, or summaries; and what a refusal changes."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
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
    """What its policies share: they reduce after a refusal, and before a call where they are told to."""

    decides_by = "strands"
    source = "strands-agents/sdk-python"
    version = "strands-agents 1.62.0"
    read_on = "2026-11-22"
    retries = 1_000  # it tries until it can do no more

    pin_first: int
    proactive_compression: float

    def start(self) -> None:
        """Nothing is pinned yet."""
        self._pinned: frozenset[int] | None = None  # places of the messages that were first at the first reduction

    @abstractmethod
    def reduced(self, view: View) -> View | None:
        """Return a smaller view; None if there is none."""

    def threshold(self) -> float | None:
        """Tokens from which on it acts before a call, if it was told to."""
        return self.proactive_compression * self.sees.window if self.proactive_compression else None

    def before_call(self, view: View) -> View:
        """Act once, whatever comes of it."""
        limit = self.threshold()
        if limit is not None and self._believed(view) >= limit:
            view = self.reduced(view) or view
        return view

    def _believed(self, view: View) -> int:
        found = messages(view)
        since = since_usage(self.sees, found)
        return self.sees.estimator.head(self.sees.head) + counted(self.sees, found) if since is None else since

    def pins(self, groups: Sequence[Packed]) -> frozenset[int]:
        """Return the places of what never leaves."""
        if self._pinned is None:
            first = flat(groups[: self.pin_first])
            self._pinned = frozenset(place for message in first for place in message.places)
        return self._pinned


@dataclass
class StrandsSliding(OfStrands):
    """Keep the last `window_size` messages once the agent has answered; cut one message of results at each refusal.

    strands-agents/sdk-python, strands/agent/conversation_manager, SlidingWindowConversationManager. It acts at the
    end of an invocation, also of one that ended on results; before a call only `per_turn`, or with
    `proactive_compression` as a share of the window (upstream's true is 0.7). A trim begins at a user's text, else at
    a call with its results. A refusal cuts the oldest results to 200 characters at either end; where they are cut
    already it trims, and the task leaves with the rest unless `pin_first`.
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
            # The invocation before these texts ended on results.
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
        """The view with the results of the oldest message that has some cut; None if that is done already."""
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
        """The view without its oldest messages, the last `new` left apart; None if it can't be trimmed anywhere."""
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


@dataclass
class StrandsSummarizing(OfStrands):
    """After a refusal put a summary in the place of the oldest `summary_ratio` of the messages; the newest stay.

    strands/agent/conversation_manager, SummarizingConversationManager. The newest `preserve_recent_messages` stay, and
    a cut moves on until it parts no call from its results. With `proactive_compression` it also acts before a call, at
    that share of the window. The summary before is summarized again, alone if nothing else may leave.
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
    """Whether no pair is parted in front of the first of two messages, and its calls are answered by the second."""
    first = groups[0][0]
    return first.role != "tool" and not (first.calls and len(groups) > 1 and groups[1][0].role != "tool")
