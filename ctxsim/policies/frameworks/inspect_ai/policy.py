"""Inspect's strategies: clear old results, trim a share of the messages, or summarize; else the run ends."""

import math
from abc import abstractmethod
from collections.abc import Sequence

from ctxsim.policies.frameworks.chat import Message, counted, in_place_of, items_of, messages, only
from ctxsim.policies.policy import Count, Overflow, Policy, Positive, Share, Stop
from ctxsim.transcript import Head, Item, Usage
from ctxsim.view import View

CLEARED = "(Tool result removed)"
PASSES = 4
SUMMARY = "[CONTEXT COMPACTION SUMMARY]\n\n"


class OfInspect(Policy, abstract=True):
    """Base class of Inspect's strategies: when they act, how often, and when they give up."""

    decides_by = "inspect"
    source = "UKGovernmentBEIS/inspect_ai"
    version = "inspect-ai 0.3.285"
    read_on = "2026-11-22"
    retries = 1  # a refusal forces one compaction; a second one ends the run

    at: float

    @abstractmethod
    def compacted(self, view: View) -> View:
        """Return the view after one pass."""

    def start(self) -> None:
        self._baseline: tuple[int, int] | None = None  # input tokens, and the first place that they don't include

    def threshold(self) -> float:
        return int(self.at if self.at > 1 else self.at * self.sees.window)

    def before_call(self, view: View) -> View | Stop:
        return self._under_limit(view) if self._believed(view) > self.threshold() else view

    def on_overflow(self, view: View, error: Overflow) -> View | None:
        smaller = self._under_limit(view)
        return None if isinstance(smaller, Stop) else smaller

    def after_call(self, view: View, usage: Usage) -> View:
        found = messages(view)
        if found:
            answered = found[-1].role == "assistant"
            self._baseline = usage.input_tokens, found[-1].places[0] if answered else found[-1].places[-1] + 1
        return view

    def _believed(self, view: View) -> int:
        if self._baseline is None:
            return self._counted(messages(view))
        tokens, first = self._baseline
        return tokens + counted(self.sees, [one for one in messages(view) if one.places[0] >= first])

    def _counted(self, found: Sequence[Message]) -> int:
        head = self.sees.head
        return counted(self.sees, found, head.system) + sum(map(self.sees.estimator.text, head.tools))

    def _under_limit(self, view: View) -> View | Stop:
        """The view after up to four passes, as long as each frees tokens; `Stop` if it is still too large."""
        after, total = view, math.inf
        for _ in range(PASSES):
            before, after = total, self.compacted(after)
            total = self._counted(messages(after))
            if total <= self.threshold() or total >= before:
                break
        if total > self.threshold():
            # The edits are discarded: the next request begins with the same view.
            return Stop(
                f"Compaction insufficient: {total:,} tokens still exceed the threshold of {self.threshold():,.0f}"
            )
        self._baseline = None
        return after


class InspectEdit(OfInspect):
    """Over `at` of the window (or so many tokens), clear all but the newest `keep_tool_uses` results. Edits last.

    `at` is upstream's `threshold`. inspect_ai/model/_compaction/edit.py, CompactionEdit, in _compaction.py's loop.
    Results of excluded tools, `exclude_tools=a/b`, don't count. With `keep_tool_inputs=False` results are removed, and
    a line in the response replaces each call; if parallel results came in another order than their calls, the wrong
    messages are removed. If the view is still over, the run ends. That attempt's edits are discarded, so every later
    call ends too. Upstream counts one joined text.
    """

    at: float = 0.9
    keep_thinking_turns: Count = 1
    keep_tool_uses: Count = 3
    keep_tool_inputs: bool = True
    exclude_tools: str = "none"

    def compacted(self, view: View) -> View:
        view = self._without_old_reasoning(view)
        found = messages(view)
        uses = self._uses(found)
        old = uses[: max(0, len(uses) - self.keep_tool_uses)]
        reason = f"older than the newest {self.keep_tool_uses} results"
        if self.keep_tool_inputs:
            return view.rewrite({found[at].items[0].place: CLEARED for _, _, at in old}, reason)
        return self._without_uses(view, found, old, reason)

    def _uses(self, found: Sequence[Message]) -> list[tuple[int, Item, int]]:
        """Each call with a result, in call order: the index of its response, the call, the index of its result."""
        answered = {message.items[0].answers: n for n, message in enumerate(found) if message.role == "tool"}
        excluded = set(self.exclude_tools.split("/"))
        return [
            (n, call, answered[call.place])
            for n, message in enumerate(found)
            for call in message.calls
            if call.place in answered and call.tool not in excluded
        ]

    def _without_old_reasoning(self, view: View) -> View:
        thinking = [one for one in messages(view) if one.role == "assistant"]
        old = thinking[: max(0, len(thinking) - self.keep_thinking_turns)]
        places = [item.place for item in items_of(old) if item.kind == "reasoning"]
        return view.drop(places, f"reasoning older than the newest {self.keep_thinking_turns} turns")

    def _without_uses(
        self, view: View, found: Sequence[Message], old: Sequence[tuple[int, Item, int]], reason: str
    ) -> View:
        """Remove results, last call first, by their first index. If one has moved, another message is removed."""
        left: list[int] = list(range(len(found)))
        told: dict[int, list[Item]] = {}
        for asked, call, at in reversed(old):
            if at < len(left):
                del left[at]
            told.setdefault(asked, []).append(call)
        edited = view
        for asked in sorted(set(told) & set(left)):
            edited = _told(edited, found[asked], told[asked], reason)
        return edited.drop([place for n in set(range(len(found))) - set(left) for place in found[n].places], reason)


def _told(view: View, response: Message, calls: Sequence[Item], reason: str) -> View:
    """The view with a response's calls replaced by lines in its text, or in a note if it has none."""
    text = "\n".join(f"[Tool call: {call.tool} (parameters and results removed from history)]" for call in calls)
    spoken = next((item for item in response.items if item.kind in ("assistant", "note")), None)
    view = view.drop([call.place for call in calls], reason)
    if spoken is not None:
        return view.rewrite({spoken.place: f"{spoken.text}\n{text}"}, reason)
    return view.insert(text, response.order, reason, sources=[call.place for call in calls])


class InspectTrim(OfInspect):
    """Over `at` of the window (or so many tokens), drop all but `preserve` of the messages; the task stays.

    `at` is upstream's `threshold`. inspect_ai/model/_compaction/trim.py and _trim.py: int(n (1 - preserve)) messages
    are removed, again while it helps; each time also results whose call isn't in the response before them, and calls
    without a result. If the view is still over, the run ends.
    """

    at: float = 0.9
    preserve: Share = 0.8

    def compacted(self, view: View) -> View:
        return trimmed(view, self.preserve)


class InspectTrimMessages(Policy):
    """Send the task and the newest `preserve` of the other messages, at every call and whatever their size.

    inspect_ai/model/_trim.py, trim_messages, an option of a basic agent.
    """

    source = OfInspect.source
    version = OfInspect.version
    read_on = OfInspect.read_on
    per_request = True

    preserve: Share = 0.7

    def before_call(self, view: View) -> View:
        return trimmed(view, self.preserve)


class InspectSummary(OfInspect):
    """Over `at` of the window (or so many tokens), put a summary in the place of all that followed the task.

    `at` is upstream's `threshold`. inspect_ai/model/_compaction/summary.py, CompactionSummary: the newest results are
    summarized too, and so is an earlier summary. If the view is still over, for instance by the task's own text, the
    run ends. Upstream frames the summary in 275 characters; only the first words of them are used here.
    """

    at: float = 0.9
    summary_tokens: Positive = 1_000

    @property
    def summary_head(self) -> Head:
        # inspect_ai/model/_compaction/summary.py: the same messages, without tools.
        return Head(system=self.sees.head.system)

    def compacted(self, view: View) -> View:
        found = messages(view)
        old = found[after_task(found) :]
        text = self.sees.summarize(items_of(found), self.summary_tokens) if old else None
        return view if text is None else in_place_of(view, old, SUMMARY + text, "over its threshold")


def after_task(found: Sequence[Message]) -> int:
    """Return the index after the first user text; the length if there is none."""
    return next((n for n, message in enumerate(found) if message.role == "user"), len(found) - 1) + 1


def trimmed(view: View, preserve: float) -> View:
    """Return the view with the newest share `preserve` of the messages after the task, without orphans among them."""
    found = messages(view)
    task = after_task(found)
    said = found[task:]
    kept: list[Message] = []
    asked: set[int] = set()
    for message in said[int(len(said) * (1 - preserve)) :]:
        if message.role != "tool":
            asked = {call.place for call in message.calls}
        elif message.items[0].answers not in asked:
            continue
        kept.append(message)
    answered = {message.items[0].answers for message in kept if message.role == "tool"}
    whole = [
        Message(items)
        for message in kept
        if (items := tuple(one for one in message.items if one.kind != "tool_call" or one.place in answered))
    ]
    return only(view, [*found[:task], *whole], f"older than the newest {preserve:.0%} of the messages")
