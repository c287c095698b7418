"""Server-side clearing: the provider itself leaves out old tool results of each request that is too large."""

from dataclasses import dataclass

from ctxsim.policies.policy import Policy, Stop
from ctxsim.view import View

PLACEHOLDER = "[cleared to save context]"


@dataclass
class ClearToolUses(Policy):
    """Over `trigger` input tokens, clear all but the newest `keep` results, if that frees `clear_at_least` tokens.

    Anthropic API, context editing, clear_tool_uses_20250919 (defaults: trigger 100,000, keep 3, clear_at_least unset).
    The vendor edits each request and leaves the client's history alone, and doesn't say whether a result once cleared
    stays cleared: `sticky` keeps it so; without it every request is decided anew. The estimator stands for the
    vendor's own count.
    """

    ephemeral = True

    trigger: int = 100_000
    keep: int = 3
    clear_at_least: int = 0
    sticky: bool = True

    def threshold(self) -> float:
        return self.trigger

    def before_call(self, view: View) -> View | Stop:
        cleared: set[int] = self.__dict__.setdefault("_cleared", set())
        if self.sticky:
            view = self._clear(view, cleared)
        if self.sees.estimate(view) <= self.trigger:
            return view
        results = view.results
        old = {item.place for item in results[: max(0, len(results) - self.keep)] if item.text != PLACEHOLDER}
        edited = self._clear(view, old)
        if view.size - edited.size < max(1, self.clear_at_least):
            return view
        cleared |= old
        return edited

    def _clear(self, view: View, places: set[int]) -> View:
        return view.rewrite(dict.fromkeys(places, PLACEHOLDER), f"over {self.trigger:,} input tokens")
