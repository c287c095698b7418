"""Semantic Kernel: a number of messages, walked back over calls and results."""

from dataclasses import dataclass

from ctxsim.policies.frameworks.shared.messages import Message, messages, only
from ctxsim.policies.policy import Count, Policy, Positive
from ctxsim.view import View


@dataclass
class SkTruncate(Policy):
    """Over `target_count` + `threshold_count` messages keep the last `target_count`, the system prompt one of them.

    microsoft/semantic-kernel, python, contents/history_reducer, ChatHistoryTruncationReducer. A cut among calls and
    results moves back to where they began, and from there, inside the threshold, to a user's text. In a run of calls
    that is the first of them: nothing but the task leaves. Upstream has no default target.
    """

    family = "frameworks"
    source = "microsoft/semantic-kernel"
    version = "semantic-kernel 1.45.0"
    read_on = "2026-11-22"

    target_count: Positive = 10
    threshold_count: Count = 0

    def before_call(self, view: View) -> View:
        found = messages(view)
        system = bool(self.sees.head.system)
        if len(found) + system <= self.target_count + self.threshold_count:
            return view
        target = self.target_count - system
        start = self._start(found, target) if target else len(found)
        return only(view, found[start:], f"before the last {self.target_count} messages")

    def _start(self, found: list[Message], target: int) -> int:
        start = len(found) - target
        while start > 0 and _traffic(found[start]) and _traffic(found[start - 1]):
            start -= 1
        lowest = max(0, len(found) - target - self.threshold_count)
        return next((n for n in range(start, lowest - 1, -1) if found[n].role == "user"), start)


def _traffic(message: Message) -> bool:
    return message.role == "tool" or bool(message.calls)
