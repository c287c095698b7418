"""Round summaries: after a number of tool iterations, one summary replaces the finished ones."""

from ctxsim.policies.agents.shared.history import condense
from ctxsim.policies.policy import Policy, Positive
from ctxsim.view import View


class RoundSummary(Policy):
    """After `every` finished tool iterations, replace them by one billed summary of at most `max_tokens`.

    Document 002, phase 3 (createRoundSummary of its deep research loop). The newest iteration and user texts stay. If
    the summary request itself is refused, nothing changes.
    """

    family = "seeds"
    source = "document 002, phase 3"

    every: Positive = 5
    max_tokens: Positive = 500

    def before_call(self, view: View) -> View:
        rounds = [exchange for exchange in view.exchanges() if any(item.kind == "tool_call" for item in exchange)]
        # The model hasn't responded to the results of the newest one yet.
        finished = rounds[:-1]
        if len(finished) < self.every:
            return view
        old = [item for exchange in finished for item in exchange]
        reason = f"{len(finished)} tool iterations since the last round summary"
        return condense(self, view, old, reason, self.max_tokens, rounds[-1][0].order) or view
