"""Qwen Code: one summary replaces the whole history except a pending call and its results."""

from typing import ClassVar

from ctxsim.policies.agents.shared.history import condense, newly_asked, since_response
from ctxsim.policies.agents.shared.tools import clear_old, ends_of, files_read, is_reader, is_shell
from ctxsim.policies.policy import SHIPPED, Count, Overflow, Policy, Positive, Share
from ctxsim.transcript import Item
from ctxsim.view import View

ACKNOWLEDGED = "Got it. Thanks for the additional context!"


class QwenCode(Policy):
    """From `auto_compact_threshold` of the window on, or with 33,000 left: a summary and the pending call.

    QwenLM/qwen-code, packages/core/src/services: chatCompressionService.ts, tokenEstimation.ts,
    microcompaction/microcompact.ts. The number compared is the last prompt and output, plus (characters + 64) / 4 of
    each pending result; 33,000 are `reserve` and `buffer`. After three failures in a row, until the next success, it
    compacts only from the window less `reserve` and 3,000 on, but at least 3,000 over the threshold. A refused request
    is compacted too, with the pending result in the summary, and sent again. Up to `max_recent_files_to_retain` files
    that were read last are attached again. After an idle hour, all but the newest `tool_results_num_to_keep` results
    are cleared. Output of a shell over `truncate_tool_output_threshold` characters becomes a preview of 4,000 on
    arrival; a file that is read keeps so many characters.
    """

    source = "QwenLM/qwen-code"
    decides_by = "chars:ratio=4,unit=utf16"
    summary_head = None  # the same tools, system prompt and messages: observed with 0.24.4

    renamed: ClassVar = {
        "context_percentage_threshold": "auto_compact_threshold",
        "files": "max_recent_files_to_retain",
        "keep_recent": "tool_results_num_to_keep",
        "idle_minutes": "tool_results_threshold_minutes",
    }

    auto_compact_threshold: Share = SHIPPED
    reserve: Count = SHIPPED
    buffer: Count = SHIPPED
    max_recent_files_to_retain: Count = SHIPPED
    tool_results_num_to_keep: Count = SHIPPED
    tool_results_threshold_minutes: Count = SHIPPED
    truncate_tool_output_threshold: Positive = SHIPPED
    summary_tokens: Positive = 1_500

    def start(self) -> None:
        self._asked_s: float | None = None
        self._failures = 0

    def fires_at(self) -> float:
        room = self.sees.window - self.reserve - self.buffer
        share = self.auto_compact_threshold * self.sees.window
        return min(share, room) if room > 0 else share

    def on_tool_result(self, item: Item) -> Item:
        if is_reader(item.tool):
            return item.with_text(
                ends_of(item.text, self.truncate_tool_output_threshold, 0, "\n[{left} characters not shown]")
            )
        if is_shell(item.tool) and len(item.text) > self.truncate_tool_output_threshold:
            return item.with_text(ends_of(item.text, 2_000, 2_000, "\n\n... [{left} characters in a file] ...\n\n"))
        return item

    def before_call(self, view: View) -> View:
        minutes = self.tool_results_threshold_minutes
        idle = self._asked_s is not None and self.sees.now_s - self._asked_s >= 60 * minutes
        self._asked_s = self.sees.now_s
        if idle:
            view = clear_old(view, self.tool_results_num_to_keep, f"idle for {minutes} minutes", lambda tool: True)
        pending = view[since_response(view) :]
        waiting = self.sees.size_of(pending) + 16 * sum(item.kind == "tool_result" for item in pending)
        used = self.sees.usage.total_tokens + waiting if self.sees.usage else self.sees.estimate(view)
        limit = self.fires_at()
        forced = used >= min(self.sees.window, max(self.sees.window - self.reserve - 3_000, limit + 3_000))
        if used < limit or (self._failures >= 3 and not forced) or not since_response(view):
            return view
        made = self._compacted(view, f"{used:,} tokens are {limit:,.0f} or more", whole=False)
        self._failures += not (made or forced)
        return made or view

    def on_overflow(self, view: View, error: Overflow) -> View | None:
        return self._compacted(view, "the provider refused: window exceeded", whole=True)

    def _compacted(self, view: View, reason: str, whole: bool) -> View | None:
        end = since_response(view)
        kept = {item.place for item in newly_asked(view)}
        if not whole and end and any(item.kind == "tool_result" for item in view[end:]):
            last = view[end - 1].message
            asked = ("assistant", "tool_call")
            kept |= {item.place for item in view[:end] if item.message == last and item.kind in asked}
            kept |= {item.place for item in view[end:]}
        old = [item for item in view if item.place not in kept]
        files = [one for one in files_read(view).values() if one.place not in kept][: self.max_recent_files_to_retain]
        made = condense(self, view, old, reason, self.summary_tokens, 0, view)
        if made is None:
            return None
        self._failures = 0
        made = made.insert(ACKNOWLEDGED, 0, reason)
        for file in files:
            made = made.insert(file.text, 0, "read lately: attached again", sources=[file.place])
        return made
