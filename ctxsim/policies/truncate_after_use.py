"""Truncate immediately after use: document 001's first approach, which it rejects as too aggressive."""

from dataclasses import dataclass

from ctxsim.policies.policy import Count, Policy
from ctxsim.policies.token_budget import MARKER
from ctxsim.transcript import Usage
from ctxsim.view import View


@dataclass
class TruncateAfterUse(Policy):
    """Cut every tool result to `retain` characters after the next response. Document 001, approach 1."""

    family = "seeds"
    source = "document 001, approach 1"

    retain: Count = 500

    def after_call(self, view: View, usage: Usage) -> View:
        used = {
            item.place: item.text[: self.retain] + MARKER
            for item in view.results
            if not item.media and len(item.text) > self.retain and not item.text.endswith(MARKER)
        }
        return view.rewrite(used, "the model has responded to it")
