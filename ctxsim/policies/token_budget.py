"""The token budget: cut old tool results once the provider reports too many input tokens."""

from bisect import bisect_right
from collections.abc import Iterable

from ctxsim.policies.policy import Count, Policy
from ctxsim.transcript import Item, Usage
from ctxsim.view import View

MARKER = "[truncated for context management]"


def cut(results: Iterable[Item], retain: int) -> dict[int, str]:
    """Return the new texts of results that are longer than `retain` characters, by place. Cut ones and images stay."""
    return {
        item.place: item.text[:retain] + MARKER
        for item in results
        # A text of exactly `retain` characters is short enough: cutting it would only add the marker.
        if not item.media and len(item.text) > retain and not item.text.endswith(MARKER)
    }


class TokenBudget(Policy):
    """After each response over `budget`, cut all but the newest tool-result message to `retain` characters.

    Documents 000 and 001 (`InputTokenBudget`, `ToolResultRetentionChars`); 0 disables. It looks at the usage of a call
    that has already been answered, so it always acts one call late.
    """

    family = "seeds"
    source = "documents 000 and 001"

    budget: Count = 40_000
    retain: Count = 500

    def limits(self) -> dict[str, float]:
        return {"budget": self.budget} if self.budget else {}

    def start(self) -> None:
        self._looked_at = -1  # the place up to which results were checked: each is short, cut or not a text

    def after_call(self, view: View, usage: Usage) -> View:
        if not 0 < self.budget < usage.input_tokens or not (results := view.results):
            return view
        newest = results[-1].message
        start = bisect_right(results, self._looked_at, key=lambda item: item.place)
        behind = [item for item in results[start:] if item.message != newest]
        if behind:
            self._looked_at = behind[-1].place
        old = cut(behind, self.retain)
        if not old:
            return view
        exceeded = f"input tokens ({usage.input_tokens:,}) exceeded budget ({self.budget:,})"
        self.sees.say(f"Note: Compacted {len(old)} old tool result(s) — {exceeded}")
        return view.rewrite(old, exceeded)
