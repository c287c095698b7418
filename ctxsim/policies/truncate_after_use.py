"""Truncate immediately after use: document 001's first approach, which it rejects as too aggressive."""

from ctxsim.policies.policy import Count, Policy
from ctxsim.policies.token_budget import cut
from ctxsim.transcript import Usage
from ctxsim.view import View


class TruncateAfterUse(Policy):
    """Cut every tool result to `retain` characters after the next response. Document 001, approach 1."""

    family = "seeds"
    source = "document 001, approach 1"

    retain: Count = 500

    def after_call(self, view: View, usage: Usage) -> View:
        return view.rewrite(cut(view.results, self.retain), "the model has responded to it")
