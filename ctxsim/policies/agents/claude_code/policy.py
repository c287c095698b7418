"""Claude Code: old results are cleared, then everything becomes a summary beside the files read last."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from ctxsim.policies.agents.shared.condense import condense
from ctxsim.policies.agents.shared.cuts import ends_of
from ctxsim.policies.agents.shared.idle import CLEARED, clear_old
from ctxsim.policies.agents.shared.tools import files_read, is_shell
from ctxsim.policies.policy import Count, Policy, Positive
from ctxsim.transcript import Item
from ctxsim.view import View

NEVER_CLEARED = frozenset(("task", "agent", "todowrite", "askuserquestion", "exitplanmode", "skill"))


def _clears(tool: str) -> bool:
    return not tool.startswith("mcp__") and tool.lower() not in NEVER_CLEARED


@dataclass
class ClaudeCode(Policy):
    """From the window less `reserve` and `buffer` on: one summary, and up to `files` files that were read last.

    Closed source. The thresholds are those of 19 automatic compactions in recorded sessions: 167,000 of a window of
    200,000, and 155,000 in versions to 2.1.19, which reserved 32,000 (`reserve=32000`). The number compared is the
    last usage and an estimate of what joined since. Files come again with `file_tokens` each and `file_budget`
    together. `micro`: "time" clears results but the newest `keep_recent` after an idle hour, "size", of versions to
    2.1.2x, the oldest ones over 40,000 tokens of results, but for the newest three, if that frees 20,000; "off"
    neither. Results of mcp tools, plans and sub-agents are never cleared. Output of a shell keeps 30,000 characters
    at its ends on arrival. A refused request ends the turn. `summary_tokens` is what recorded summaries have: the mean
    of 22 is 4,060 (2,123 to 6,058).
    """

    family = "agents"
    source = "Claude Code, as recorded and documented"
    version = "2.1"
    read_on = "2026-11"
    decides_by: ClassVar[str] = "usage-tail:unit=utf16"

    reserve: Count = 20_000
    buffer: Count = 13_000
    micro: Literal["time", "size", "off"] = "time"
    keep_recent: Count = 5
    idle_minutes: Count = 60
    files: Count = 5
    file_tokens: Count = 5_000
    file_budget: Count = 50_000
    bash_max_output_length: Positive = 30_000
    summary_tokens: Positive = 4_000

    def start(self) -> None:
        self._asked_s: float | None = None

    def threshold(self) -> float:
        return max(0, self.sees.window - self.reserve - self.buffer)

    def on_tool_result(self, item: Item) -> Item:
        half = self.bash_max_output_length // 2
        mark = "\n\n... [{left} characters truncated] ...\n\n"
        return item.with_text(ends_of(item.text, half, half, mark)) if is_shell(item.tool) else item

    def before_call(self, view: View) -> View:
        idle = self._asked_s is not None and self.sees.now_s - self._asked_s >= 60 * self.idle_minutes
        self._asked_s = self.sees.now_s
        if self.micro == "time" and idle:
            view = clear_old(view, self.keep_recent, f"idle for {self.idle_minutes} minutes", _clears)
        elif self.micro == "size":
            view = self._cleared(view)
        used = self.sees.estimate(view)
        if used < self.threshold():
            return view
        reason = f"{used:,} tokens are {self.threshold():,} or more"
        made = condense(self, view, list(view), reason, self.summary_tokens)
        return view if made is None else self._with_files(made, files_read(view))

    def _cleared(self, view: View) -> View:
        sizes = {item.place: self.sees.estimator.item(item) for item in view.results if _clears(item.tool)}
        total, saved = sum(sizes.values()), 0
        old: list[int] = []
        for place in list(sizes)[:-3]:
            if total - saved <= 40_000:
                break
            item = view.find(place)
            if item is not None and item.text != CLEARED:
                old.append(place)
                saved += sizes[place]
        if saved < 20_000:
            return view
        return view.rewrite(dict.fromkeys(old, CLEARED), f"{total:,} tokens of results are over 40,000")

    def _with_files(self, view: View, files: list[Item]) -> View:
        left = self.file_budget
        for file in files[: self.files]:
            text = file.text[: 4 * self.file_tokens]
            left -= -(-len(text) // 4)
            if left < 0:
                break
            view = view.insert(text, view[-1].order + 1, "read lately: attached again", sources=[file.place])
        return view
