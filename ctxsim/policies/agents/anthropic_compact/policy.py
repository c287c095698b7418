"""Anthropic's own servers: the whole conversation becomes a summary when it has grown too large."""

from dataclasses import dataclass

from ctxsim.policies.agents.shared.condense import condense
from ctxsim.policies.policy import Policy, Positive
from ctxsim.view import View


@dataclass
class AnthropicCompact(Policy):
    """Over `trigger` input tokens the server summarises the whole conversation and goes on from the summary.

    Anthropic API, compact_20260112, threshold form: default 150,000; the interface refuses less than 50,000, which is
    left to you. Everything before the compaction block leaves later requests too; a summary that fails changes
    nothing. The last usage and an estimate of what joined since stand for the vendor's own count.
    """

    source = "Anthropic API, compaction"
    version = "compact_20260112"
    read_on = "2026-11"
    server_side = True
    decides_by = "usage-tail"

    trigger: Positive = 150_000
    summary_tokens: Positive = 1_500

    def threshold(self) -> float:
        return self.trigger

    def before_call(self, view: View) -> View:
        used = self.sees.estimate(view)
        if used <= self.trigger:
            return view
        return condense(self, view, list(view), f"over {self.trigger:,} input tokens", self.summary_tokens) or view
