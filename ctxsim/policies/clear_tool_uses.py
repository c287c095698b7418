"""Server-side clearing: the provider itself clears old tool results in each request that is too large."""

from ctxsim.policies.policy import Count, Policy
from ctxsim.view import View

PLACEHOLDER = "[cleared to save context]"


class ClearToolUses(Policy):
    """Over `trigger` input tokens, clear all but the newest `keep` results, if that frees `clear_at_least` tokens.

    Anthropic API, context editing, clear_tool_uses_20250919 (defaults: trigger 100,000, keep 3, clear_at_least unset).
    The vendor edits the requests that it gets, and doesn't say whether a cleared result stays cleared. With `sticky` it
    does; without, each request is edited independently. The estimator stands for the vendor's own count.
    """

    family = "agents"
    source = "Anthropic API, context editing"
    version = "clear_tool_uses_20250919"
    read_on = "2026-11"
    server_side = True

    trigger: Count = 100_000
    keep: Count = 3
    clear_at_least: Count = 0
    sticky: bool = True

    @property
    def ephemeral(self) -> bool:
        return not self.sticky

    def threshold(self) -> float:
        return self.trigger

    def before_call(self, view: View) -> View:
        if self.sees.estimate(view) <= self.trigger:
            return view
        results = view.results
        old = [item.place for item in results[: max(0, len(results) - self.keep)] if item.text != PLACEHOLDER]
        edited = view.rewrite(dict.fromkeys(old, PLACEHOLDER), f"over {self.trigger:,} input tokens")
        return edited if view.size - edited.size >= max(1, self.clear_at_least) else view
