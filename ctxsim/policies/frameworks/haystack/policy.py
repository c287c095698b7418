"""Haystack's sliding window: whole turns and whole steps, the newest task, and a note of what left."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ctxsim.policies.frameworks.shared.messages import Message, counted, flat, messages, only, since_usage
from ctxsim.policies.policy import Count, Policy, Share
from ctxsim.view import View

NOTE = "[{} earlier messages were removed from this conversation to free up context and cannot be recovered.]"

Group = list[Message]


@dataclass
class HaystackSliding(Policy):
    """From `compact_at` of the window on, keep `compact_to` of it: the newest task, its newest steps, then whole turns.

    deepset-ai/haystack, haystack/hooks/compaction, CompactionHook with SlidingWindowCompactor (experimental). A step is
    a response with its results; the newest `min_keep_steps` stay whatever they take. Of several users' texts the
    newest is the task, so the first one leaves. A note says how many messages left, and the note before is one of them.
    By usage where there is some. `context_window` 0 is the model's: upstream must be told.
    """

    decides_by = "haystack"
    family = "frameworks"
    source = "deepset-ai/haystack"
    version = "haystack-ai 3.4.1"
    read_on = "2026-11-22"

    context_window: Count = 0
    compact_at: Share = 0.7
    compact_to: Share = 0.4
    min_keep_steps: Count = 1

    @property
    def _window(self) -> int:
        return self.context_window or self.sees.window

    def threshold(self) -> float:
        return self._window * self.compact_at

    def before_call(self, view: View) -> View:
        found = messages(view)
        size = self._size(found)
        since = since_usage(self.sees, found)
        tools = sum(map(len, self.sees.head.tools)) // 4
        believed = size + tools if since is None else since
        target = max(0, int(self._window * self.compact_to) - (believed - size))
        if believed < self.threshold() or size <= target:
            return view
        return self._compacted(view, found, target)

    def _size(self, found: Sequence[Message]) -> int:
        return counted(self.sees, found, self.sees.head.system)

    def _compacted(self, view: View, found: Sequence[Message], target: int) -> View:
        asked = [n for n, message in enumerate(found) if message.items[0].kind == "user"]
        task = [found[asked[-1]]] if asked else []
        turns = [[message for message in found[start:end] if not _note(message)] for start, end in pairwise(asked)]
        steps = _steps(found[asked[-1] + 1 if asked else 0 :])
        room = target - self._size(task)
        working = counted(self.sees, flat(steps))
        if working > room:
            turns = []
            first = min(self._first(steps, room), max(len(steps) - self.min_keep_steps, 0))
        else:
            turns = turns[self._first(turns, room - working) :]
            first = 0
        kept = [*flat(turns), *task, *flat(steps[first:])]
        gone = [message for message in found if message not in kept]
        if all(map(_note, gone)):
            return view
        reason = f"{self.threshold():,.0f} tokens or more"
        after = only(view, kept, reason)
        # The note stands in front of all, or behind the task if its own steps left.
        following = flat(steps[first:]) if first else kept
        at = following[0].order if following else view[-1].order + 1
        places = [place for message in gone for place in message.places if place >= 0]
        return after.insert(NOTE.format(len(gone)), at, reason, sources=places)

    def _first(self, groups: Sequence[Group], room: int) -> int:
        """Index of the first group that stays, counted from the newest until one doesn't fit."""
        first = len(groups)
        while first > 0 and (size := counted(self.sees, groups[first - 1])) <= room:
            room -= size
            first -= 1
        return first


def _note(message: Message) -> bool:
    return message.items[0].kind == "note"


def _steps(found: Sequence[Message]) -> list[Group]:
    """Responses, each with the results that follow it."""
    steps: list[Group] = []
    joined = False
    for message in found:
        if message.role == "assistant":
            steps.append([message])
        elif message.role == "tool" and joined:
            steps[-1].append(message)
        joined = message.role != "user" and bool(steps)
    return steps
