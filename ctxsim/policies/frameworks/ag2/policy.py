"""AG2's limits: numbers of events, or tokens; events that the cut leaves without their call leave too."""

from dataclasses import dataclass

from ctxsim.policies.frameworks.chat import Message, flat, items_of, messages, only, packed
from ctxsim.policies.policy import Count, Policy, Positive
from ctxsim.view import View

Event = list[Message]
"""A user's text, a response, or all results that follow one."""


def answerable(events: list[Event], start: int) -> list[Event]:
    """Return the events from a start on without results whose calls stood before it; never nothing."""
    while True:
        asked = {call.place for event in events[start:] for call in event[0].calls}
        kept = [event for event in events[start:] if event[0].role != "tool" or _answers(event) <= asked]
        if kept or start <= 0:
            return kept
        start -= 1


def _answers(event: Event) -> set[int | None]:
    return {result.items[0].answers for result in event}


class OfAg2(Policy, abstract=True):
    """What its policies share."""

    decides_by = "ag2"
    source = "ag2ai/ag2"
    version = "ag2 1.2.1"
    read_on = "2026-11-25"


@dataclass
class Ag2Sliding(OfAg2):
    """Send the last `max_events` events. ag2/policies/sliding_window.py, SlidingWindowPolicy; no default upstream.

    With `keep_first` the first user's text takes a place of them: ag2/middleware/builtin/history_limiter.py,
    HistoryLimiter. Results of one response are one event. `transparent` isn't modelled: it adds to the system prompt.
    """

    per_request = True

    max_events: Positive = 50
    keep_first: bool = False

    def before_call(self, view: View) -> View:
        events = packed(messages(view))
        if len(events) <= self.max_events:
            return view
        first = events[:1] if self.keep_first and events[0][0].role == "user" else []
        size = self.max_events - len(first)
        rest = events[len(first) :]
        kept = [*first, *(answerable(rest, len(rest) - size) if size else [])]
        return only(view, flat(kept), f"before the last {self.max_events} events")


@dataclass
class Ag2TokenLimiter(OfAg2):
    """Over `max_tokens` send the first user's text and the newest events that fit with it; the newest whatever it has.

    ag2/middleware/builtin/token_limiter.py, TokenLimiter. The system prompt isn't counted. No default upstream: 0 is
    the model's window.
    """

    per_request = True

    max_tokens: Count = 0

    def threshold(self) -> float:
        return self.max_tokens or self.sees.window

    def before_call(self, view: View) -> View:
        events, limit = packed(messages(view)), self.threshold()
        sizes = [self.sees.estimator.messages([items_of(event)]) for event in events]
        if sum(sizes) <= limit:
            return view
        first = int(events[0][0].role == "user")
        start, size = len(events), sum(sizes[:first])
        while start > first and (start == len(events) or size + sizes[start - 1] <= limit):
            start -= 1
            size += sizes[start]
        kept = [*events[:first], *answerable(events[first:], start - first)]
        return only(view, flat(kept), f"over {limit:,} tokens")


@dataclass
class Ag2TailWindow(OfAg2):
    """Over `max_events` events, or `max_tokens`, keep the last `target`. They are gone for good, the task with them.

    ag2/compact.py, TailWindowCompact with CompactTrigger. A window that begins with results begins one event later.
    Upstream looks when a turn is over, here before each request, as it was recorded. It must be told all three
    numbers; 0 never acts.
    """

    target: Positive = 25
    max_events: Count = 50
    max_tokens: Count = 0

    def threshold(self) -> float | None:
        return self.max_tokens or None

    def before_call(self, view: View) -> View:
        events = packed(messages(view))
        many = 0 < self.max_events < len(events)
        if not many and not (self.max_tokens and self.sees.estimator.messages(map(items_of, events)) > self.max_tokens):
            return view
        start = max(0, len(events) - self.target)
        while 0 < start < len(events) and len(answerable(events, start)) < len(events) - start:
            start += 1
        if start >= len(events):
            return view
        return only(view, flat(events[start:]), f"before the last {self.target} events")
