"""Codex: the user's texts and a summary, nothing else."""

from typing import Literal

from ctxsim.policies.agents.shared.history import asked_at, history_of, newest_texts, newly_asked, replaced
from ctxsim.policies.agents.shared.tools import byte_length, first_bytes, last_bytes
from ctxsim.policies.policy import SHIPPED, Count, Policy, Positive
from ctxsim.transcript import Head, Item, Usage
from ctxsim.view import View

MARK = " tokens truncated…"
MARKS = (MARK, " chars truncated…")
"""Ends of the mark of a cut: for models with a limit in tokens, and for those with a limit in bytes."""

KEPT_BY_SERVER = 64_000


def middle_truncated(text: str, size: int) -> str:
    """Return a text without its middle if it has more than `size` UTF-8 bytes. The mark doesn't count."""
    length = byte_length(text)
    if length <= size:
        return text
    left = size // 2
    right = size - left
    return f"{first_bytes(text, left)}…{-(-(length - size) // 4)}{MARK}{last_bytes(text, right) if right else ''}"


class Codex(Policy):
    """From 0.9 of the window on: the user's newest texts of at most `keep_user_tokens`, then one summary.

    openai/codex, codex-rs: core/src/compact.rs, core/src/context_manager/history.rs, core/src/session/turn.rs,
    utils/output-truncation. The number compared is the last usage plus ceil(bytes / 4) of the JSON of each later item;
    a text that the user has just sent doesn't count yet. `model_auto_compact_token_limit` (0: none) is a lower limit.
    With the scope `body_after_prefix` it is added to the input of the first request since the last summary, and 95 % of
    the window is the other limit. Outputs of more than `tool_output_token_limit` (x 4 bytes) lose their middle on
    arrival. A summary request that overflows is repeated without its oldest item and that item's result. A refused
    request ends the turn. `remote` is the rule for a provider named OpenAI, from 0.142.2 on: the server answers with an
    opaque item, and 64,000 tokens of the user's texts stay; here a summary of `summary_tokens` stands for that item.
    """

    source = "openai/codex"
    decides_by = "usage-serialized:ratio=4,unit=bytes"

    model_auto_compact_token_limit: Count = 0
    model_auto_compact_token_limit_scope: Literal["total", "body_after_prefix"] = "total"
    tool_output_token_limit: Positive = SHIPPED
    keep_user_tokens: Count = SHIPPED
    remote: bool = SHIPPED
    summary_tokens: Positive = 1_500

    @property
    def summary_head(self) -> Head | None:
        # Observed with 0.169.0: the local request has no tools, the remote one has all. openai/codex#37305: the local
        # one never reads the cache.
        return None if self.remote else Head(system=self.sees.head.system)

    def start(self) -> None:
        self._prefix: int | None = None  # input of the first request since the last summary

    def threshold(self) -> float:
        limit = self.sees.window * 9 // 10
        own = self.model_auto_compact_token_limit or limit
        if self.model_auto_compact_token_limit_scope == "total":
            return min(own, limit)
        usable = self.sees.window * 95 // 100
        return usable if self._prefix is None else min(self._prefix + own, usable)

    def after_call(self, view: View, usage: Usage) -> View:
        if self._prefix is None:
            self._prefix = usage.input_tokens
        return view

    def on_tool_result(self, item: Item) -> Item:
        size = 4 * self.tool_output_token_limit
        # The recorded text is cut already: only its header and mark exceed the limit.
        if any(mark in item.text for mark in MARKS) and byte_length(item.text) <= size * 1.2:
            return item
        return item.with_text(middle_truncated(item.text, size))

    def before_call(self, view: View) -> View:
        active = self.sees.estimate(view) - self.sees.size_of(newly_asked(view))
        if active < self.threshold():
            return view
        made = self._compacted(view, f"{active:,} tokens are {self.threshold():,.0f} or more")
        if made is not view:
            self._prefix = None
        return made

    def _compacted(self, view: View, reason: str) -> View:
        history = history_of(view)
        if all(item.synthetic for item in history):
            return view
        asked, text = history, self.sees.summarize(history, self.summary_tokens)
        while text is None and len(asked) > 1:
            oldest, *rest = asked
            asked = [item for item in rest if item.answers != oldest.place]
            text = self.sees.summarize(asked, self.summary_tokens) if asked else None
        if text is None:
            return view
        tokens = KEPT_BY_SERVER if self.remote else self.keep_user_tokens
        kept = newest_texts(history, tokens, byte_length, middle_truncated)
        old = [item for item in history if item.place not in kept]
        return replaced(self, view.rewrite(kept, reason), old, text, reason, asked_at(view))
