"""Mistral Vibe: the user's texts, a summary and the newest exchange, by usage or its own count, if that is larger."""

import json
from collections.abc import Sequence
from functools import partial

from ctxsim.counting.estimators.estimator import Reported
from ctxsim.policies.agents.shared.history import newest_texts, replaced, since_response
from ctxsim.policies.agents.shared.tools import ends_of
from ctxsim.policies.policy import SHIPPED, Count, Policy, Positive, ShareOrOff
from ctxsim.transcript import RESPONSE_KINDS, Item
from ctxsim.view import View, each_exchange

MARK = "\n\n[... truncated ...]\n\n"
OMITTED = "[CONTENT OMITTED FOR SIZE: {left} MORE CHARACTERS]"


class MistralVibe(Policy):
    """From `auto_compact_threshold` on: the user's newest texts of at most `keep_user_tokens`, then one summary.

    mistralai/mistral-vibe, vibe/core/config/vibe_schema.py for the threshold: -1, or one that isn't below the window,
    is `window_share` of the window, or if that is 0 by completion_profile/bounds.py; 0 is never. The rest is compiled
    and was observed in driven runs of 3.0.2 and 3.0.3, except `keep_user_tokens` (x 4 characters), which is from
    vibe/core/compaction/context.py of 2.26.1. The last usage (input and output) or an estimate of the next request,
    whichever is larger, is compared with the threshold. With `corrected`, the estimate is multiplied by the last usage
    divided by the estimate of the same request and response, if that is more than 1. With `keep_newest`, the newest
    response and all items after it are kept, after the summary; the summariser gets that response without the results
    of its calls. If the new request would still reach the threshold, each kept result is cut to 50 characters from each
    end. Without `keep_newest`, nothing follows the summary: the prompt that begins a turn stands before it, with the
    user's earlier texts. If the summary request would reach its limit, its oldest exchanges are left out. A result of
    more than `max_result_chars` as JSON keeps `excerpt_chars` on arrival, half from each end. A refused request ends
    the run.
    """

    source = "mistralai/mistral-vibe"
    decides_by = "serialized:ratio=4,unit=points"
    summary_head = None  # vibe/core/compaction/manager.py@3959cf4

    auto_compact_threshold: int = -1
    window_share: ShareOrOff = SHIPPED
    corrected: bool = SHIPPED
    keep_newest: bool = SHIPPED
    keep_user_tokens: Count = SHIPPED
    max_result_chars: Positive = SHIPPED
    excerpt_chars: Positive = SHIPPED
    summary_tokens: Positive = 1_500

    def threshold(self) -> float | None:
        if 0 <= self.auto_compact_threshold < self.sees.window:
            return self.auto_compact_threshold or None
        if self.window_share:
            return int(self.window_share * self.sees.window)
        least = max(min(50_000, self.sees.window // 2), 10_000)
        return max(least, min(256_000, self.sees.window - 60_000, self._most()))

    def _most(self) -> int:
        """The highest threshold that 3.0.3 takes; its summary request may be as large."""
        return self.sees.window - min(24_000, -(-self.sees.window // 4))

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
        estimated = self._estimated(view.size)
        if max(reported, estimated) < limit:
            return view
        end = since_response(view) if self.keep_newest else 0
        start = view.position(view.exchange(end - 1)[0].place) if end else len(view)
        old = view[:start]
        if all(item.synthetic or item.kind == "user" for item in old):
            return view
        shown = old + [item for item in view[start:] if item.kind in RESPONSE_KINDS]
        over = self._estimated(self.sees.size_of(shown)) - (limit if self.window_share else self._most())
        text = self.sees.summarize(self._fitting(shown, over), self.summary_tokens)
        if text is None:
            return view
        reason = f"{reported:,} reported or {estimated:,} estimated tokens are {limit:,.0f} or more"
        kept = newest_texts(old, self.keep_user_tokens, len, _cut)
        gone = [item for item in old if item.place not in kept]
        at = view[start].order if start < len(view) else view[-1].order + 1
        made = replaced(self, view.rewrite(kept, reason), gone, text, reason, at)
        if self._estimated(made.size) < limit:
            return made
        return made.rewrite({item.place: ends_of(item.text, 50, 50, OMITTED) for item in made.results}, "too large")

    def _estimated(self, size: int) -> int:
        """The estimated tokens of a request with items of that size."""
        plain, said = partial(self.sees.estimator.request, self.sees.head), self.sees.reported
        estimated = plain(size, (), Reported())
        if not self.corrected or said.usage is None:
            return estimated
        last = max(1, plain(said.size, (), Reported()))
        return -(-estimated * max(last, said.usage.total_tokens) // last)

    def _fitting(self, items: Sequence[Item], over: float) -> Sequence[Item]:
        """The items for the summariser: all but the oldest exchanges, of over `over` tokens in all. User texts stay."""
        shown: list[Item] = []
        for group in each_exchange(items):
            if over >= 0 and group[0].kind != "user":
                over -= self.sees.size_of(group)
            else:
                shown += group
        return shown


def _cut(text: str, size: int) -> str:
    half = max(0, size - len(MARK)) // 2
    return ends_of(text, half, half, MARK)
