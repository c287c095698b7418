"""Claude Code: old results are cleared; later a summary and the files read last replace all but the newest items."""

from collections.abc import Mapping
from itertools import islice, takewhile
from typing import ClassVar, Literal

from ctxsim.policies.agents.shared.history import condense
from ctxsim.policies.agents.shared.tools import clear_old, ends_of, files_read, is_shell
from ctxsim.policies.policy import SHIPPED, Count, Overflow, Policy, Positive
from ctxsim.transcript import CLEARED, Item
from ctxsim.view import View

WARNED = 20_000
"""Results are cleared by size from so many tokens below the threshold: 9 recorded clearings in 7 sessions did so."""

NEVER_CLEARED = frozenset(("task", "agent", "todowrite", "askuserquestion", "exitplanmode", "skill"))


def _clears(tool: str) -> bool:
    return not tool.startswith("mcp__") and tool.lower() not in NEVER_CLEARED


class ClaudeCode(Policy):
    """From the window less `reserve` and `buffer` on: one summary, and up to `files` files that were read last.

    Closed source: the rule is that of 19 recorded automatic compactions, and of installed versions when they were run.
    The window is `auto_compact_window`, at most the model's; 0 is the model's. `max_output_tokens` (0: the model's)
    lowers the reserve if it is less. `autocompact_pct_override` (0: none) is a lower threshold, in per cent of the
    window less the reserve. With `proactive` off and `auto_compact_window` 0, only a refused request is compacted. With
    `auto_compact_enabled` off, none is. `version=` and `model=` in a label give what that version ships for that model:
    to 2.1.19 a reserve of 32,000; from 2.1.153 on, no compaction before a refusal for some models, such as 4.5.

    The number compared is the last usage plus `tail_factor` times an estimate of later items. Files that were read, by
    `cat` too, are attached again, with `file_budget` tokens in all; of a file over `file_tokens` only the path.
    `micro`: "time" clears all but the newest `keep_recent` results after an idle hour; "size", as in 2.1.5 to 2.1.22,
    starts 20,000 tokens below the threshold and clears the oldest results, except the newest three, until 40,000 tokens
    of results are left, if that frees 20,000; "off" does neither. Results of mcp tools, plans and sub-agents are never
    cleared. Output of a shell over `bash_output_max_chars` characters becomes a preview of `bash_preview_chars` on
    arrival; with 0, as before 2.1.2, it keeps both ends. A refused request is compacted and sent again. The newest
    `keep_exchanges` responses with their results stay, and the summariser doesn't get them: one in 2.1.330 (three after
    the only refusal seen). `summary_tokens` follows recorded summaries: the mean of 22 is 4,060 (2,123 to 6,058).
    """

    source = "Claude Code, as recorded and documented"
    version = "2.1.332"
    read_on = "2026-11"
    decides_by = "usage-tail:unit=utf16"
    summary_head = None  # the same tools, seen when driven; package 2.1.183 shares the cached beginning
    renamed: ClassVar = {"bash_max_output_length": "bash_output_max_chars"}

    auto_compact_window: Count = 0
    autocompact_pct_override: Count = 0
    auto_compact_enabled: bool = True
    max_output_tokens: Count = 0
    proactive: bool = True
    reserve: Count = SHIPPED
    buffer: Count = SHIPPED
    tail_factor: float = SHIPPED
    micro: Literal["time", "size", "off"] = SHIPPED
    keep_recent: Count = SHIPPED
    idle_minutes: Count = SHIPPED
    keep_exchanges: Count = SHIPPED
    files: Count = SHIPPED
    file_tokens: Count = SHIPPED
    file_budget: Count = SHIPPED
    bash_output_max_chars: Positive = SHIPPED
    bash_preview_chars: Count = SHIPPED
    summary_tokens: Positive = 4_000

    def start(self) -> None:
        self._asked_s: float | None = None

    @property
    def _room(self) -> int:
        """The window less what is reserved for the output."""
        window = min(self.auto_compact_window or self.sees.window, self.sees.window)
        return window - min(self.max_output_tokens or self.reserve, self.reserve)

    def threshold(self) -> float | None:
        if not self.auto_compact_enabled or not (self.proactive or self.auto_compact_window):
            return None
        share = self._room * self.autocompact_pct_override / 100 if self.autocompact_pct_override else self._room
        return max(0, min(share, self._room - self.buffer))

    def on_tool_result(self, item: Item) -> Item:
        length = len(item.text)
        if not is_shell(item.tool) or length <= self.bash_output_max_chars:
            return item
        if not self.bash_preview_chars:
            half = self.bash_output_max_chars // 2
            return item.with_text(ends_of(item.text, half, half, "\n\n... [{left} characters truncated] ...\n\n"))
        told = f"Output too large to show: {length:,} characters are in the file tool-{item.place}.txt."
        return item.with_text(f"{told}\n\nPreview:\n{item.text[: self.bash_preview_chars]}\n...")

    def before_call(self, view: View) -> View:
        idle = self._asked_s is not None and self.sees.now_s - self._asked_s >= 60 * self.idle_minutes
        self._asked_s = self.sees.now_s
        if self.micro == "time" and idle:
            view = clear_old(view, self.keep_recent, f"idle for {self.idle_minutes} minutes", _clears)
        limit = self.threshold()
        if self.micro == "size" and self._used(view) >= (self._room if limit is None else limit) - WARNED:
            view = self._cleared(view)
        used = self._used(view)
        if limit is None or used < limit:
            return view
        return self._compacted(view, f"{used:,} tokens are {limit:,.0f} or more") or view

    def _used(self, view: View) -> int:
        estimated, usage = self.sees.estimate(view), self.sees.usage
        known = usage.total_tokens if usage else 0
        return estimated + round((self.tail_factor - 1) * max(0, estimated - known))

    def on_overflow(self, view: View, error: Overflow) -> View | None:
        return self._compacted(view, "the provider refused: window exceeded") if self.auto_compact_enabled else None

    def _compacted(self, view: View, reason: str) -> View | None:
        answered = reversed(view.exchanges())
        staying = list(takewhile(lambda exchange: exchange[-1].kind == "tool_result", answered))[: self.keep_exchanges]
        old = view[: len(view) - sum(map(len, staying))]
        made = condense(self, view, old, reason, self.summary_tokens)
        return None if made is None else self._with_files(made, files_read(view, by_cat=True))

    def _cleared(self, view: View) -> View:
        results = [item for item in view.results if _clears(item.tool)]
        total, saved = self.sees.size_of(results), 0
        old: list[int] = []
        for item in results[:-3]:
            if total - saved <= 40_000:
                break
            if item.text != CLEARED:
                old.append(item.place)
                saved += self.sees.size_of([item])
        if saved < 20_000:
            return view
        return view.rewrite(dict.fromkeys(old, CLEARED), f"{total:,} tokens of results are over 40,000")

    def _with_files(self, view: View, files: Mapping[str, Item]) -> View:
        left = self.file_budget
        for path, file in islice(files.items(), self.files):
            text = file.text
            if len(text) > 4 * self.file_tokens:
                text = f"{path} was read before the summary and is too large to show again."
            left -= -(-len(text) // 4)
            if left < 0:
                break
            view = view.insert(text, view[-1].order + 1, "read lately: attached again", sources=[file.place])
        return view
