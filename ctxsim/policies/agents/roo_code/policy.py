"""Roo Code: one summary replaces everything, or half of the messages are hidden."""

from typing import ClassVar

from ctxsim.policies.agents.shared.history import condense
from ctxsim.policies.policy import SHIPPED, Count, Overflow, Policy, Positive
from ctxsim.transcript import Usage
from ctxsim.view import View


class RooCode(Policy):
    """Over 90 % of the window less the reserved output: one summary of all; if that fails, the older half is hidden.

    RooCodeInc/Roo-Code, src/core/context-management/index.ts, src/core/condense/index.ts. The number compared is the
    last usage plus 1.5 times the o200k tokens of the last message alone, so parallel results in several messages don't
    count. `auto_condense_context_percent` of the window is a second threshold. `max_tokens` is the reserved output: all
    that Roo Code declares for a GPT-5, 8,192 for a Claude or if none is declared; for other models what is declared, at
    most a fifth of the window. Without usage nothing happens. After a refusal, the second threshold is 75 %; below both
    thresholds nothing changes and the call fails (upstream sends the same request three more times first).
    """

    source = "RooCodeInc/Roo-Code"
    version = "cb836567180"
    read_on = "2026-04"
    decides_by = "tokenizer:factor=1.5"
    retries = 3

    renamed: ClassVar = {"auto_condense_percent": "auto_condense_context_percent"}

    auto_condense_context: bool = True
    auto_condense_context_percent: Positive = SHIPPED
    max_tokens: Count = SHIPPED
    summary_tokens: Positive = 1_500

    def start(self) -> None:
        self._used = 0

    def after_call(self, view: View, usage: Usage) -> View:
        self._used = usage.total_tokens
        return view

    def before_call(self, view: View) -> View:
        return self._managed(view, self.auto_condense_context_percent)

    def on_overflow(self, view: View, error: Overflow) -> View | None:
        made = self._managed(view, 75)
        return None if made is view else made

    def _managed(self, view: View, percent: int) -> View:
        if not self._used or not view:
            return view
        window = self.sees.window
        newest = view[-1].message
        used = self._used + self.sees.size_of([item for item in view if item.message == newest])
        allowed = 0.9 * window - self.max_tokens
        reason = f"{used:,} tokens of {window:,}"
        if self.auto_condense_context and (100 * used / window >= percent or used > allowed):
            made = condense(self, view, list(view), reason, self.summary_tokens)
            if made is not None:
                self._used = 0
                return made
        return self._half_hidden(view, reason) if used > allowed else view

    def _half_hidden(self, view: View, reason: str) -> View:
        """The view without the older half of the messages after the first, and without results of dropped calls."""
        messages = view.messages()
        count = (len(messages) - 1) // 2 // 2 * 2
        old = {item.place for message in messages[1 : 1 + count] for item in message}
        gone = old | {item.place for item in view if item.answers in old}
        if not gone:
            return view
        made = view.drop(gone, reason)
        at = next((item.order for item in made[len(messages[0]) :]), view[-1].order + 1)
        self._used = 0
        return made.insert(f"[Sliding window truncation: {count} messages hidden to reduce context]", at, reason)
