"""Summarise the old part of the conversation at a share of the window."""

from ctxsim.policies.agents.shared.history import condense
from ctxsim.policies.policy import Policy, Positive, Share
from ctxsim.view import View


def summarize_old(policy: Policy, view: View, keep_last: int, max_tokens: int, reason: str) -> View:
    """Return the view with everything but the last `keep_last` messages replaced by one billed summary.

    The kept tail is extended backwards to a whole exchange, so that no result loses its call. The view is unchanged if
    the old part holds nothing but an earlier summary, or if the summary request itself is refused.
    """
    messages = view.messages()
    start = max(0, len(messages) - keep_last)
    while start > 0 and messages[start][0].kind == "tool_result":
        start -= 1
    old = [item for message in messages[:start] for item in message]
    return condense(policy, view, old, reason, max_tokens) or view


class Summary(Policy):
    """Over `at` of the window, send head + summary + last `keep_last` messages. Document 003, layer 3.

    One billed summary call of at most `max_tokens` output. If that request itself is refused, nothing changes.
    """

    family = "seeds"
    source = "document 003, layer 3"

    at: Share = 0.7
    keep_last: Positive = 10
    max_tokens: Positive = 500

    def threshold(self) -> float:
        return self.at * self.sees.window

    def before_call(self, view: View) -> View:
        estimate = self.sees.estimate(view)
        if estimate <= self.threshold():
            return view
        reason = f"estimate {estimate:,} over {self.at:.0%} of the window ({self.sees.window:,})"
        return summarize_old(self, view, self.keep_last, self.max_tokens, reason)
