"""Google's Agent Development Kit: a summary at a threshold, or the last invocations only."""

from itertools import pairwise

from ctxsim.policies.agents.shared.history import results_cut
from ctxsim.policies.frameworks.chat import counted, in_place_of, items_of, messages, only, packed
from ctxsim.policies.policy import SHIPPED, Count, Policy, Positive
from ctxsim.transcript import Usage
from ctxsim.view import View

SHOWN = 2_000
"""Characters of a call's arguments and of a result that the summarizer sees."""


class _OfAdk(Policy, abstract=True):
    decides_by = "adk"
    source = "google/adk-python"
    version = "google-adk 2.13.0"


class AdkCompact(_OfAdk):
    """From `token_threshold` on, put a summary in the place of all but the last `event_retention_size` events.

    google/adk/apps/compaction.py, by token threshold: the input tokens last reported since the last summary, or an
    estimate without the head. A response is one event, and so are its results together; a tail that begins with results
    is extended to their call. An earlier summary is summarized again; nothing happens if the other old items have no
    more characters than it. The task isn't kept. Upstream has no defaults: a threshold of 0 is the model's window.
    """

    token_threshold: Count = 0
    event_retention_size: Count = SHIPPED
    summary_tokens: Positive = 1_000

    def start(self) -> None:
        self._reported: int | None = None

    def threshold(self) -> float:
        return self.token_threshold or self.sees.window

    def after_call(self, view: View, usage: Usage) -> View:
        self._reported = usage.input_tokens
        return view

    def before_call(self, view: View) -> View:
        tokens = counted(self.sees, messages(view)) if self._reported is None else self._reported
        if tokens < self.threshold():
            return view
        events = packed(view)
        summaries = sum(event.items[0].kind == "summary" for event in events)
        if len(events) - summaries <= self.event_retention_size:
            return view
        start = len(events) - self.event_retention_size
        while 0 < start < len(events) and events[start].role == "tool":
            start -= 1
        old = events[:start]
        if sum(-len(item.text) if item.kind == "summary" else len(item.text) for item in items_of(old)) <= 0:
            return view
        shown = results_cut(items_of(old), SHOWN, ("tool_call", "tool_result"))
        text = self.sees.summarize(shown, self.summary_tokens)
        if text is None:
            return view
        self._reported = None
        return in_place_of(view, old, text, f"{self.threshold():,.0f} tokens or more")


class AdkFilter(_OfAdk):
    """Send the last `num_invocations_to_keep` invocations once there are `remove_amount` more than that.

    google/adk/plugins/context_filter_plugin.py, ContextFilterPlugin. An invocation begins with consecutive texts of the
    user. With one task and no later text, nothing is ever dropped. Upstream has no default number.
    """

    per_request = True

    num_invocations_to_keep: Positive = SHIPPED
    remove_amount: Positive = SHIPPED

    def before_call(self, view: View) -> View:
        found = messages(view)
        asked = [message.role == "user" for message in found]
        starts = [n for n, (before, now) in enumerate(pairwise([False, *asked])) if now and not before]
        if len(starts) < self.num_invocations_to_keep + self.remove_amount:
            return view
        kept = found[starts[-self.num_invocations_to_keep] :]
        return only(view, kept, f"before the last {self.num_invocations_to_keep} invocations")
