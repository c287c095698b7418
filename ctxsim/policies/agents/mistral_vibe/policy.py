"""Mistral Vibe: the user's texts and a summary, nothing else, by usage or by its own count, whichever is larger."""

import json
from collections.abc import Sequence

from ctxsim.counting.estimators.estimator import Reported
from ctxsim.policies.agents.shared.history import newest_texts, replaced
from ctxsim.policies.agents.shared.tools import ends_of
from ctxsim.policies.policy import SHIPPED, Count, Policy, Positive, Share
from ctxsim.transcript import Item
from ctxsim.view import View

MARK = "\n\n[... truncated ...]\n\n"


class MistralVibe(Policy):
    """From `auto_compact_threshold` on: the user's newest texts of at most `keep_user_tokens`, then one summary.

    mistralai/mistral-vibe, vibe/core/config/vibe_schema.py for the threshold: -1, or one that isn't below the window,
    is `window_share` of the window; 0 is never. The rest of 3.0.2 is compiled and was observed in driven runs, except
    `keep_user_tokens` (x 4 characters), which is from vibe/core/compaction/context.py of 2.26.1. The number compared is
    the last usage (input and output) or an estimate of the next request, whichever is larger. The prompt that begins a
    turn is one of the user's texts before the summary. If the summary request would reach the threshold, its oldest
    exchanges are left out. A result of more than `max_result_chars` as JSON keeps `excerpt_chars` on arrival, half from
    each end. A refused request ends the run.
    """

    source = "mistralai/mistral-vibe"
    decides_by = "serialized:ratio=4,unit=points"

    auto_compact_threshold: int = -1
    window_share: Share = SHIPPED
    keep_user_tokens: Count = SHIPPED
    max_result_chars: Positive = SHIPPED
    excerpt_chars: Positive = SHIPPED
    summary_tokens: Positive = 1_500

    def threshold(self) -> float | None:
        if 0 <= self.auto_compact_threshold < self.sees.window:
            return self.auto_compact_threshold or None
        return int(self.window_share * self.sees.window)

    def on_tool_result(self, item: Item) -> Item:
        if len(json.dumps(item.text, ensure_ascii=False)) <= self.max_result_chars:
            return item
        half = self.excerpt_chars // 2
        return item.with_text(ends_of(item.text, half, half, "\n[... {left} characters omitted ...]\n"))

    def before_call(self, view: View) -> View:
        limit = self.threshold()
        if limit is None:
            return view
        usage = self.sees.usage
        reported = usage.total_tokens if usage else 0
        estimated = self.sees.estimator.request(self.sees.head, view.size, view, Reported())
        if max(reported, estimated) < limit or all(item.synthetic or item.kind == "user" for item in view):
            return view
        text = self.sees.summarize(self._fitting(view, estimated - limit), self.summary_tokens)
        if text is None:
            return view
        reason = f"{reported:,} reported or {estimated:,} estimated tokens are {limit:,.0f} or more"
        kept = newest_texts(view, self.keep_user_tokens, len, _cut)
        old = [item for item in view if item.place not in kept]
        return replaced(self, view.rewrite(kept, reason), old, text, reason, view[-1].order + 1)

    def _fitting(self, view: View, over: float) -> Sequence[Item]:
        """The items for the summariser: all but the oldest exchanges, of over `over` tokens in all. User texts stay."""
        shown: list[Item] = []
        for group in view.exchanges():
            if over >= 0 and group[0].kind != "user":
                over -= self.sees.size_of(group)
            else:
                shown += group
        return shown


def _cut(text: str, size: int) -> str:
    half = max(0, size - len(MARK)) // 2
    return ends_of(text, half, half, MARK)
