"""Round summaries: every so many tool iterations, finished ones become one entry of working memory."""

from dataclasses import dataclass

from ctxsim.policies.agents.shared.condense import condense
from ctxsim.policies.policy import Policy, Positive
from ctxsim.view import View


@dataclass
class RoundSummary(Policy):
    """After `every` tool iterations, one billed summary of at most `max_tokens` replaces them; the newest stays.

    Document 002, phase 3 (createRoundSummary of its deep research loop). User texts stay where they are; if the summary
    request itself is refused, nothing changes.
    """

    family = "seeds"
    source = "document 002, phase 3"

    every: Positive = 5
    max_tokens: Positive = 500

    def before_call(self, view: View) -> View:
        rounds = [exchange for exchange in view.exchanges() if any(item.kind == "tool_call" for item in exchange)]
        # The results of the newest one have not been answered yet.
        finished = rounds[:-1]
        if len(finished) < self.every:
            return view
        old = [item for exchange in finished for item in exchange]
        reason = f"{len(finished)} tool iterations since the last round summary"
        return condense(self, view, old, reason, self.max_tokens, rounds[-1][0].order) or view
