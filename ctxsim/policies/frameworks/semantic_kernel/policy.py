"""Semantic Kernel: the last messages, extended back over calls and results; with a summary of the rest or without."""

from dataclasses import dataclass

from ctxsim.policies.frameworks.chat import Message, in_place_of, items_of, messages, only
from ctxsim.policies.policy import Count, Policy, Positive
from ctxsim.view import View


@dataclass
class OfSemanticKernel(Policy, abstract=True):
    """Base class of Semantic Kernel's policies: over how many messages they act, and where the tail begins."""

    source = "microsoft/semantic-kernel"
    version = "semantic-kernel 1.45.0"
    read_on = "2026-11-22"

    target_count: Positive = 10
    threshold_count: Count = 0

    def tail(self, found: list[Message]) -> int:
        """Return the index of the first message that stays; 0 if all stay."""
        system = bool(self.sees.head.system)
        if len(found) + system <= self.target_count + self.threshold_count:
            return 0
        target = self.target_count - system
        if not target:
            return len(found)
        start = len(found) - target
        while start > 0 and found[start].uses_tools and found[start - 1].uses_tools:
            start -= 1
        lowest = max(0, len(found) - target - self.threshold_count)
        return next((n for n in range(start, lowest - 1, -1) if found[n].role == "user"), start)


class SkTruncate(OfSemanticKernel):
    """Over `target_count` + `threshold_count` messages keep the last `target_count`, the system prompt one of them.

    microsoft/semantic-kernel, python, contents/history_reducer, ChatHistoryTruncationReducer. A cut among calls and
    results moves back to the first of them, and from there, within the threshold, to a user's text. In a run with only
    calls that is the first call, so that only the task is removed. Upstream has no default target.
    """

    def before_call(self, view: View) -> View:
        found = messages(view)
        start = self.tail(found)
        return only(view, found[start:], f"before the last {self.target_count} messages") if start else view


class SkSummarize(OfSemanticKernel):
    """Over `target_count` + `threshold_count` messages put a summary in the place of all but the last `target_count`.

    ChatHistorySummarizationReducer, with the cut of the truncation. The summarizer gets no calls and results, only
    texts; if there are none, nothing happens. An earlier summary is summarized again.
    """

    summary_tokens: Positive = 1_000

    def before_call(self, view: View) -> View:
        found = messages(view)
        start = self.tail(found)
        summaries = sum(one.items[0].kind == "summary" for one in found[:1])
        if not self.sees.head.system and len(found) - self.threshold_count - self.target_count <= summaries:
            return view
        shown = [one for one in found[:start] if not one.uses_tools]
        text = self.sees.summarize(items_of(shown), self.summary_tokens) if shown else None
        if text is None:
            return view
        return in_place_of(view, found[:start], text, f"before the last {self.target_count} messages")
