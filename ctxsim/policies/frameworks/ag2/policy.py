"""AG2's limits on the number of events or tokens. Results whose call was cut off are removed too."""

from ctxsim.policies.agents.shared.tools import fitting
from ctxsim.policies.frameworks.chat import Message, counted, each_counted, only, packed
from ctxsim.policies.policy import Count, Policy, Positive
from ctxsim.view import View


def answerable(events: list[Message], start: int) -> list[Message]:
    """Return the events from `start` on, without results of earlier calls. If none is left, it starts earlier."""
    while True:
        asked = {call.place for event in events[start:] for call in event.calls}
        kept = [one for one in events[start:] if one.role != "tool" or all(item.answers in asked for item in one.items)]
        if kept or start <= 0:
            return kept
        start -= 1


class _OfAg2(Policy, abstract=True):
    decides_by = "ag2"
    source = "ag2ai/ag2"
    version = "ag2 1.2.1"
    read_on = "2026-11-25"


class Ag2Sliding(_OfAg2):
    """Send the last `max_events` events. ag2/policies/sliding_window.py, SlidingWindowPolicy; no default upstream.

    With `keep_first` the first user's text is one of them: ag2/middleware/builtin/history_limiter.py, HistoryLimiter.
    Results of one response are one event. `transparent`, which adds to the system prompt, isn't modelled.
    """

    per_request = True

    max_events: Positive = 50
    keep_first: bool = False

    def before_call(self, view: View) -> View:
        events = packed(view)
        if len(events) <= self.max_events:
            return view
        first = events[:1] if self.keep_first and events[0].role == "user" else []
        size = self.max_events - len(first)
        rest = events[len(first) :]
        kept = [*first, *(answerable(rest, len(rest) - size) if size else [])]
        return only(view, kept, f"before the last {self.max_events} events")


class Ag2TokenLimiter(_OfAg2):
    """Over `max_tokens` send the first user's text and the newest events that fit with it, but always the newest one.

    ag2/middleware/builtin/token_limiter.py, TokenLimiter. The system prompt isn't counted. No default upstream: 0 is
    the model's window.
    """

    per_request = True

    max_tokens: Count = 0

    def threshold(self) -> float:
        return self.max_tokens or self.sees.window

    def before_call(self, view: View) -> View:
        events, limit = packed(view), self.threshold()
        sizes = each_counted(self.sees, events)
        if sum(sizes) <= limit:
            return view
        first = int(events[0].role == "user")
        newest = max(1, fitting(reversed(sizes[first:]), limit - sum(sizes[:first])))
        kept = [*events[:first], *answerable(events[first:], max(0, len(events) - first - newest))]
        return only(view, kept, f"over {limit:,} tokens")


class Ag2TailWindow(_OfAg2):
    """Over `max_events` events, or `max_tokens`, keep the last `target`. The others are dropped for good, the task too.

    ag2/compact.py, TailWindowCompact with CompactTrigger. A window that begins with results begins one event later.
    Upstream checks at the end of a turn; here it is before each recorded request. Upstream has no defaults; a limit of
    0 never acts.
    """

    target: Positive = 25
    max_events: Count = 50
    max_tokens: Count = 0

    def threshold(self) -> float | None:
        return self.max_tokens or None

    def before_call(self, view: View) -> View:
        events = packed(view)
        many = 0 < self.max_events < len(events)
        if not many and not (self.max_tokens and counted(self.sees, events) > self.max_tokens):
            return view
        start = max(0, len(events) - self.target)
        while 0 < start < len(events) and len(answerable(events, start)) < len(events) - start:
            start += 1
        if start >= len(events):
            return view
        return only(view, events[start:], f"before the last {self.target} events")
