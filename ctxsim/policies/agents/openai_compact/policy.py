"""OpenAI's server-side compaction: one opaque item replaces everything before it."""

from ctxsim.policies.agents.shared.history import condense
from ctxsim.policies.policy import Count, Policy, Positive
from ctxsim.view import View


class OpenaiCompact(Policy):
    """When a rendered request crosses `compact_threshold`, the server replaces the whole history by one opaque item.

    OpenAI Responses API, context_management. The server's default threshold isn't published; 0 means 0.9 of the window,
    which openai-agents 0.24.0 sends. The item isn't readable: a summary of `summary_tokens` stands for it. The last
    usage plus an estimate of later items stands for the vendor's own count.
    """

    source = "OpenAI Responses API, compaction"
    version = "openai 3.57.0"
    read_on = "2026-11"
    decides_by = "usage-tail"
    summary_head = None  # assumed, as the server compacts within the request

    compact_threshold: Count = 0
    summary_tokens: Positive = 1_500

    def threshold(self) -> float:
        return self.compact_threshold or self.sees.window * 9 // 10

    def before_call(self, view: View) -> View:
        if self.sees.estimate(view) <= self.threshold():
            return view
        return condense(self, view, list(view), f"over {self.threshold():,.0f} tokens", self.summary_tokens) or view
