"""OpenAI's own servers: one opaque item stands for all that came before it."""

from dataclasses import dataclass

from ctxsim.policies.agents.shared.condense import condense
from ctxsim.policies.policy import Count, Policy, Positive
from ctxsim.view import View


@dataclass
class OpenaiCompact(Policy):
    """When a rendered request crosses `compact_threshold`, the server puts one opaque item in place of what was before.

    OpenAI Responses API, context_management. What the server does without a number isn't published; 0 means 0.9 of
    the window, which openai-agents 0.24.0 sends. The item isn't readable: a summary of `summary_tokens` stands for
    it. The last usage and an estimate of what joined since stand for the vendor's own count.
    """

    source = "OpenAI Responses API, compaction"
    version = "openai 3.54.0"
    read_on = "2026-11"
    decides_by = "usage-tail"

    compact_threshold: Count = 0
    summary_tokens: Positive = 1_500

    def threshold(self) -> float:
        return self.compact_threshold or self.sees.window * 9 // 10

    def before_call(self, view: View) -> View:
        if self.sees.estimate(view) <= self.threshold():
            return view
        return condense(self, view, list(view), f"over {self.threshold():,.0f} tokens", self.summary_tokens) or view
