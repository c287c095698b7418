"""Kimi Code: the user's oldest and newest texts, and one summary."""

from itertools import dropwhile

from ctxsim.policies.agents.shared.history import newest_texts, replaced
from ctxsim.policies.agents.shared.tools import byte_length, ends_of, first_bytes, fitting, last_bytes
from ctxsim.policies.policy import SHIPPED, Count, Overflow, Policy, Positive, Share
from ctxsim.transcript import Item
from ctxsim.view import View


class KimiCode(Policy):
    """From `compaction_trigger_ratio` of the window on, or with `reserved_context_size` left: user texts, one summary.

    MoonshotAI/kimi-code, packages/agent-core-v2/src/agent/fullCompaction and contextMemory. A reserve that isn't below
    the window counts for nothing. The user's texts stay; over `keep_user_tokens` (x 4 bytes; in the agent a character
    that isn't ASCII is a token) `keep_oldest_tokens` of their beginning do, and their end. After a refusal, 85 % of the
    request's estimate becomes the window if that is smaller, and the history is compacted, up to three times in a row.
    The summariser gets the newest items within 85 % of 7/8 of the window less the head. Of a longer result than
    `max_result_chars`, lines over `max_line_chars` are cut; if it still is longer, a preview stays. Fixed texts around
    the summary (about 800 tokens) are left out.
    """

    source = "MoonshotAI/kimi-code"
    decides_by = "usage-tail:unit=bytes"
    summary_head = None  # packages/agent-core/src/agent/compaction/full.ts@638c0f7
    retries = 3

    compaction_trigger_ratio: Share = SHIPPED
    reserved_context_size: Count = SHIPPED
    keep_user_tokens: Positive = SHIPPED
    keep_oldest_tokens: Positive = SHIPPED
    max_result_chars: Positive = SHIPPED
    max_line_chars: Positive = SHIPPED
    summary_tokens: Positive = 1_500

    def start(self) -> None:
        self._window = self.sees.window
        self._after = 0  # estimate of the request that the last compaction left

    def threshold(self) -> float:
        share, room = self.compaction_trigger_ratio * self._window, self._window - self.reserved_context_size
        return min(share, room) if room > 0 else share

    def on_tool_result(self, item: Item) -> Item:
        if len(item.text) <= self.max_result_chars:
            return item
        cut = "".join(ends_of(line, self.max_line_chars, 0, "") for line in item.text.splitlines(keepends=True))
        preview = ends_of(item.text, 4_096, 1_024, "\n[...]\n")
        return item.with_text(cut if len(cut) <= self.max_result_chars else preview)

    def before_call(self, view: View) -> View:
        used, limit = self.sees.estimate(view), self.threshold()
        if used < limit or used <= self._after:
            return view
        return self._compacted(view, f"{used:,} tokens are {limit:,.0f} or more") or view

    def on_overflow(self, view: View, error: Overflow) -> View | None:
        estimated = self.sees.estimator.head(self.sees.head) + view.size
        self._window = max(1, min(self._window, int(0.85 * estimated)))
        return self._compacted(view, "the provider refused: window exceeded")

    def _compacted(self, view: View, reason: str) -> View | None:
        kept = self._user_texts(view)
        old = [item for item in view if item.place not in kept]
        cut = view.rewrite(kept, reason)
        if cut is view and all(item.synthetic for item in old):
            return None
        head = self.sees.estimator.head(self.sees.head)
        room = int((self._window - self._window // 8) * 0.85) - head
        count = fitting((self.sees.size_of((item,)) for item in reversed(view)), room)
        shown = [*dropwhile(lambda item: item.kind == "tool_result", view[len(view) - count :])]
        text = self.sees.summarize(shown or view, self.summary_tokens)
        if text is None:
            return None
        made = replaced(self, cut, old, text, reason, view[-1].order + 1)
        self._after = head + made.size
        return made

    def _user_texts(self, view: View) -> dict[int, str]:
        """What stays of the user's texts, by place: all, or the oldest and the newest, with a mark between."""
        texts = {item.place: item.text for item in view if item.kind == "user"}
        if sum(map(byte_length, texts.values())) <= 4 * self.keep_user_tokens:
            return texts
        oldest = newest_texts(view[::-1], self.keep_oldest_tokens, byte_length, first_bytes)
        newest = newest_texts(view, self.keep_user_tokens - self.keep_oldest_tokens, byte_length, last_bytes)
        last = max(oldest)
        return oldest | newest | {last: oldest[last] + "\n[...]\n" + newest.get(last, "")}
