"""Semantic Kernel: a number of messages, walked back over calls and results; with a summary of the rest or without."""

from dataclasses import dataclass

from ctxsim.policies.frameworks.chat import Message, in_place_of, items_of, messages, only
from ctxsim.policies.policy import Count, Policy, Positive
from ctxsim.view import View


@dataclass
class OfSemanticKernel(Policy, abstract=True):
    """What its policies share: over how many messages they act, and where the tail begins."""

    source = "microsoft/semantic-kernel"
    version = "semantic-kernel 1.45.0"
    read_on = "2026-11-22"

    target_count: Positive = 10
    threshold_count: Count = 0

    def tail(self, found: list[Message]) -> int:
        """Return where the messages that stay begin; 0 if all do."""
        system = bool(self.sees.head.system)
        if len(found) + system <= self.target_count + self.threshold_count:
            return 0
        target = self.target_count - system
        return self._start(found, target) if target else len(found)

    def _start(self, found: list[Message], target: int) -> int:
        start = len(found) - target
        while start > 0 and _traffic(found[start]) and _traffic(found[start - 1]):
            start -= 1
        lowest = max(0, len(found) - target - self.threshold_count)
        return next((n for n in range(start, lowest - 1, -1) if found[n].role == "user"), start)


@dataclass
class SkTruncate(OfSemanticKernel):
    """Over `target_count` + `threshold_count` messages keep the last `target_count`, the system prompt one of them.

    microsoft/semantic-kernel, python, contents/history_reducer, ChatHistoryTruncationReducer. A cut among calls and
    results moves back to where they began, and from there, inside the threshold, to a user's text. In a run of calls
    that is the first of them: nothing but the task leaves. Upstream has no default target.
    """

    def before_call(self, view: View) -> View:
        found = messages(view)
        start = self.tail(found)
        return only(view, found[start:], f"before the last {self.target_count} messages") if start else view


@dataclass
class SkSummarize(OfSemanticKernel):
    """Over `target_count` + `threshold_count` messages put a summary in the place of all but the last `target_count`.

    ChatHistorySummarizationReducer, which cuts where the truncation does. Calls and results leave unseen: the
    summarizer is shown texts alone, and where there are none nothing leaves. The summary before is summarized again.
    """

    summary_tokens: Positive = 1_000

    def before_call(self, view: View) -> View:
        found = messages(view)
        start = self.tail(found)
        summaries = sum(one.items[0].kind == "summary" for one in found[:1])
        if not self.sees.head.system and len(found) - self.threshold_count - self.target_count <= summaries:
            return view
        shown = [one for one in found[:start] if not _traffic(one)]
        text = self.sees.summarize(items_of(shown), self.summary_tokens) if shown else None
        if text is None:
            return view
        return in_place_of(view, found[:start], text, f"before the last {self.target_count} messages")


def _traffic(message: Message) -> bool:
    return message.role == "tool" or bool(message.calls)
