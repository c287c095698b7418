"""Haystack's three compactors: a window of turns and steps with a note, placeholders for results, and summaries."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ctxsim.policies.agents.shared.history import in_place_of
from ctxsim.policies.agents.shared.tools import fitting
from ctxsim.policies.frameworks.chat import Message, counted, first_that, flat, items_of, messages, only, since_usage
from ctxsim.policies.policy import Count, Policy, Positive, Share
from ctxsim.view import View

CLEARED = "[Tool result removed to free up context. Call `{}` again if you need it.]"
SUMMARY = "<conversation_summary>\n{}\n</conversation_summary>"
NOTE = "[{} earlier messages were removed from this conversation to free up context and cannot be recovered.]"

Group = list[Message]


@dataclass
class OfHaystack(Policy, abstract=True):
    """Base class of Haystack's policies: when they act, and to what size.

    By usage if there is any. `context_window` 0 is the model's window; upstream has no default.
    """

    decides_by = "haystack"
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

    @property
    def reason(self) -> str:
        return f"{self.threshold():,.0f} tokens or more"

    def threshold(self) -> float:
        return self._window * self.compact_at

    def before_call(self, view: View) -> View:
        found = messages(view)
        size = self.size(found)
        believed = since_usage(self.sees, found, lambda: size + sum(map(len, self.sees.head.tools)) // 4)
        target = max(0, int(self._window * self.compact_to) - (believed - size))
        if believed < self.threshold() or size <= target:
            return view
        return self.compacted(view, found, target)

    def size(self, found: Sequence[Message]) -> int:
        """Return the tokens of the system prompt and the messages."""
        return counted(self.sees, found, self.sees.head.system)

    @abstractmethod
    def compacted(self, view: View, found: Sequence[Message], target: int) -> View:
        """Return the view with its messages reduced to `target` tokens, if that is possible."""


class HaystackSliding(OfHaystack):
    """From `compact_at` of the window on, keep `compact_to` of it: the newest task, its newest steps, then whole turns.

    deepset-ai/haystack, haystack/hooks/compaction, CompactionHook with SlidingWindowCompactor (experimental). A step is
    a response with its results; the newest `min_keep_steps` stay whatever their size. Of several user texts the newest
    is the task, so the first one may be removed. A note states the number of removed messages, earlier notes included.
    """

    def compacted(self, view: View, found: Sequence[Message], target: int) -> View:
        asked = [n for n, message in enumerate(found) if message.items[0].kind == "user"]
        task = [found[asked[-1]]] if asked else []
        turns = [[message for message in found[start:end] if not _note(message)] for start, end in pairwise(asked)]
        steps = _steps(found[asked[-1] + 1 if asked else 0 :])
        room = target - self.size(task)
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
        after = only(view, kept, self.reason)
        # The note is in front of all messages, or behind the task if some of its own steps were removed.
        following = flat(steps[first:]) if first else kept
        at = following[0].order if following else view[-1].order + 1
        places = [place for message in gone for place in message.places if place >= 0]
        return after.insert(NOTE.format(len(gone)), at, self.reason, sources=places)

    def _first(self, groups: Sequence[Group], room: int) -> int:
        """Index of the first group that stays: the newest groups stay, up to the first that doesn't fit."""
        return len(groups) - fitting((counted(self.sees, group) for group in reversed(groups)), room)


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


class HaystackPrune(OfHaystack):
    """From `compact_at` of the window on, put placeholders in place of the oldest results until `compact_to` is met.

    haystack/hooks/compaction, CompactionHook with ToolResultPruningCompactor. Results of `min_tokens` or less stay, and
    so do those of the newest `min_keep_steps` responses that called tools.
    """

    min_tokens: Count = 200

    def compacted(self, view: View, found: Sequence[Message], target: int) -> View:
        steps = [step[1:] for step in _steps(found) if len(step) > 1]
        newest = {one.places[0] for one in flat(steps[-max(1, self.min_keep_steps) :])}
        texts, tokens = dict[int, str](), self.size(found)
        for result in (one for one in found if one.role == "tool" and one.places[0] not in newest):
            placeholder = result.with_text(CLEARED.format(result.items[0].tool))
            saved = (before := counted(self.sees, [result])) - counted(self.sees, [placeholder])
            if before <= self.min_tokens or saved <= 0:
                continue
            texts[result.places[0]] = placeholder.text
            tokens -= saved
            if tokens <= target:
                break
        return view.rewrite(texts, self.reason)


class HaystackSummarize(OfHaystack):
    """From `compact_at` of the window on, put summaries in the place of turns and steps until `compact_to` is met.

    haystack/hooks/compaction, CompactionHook with SummarizationCompactor. First the oldest turns before the newest
    user text, as few as needed, with room for `approximate_summary_tokens`; then these turns' summaries together; then
    steps after that text, except the newest `min_keep_steps`; then their summaries. It ends if a summary frees nothing.
    """

    approximate_summary_tokens: Positive = 1_024

    def compacted(self, view: View, found: Sequence[Message], target: int) -> View:
        while (size := self.size(found)) > target and (old := self._next(found, target)):
            text = self.sees.summarize(items_of(old), self.approximate_summary_tokens)
            if not text:
                break
            after = in_place_of(view, items_of(old), SUMMARY.format(text), self.reason, old[0].order)
            if self.size(messages(after)) >= size:
                break
            view, found = after, messages(after)
        return view

    def _next(self, found: Sequence[Message], target: int) -> list[Message]:
        """The messages to summarize next; empty if no more may be summarized."""
        asked = [n for n, message in enumerate(found) if message.items[0].kind == "user"]
        task = asked[-1] if asked else -1
        if len(asked) > 1:
            return self._fewest(found, [list(found[start:end]) for start, end in pairwise(asked)], target)
        before = [[one] for one in found[: max(0, task)] if one.items[0].kind == "summary"]
        if len(before) > 1:
            return flat(before[: max(2, len(self._fewest(found, before, target)))])
        steps = _steps(found[task + 1 :])
        if len(steps) > self.min_keep_steps:
            return self._fewest(found, steps[: len(steps) - self.min_keep_steps], target)
        after = [[one] for one in found[task + 1 :] if one.items[0].kind == "summary"]
        return flat(after[: max(2, len(self._fewest(found, after, target)))]) if len(after) > 1 else []

    def _fewest(self, found: Sequence[Message], groups: Sequence[Group], target: int) -> list[Message]:
        """The fewest oldest groups whose removal lets the rest and a summary fit; all groups if that never fits."""

        def fits(count: int) -> bool:
            gone = {message.places[0] for message in flat(groups[:count])}
            rest = [message for message in found if message.places[0] not in gone]
            return self.size(rest) + self.approximate_summary_tokens <= target

        return flat(groups[: first_that(fits, 1, len(groups))])
