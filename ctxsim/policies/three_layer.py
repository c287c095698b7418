"""The three-layer manager: results cut on arrival, tokens tracked as items are added, compaction to a short summary."""

from ctxsim.policies.head_tail import head_tail
from ctxsim.policies.policy import Count, Policy, Positive, Share, Stop
from ctxsim.policies.summary import summarize_old
from ctxsim.transcript import Item
from ctxsim.view import View


class ThreeLayer(Policy):
    """Document 003 as a whole. From `at` of the window on: head + summary + last `keep_last` messages; at `stop`: stop.

    Where the document contradicts itself: both limits of layer 1 hold; tokens are tracked as items are added, so before
    the call; "at 70 %" includes 70 %; the summary covers every dropped item, not only user messages, in at most
    `max_tokens` (2 or 3 sentences); compaction happens before the next request instead of in parallel.
    """

    family = "seeds"
    source = "document 003"

    at: Share = 0.7
    stop: Share = 0.95
    keep_last: Positive = 10
    max_tokens: Positive = 120
    lines: Positive = 128
    bytes: Count = 10_240

    def threshold(self) -> float:
        return self.at * self.sees.window

    def on_tool_result(self, item: Item) -> Item:
        return item.with_text(head_tail(item.text, self.lines, self.bytes))

    def before_call(self, view: View) -> View | Stop:
        used = self.sees.estimate(view)
        # Document 003's ErrCompactionNeeded, raised when the last item was added.
        if used >= self.threshold():
            reason = f"estimate at {used / self.sees.window:.0%} of the window"
            view = summarize_old(self, view, self.keep_last, self.max_tokens, reason)
        used = self.sees.estimate(view)
        if used >= self.stop * self.sees.window:
            return Stop(f"{used:,} tokens are {self.stop:.0%} of the window ({self.sees.window:,}) or more")
        return view
