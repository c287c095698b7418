"""Crush: a summary replaces everything when little of the window is left."""

from ctxsim.policies.agents.shared.history import asked_at, condense, history_of, last_asked, newly_asked, run_ended
from ctxsim.policies.agents.shared.tools import ends_of, is_shell
from ctxsim.policies.policy import SHIPPED, Count, Policy, Positive, Share
from ctxsim.transcript import Item, Usage
from ctxsim.view import View


class Crush(Policy):
    """When 20,000 tokens are left of a window over 200,000, or 20 % of a smaller one: one summary of everything.

    charmbracelet/crush, internal/agent/agent.go, usage_fallback.go. The number is each step's input, cache reads and
    output; cache writes don't count. If usage is zero, (bytes + 3) / 4 of the texts stands for it. Pending results are
    in the summary. The user's request is then repeated inside a sentence, and again inside another one each time.
    `disable_auto_summarize` disables all of that. A refused request isn't handled. Output of a shell keeps 30,000
    characters at its ends on arrival.
    """

    source = "charmbracelet/crush"
    version = "37f36e93824"
    read_on = "2026-08"
    decides_by = "bytes"

    large_context_window_threshold: Count = SHIPPED
    large_context_window_buffer: Count = SHIPPED
    small_context_window_ratio: Share = SHIPPED
    disable_auto_summarize: bool = False
    summary_tokens: Positive = 1_500

    def start(self) -> None:
        self._used: int | None = None
        self._prompt = ""

    def on_tool_result(self, item: Item) -> Item:
        if not is_shell(item.tool):
            return item
        return item.with_text(ends_of(item.text, 15_000, 15_000, "\n... [{left} characters truncated] ...\n"))

    def after_call(self, view: View, usage: Usage) -> View:
        read = usage.input_tokens - (usage.cache_write_tokens or 0)
        self._used = read + (usage.output_tokens or 0) or self.sees.estimate(view)
        return view

    def before_call(self, view: View) -> View:
        asked = last_asked(view)
        if asked >= 0:
            self._prompt = view[asked].text
        used, self._used = self._used, None
        window = self.sees.window
        large = window > self.large_context_window_threshold
        room = self.large_context_window_buffer if large else self.small_context_window_ratio * window
        if used is None or window - used > room or self.disable_auto_summarize:
            return view
        reason = f"{window - used:,} tokens are left"
        pending = newly_asked(view)
        made = condense(self, view, history_of(view), reason, self.summary_tokens, asked_at(view))
        if made is None or pending or run_ended(view):
            return made or view
        self._prompt = (
            "The session before was interrupted because it got too long, the first request of the user was: "
            f"`{self._prompt}`"
        )
        return made.insert(self._prompt, made[-1].order + 1, reason)
