"""Kimi CLI: a summary and the last two messages."""

from ctxsim.policies.agents.shared.history import condense
from ctxsim.policies.policy import SHIPPED, Count, Policy, Positive, Share
from ctxsim.view import View


class KimiCli(Policy):
    """From `compaction_trigger_ratio` of the window on, or with `reserved_context_size` left: a summary, two messages.

    MoonshotAI/kimi-cli, src/kimi_cli/soul/compaction.py (SimpleCompaction), kimisoul.py. Checked before each step, by
    the last usage plus an estimate of later items. `max_preserved_messages` counts the user's and the model's messages;
    tool results stay with their response. The summariser gets no tool calls. A refused request isn't handled.
    """

    source = "MoonshotAI/kimi-cli"
    decides_by = "usage-tail"

    compaction_trigger_ratio: Share = SHIPPED
    reserved_context_size: Count = SHIPPED
    max_preserved_messages: Positive = SHIPPED
    summary_tokens: Positive = 1_500

    def threshold(self) -> float:
        window = self.sees.window
        return max(0, min(self.compaction_trigger_ratio * window, window - self.reserved_context_size))

    def before_call(self, view: View) -> View:
        used = self.sees.estimate(view)
        if used < self.threshold():
            return view
        messages = view.messages()
        spoken = [number for number, message in enumerate(messages) if message[0].kind != "tool_result"]
        if len(spoken) <= self.max_preserved_messages:
            return view
        start = spoken[-self.max_preserved_messages]
        old = [item for message in messages[:start] for item in message]
        shown = [item for item in old if item.kind != "tool_call"]
        reason = f"{used:,} tokens are {self.threshold():,.0f} or more"
        return condense(self, view, old, reason, self.summary_tokens, shown=shown) or view
