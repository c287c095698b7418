"""Anthropic's server-side compaction: a summary replaces the whole conversation at a threshold."""

from ctxsim.policies.agents.shared.history import condense
from ctxsim.policies.policy import Policy, Positive
from ctxsim.view import View


class AnthropicCompact(Policy):
    """Over `trigger` input tokens the server summarises the whole conversation and goes on from the summary.

    Anthropic API, compact_20260112, threshold form: default 150,000. The interface refuses less than 50,000; here that
    isn't checked. Later requests lack everything before the compaction block too. If the summary fails, nothing
    changes. The last usage and an estimate of later items stand for the vendor's own count.
    """

    source = "Anthropic API, compaction"
    version = "compact_20260112"
    read_on = "2026-11"
    server_side = True
    decides_by = "usage-tail"
    summary_head = None  # "uses the request's model, `system`, `tools`": the guide

    trigger: Positive = 150_000
    summary_tokens: Positive = 1_500

    def threshold(self) -> float:
        return self.trigger

    def before_call(self, view: View) -> View:
        used = self.sees.estimate(view)
        if used <= self.trigger:
            return view
        return condense(self, view, list(view), f"over {self.trigger:,} input tokens", self.summary_tokens) or view
