"""A budget in approximate tokens: the pruning of `char-budget`, by an estimate and the model's window."""

from typing import ClassVar

from ctxsim.policies.char_budget import prune
from ctxsim.policies.policy import Count, Policy, Positive
from ctxsim.view import View


class TokenApproxBudget(Policy):
    """Over `budget` tokens (ceil(length / 3); 0: the window), drop old tool exchanges, then all but the last turns.

    Document 002, phase 1: 32,000 unless the active model's window is known.
    """

    family = "seeds"
    source = "document 002, phase 1"

    decides_by = "chars:ratio=3,unit=utf16"
    renamed: ClassVar = {"tokens": "budget"}

    budget: Count = 32_000
    keep_tools: Count = 10
    keep_turns: Positive = 12

    def threshold(self) -> float:
        return self.budget or self.sees.window

    def before_call(self, view: View) -> View:
        limit = self.threshold()
        reason = f"estimate over {limit:,.0f} tokens"
        return prune(view, self.sees.estimate, limit, self.keep_tools, self.keep_turns, reason)
