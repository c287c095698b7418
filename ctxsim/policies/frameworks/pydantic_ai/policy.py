"""Pydantic AI's harness: clearing of old results, windows and summaries, by usage if there is any."""

import json
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from ctxsim.policies.agents.shared.history import in_place_of, results_cut
from ctxsim.policies.frameworks.chat import Message, counted, first_that, flat, items_of, messages, only, since_usage
from ctxsim.policies.policy import SHIPPED, Count, Policy, Positive, Surroundings
from ctxsim.view import View

CLEARED = "[tool result cleared]"
SHOWN = 500
"""Characters of a result that the summarizer sees."""

Packed = list[Message]


Placed = tuple[str, int, int]
"""A message's role, first place and last place; synthetic messages have places below -1."""


class Requests:
    """Groups a growing conversation's messages into the framework's requests and responses.

    All messages between two responses are one request. Two requests that become neighbours, because the responses
    between them were dropped, are merged when the next run begins with a user's text.
    """

    def __init__(self) -> None:
        self._began = -1  # the place where the newest run began

    def grouped(self, messages: Sequence[Placed]) -> list[list[int]]:
        """Return groups of message indices. Each group is one request or response."""
        groups: list[list[int]] = []
        for n, (role, first, _) in enumerate(messages):
            before = messages[n - 1] if n else ("assistant", 0, 0)
            if "assistant" not in (role, before[0]) and first == before[2] + 1:
                groups[-1].append(n)
            else:
                groups.append([n])
        asked = [group[0] for group in groups if any(messages[n][0] == "user" for n in group)]
        self._began = max([self._began, *(messages[n][1] for n in asked)])
        merged: list[list[int]] = []
        for group in groups:
            role, first, _ = messages[group[0]]
            if merged and -1 <= first < self._began and "assistant" not in (role, messages[merged[-1][0]][0]):
                merged[-1] += group
            else:
                merged.append(group)
        return merged


class _OfHarness(Policy, abstract=True):
    decides_by = "chars-total"
    source = "pydantic/pydantic-ai-harness"
    version = "pydantic-ai-slim 2.62.0, pydantic-ai-harness 0.62.0"


@dataclass
class OfPydanticAi(_OfHarness, abstract=True):
    """Base class of policies that act over tokens, over a share of the window, or over a number of messages."""

    max_tokens: Count = 0
    max_fraction: float = 0.0
    max_messages: Count = 0

    def start(self) -> None:
        self._requests = Requests()

    def before_call(self, view: View) -> View:
        found = messages(view)
        packed = self.packed(found)
        reason = self.fires(found, packed)
        return self.compacted(view, found, packed, reason) if reason else view

    @abstractmethod
    def compacted(self, view: View, found: Sequence[Message], packed: Sequence[Packed], reason: str) -> View:
        """Return the view with less in it, if that is possible."""

    def packed(self, found: Sequence[Message]) -> list[Packed]:
        """Return messages grouped into the framework's requests and responses."""
        placed = [[place if place >= 0 else place - 1 for place in one.places] for one in found]
        groups = self._requests.grouped([(one.role, at[0], at[-1]) for one, at in zip(found, placed, strict=True)])
        return [[found[n] for n in group] for group in groups]

    def threshold(self) -> float | None:
        if self.max_tokens or self.max_fraction:
            return self.max_tokens or int(self.max_fraction * self.sees.window)
        return None if self.max_messages else self.sees.window

    def new(self, packed: Sequence[Packed]) -> int:
        """Return how many messages count for `max_messages`: all, unless a subclass overrides this."""
        return len(packed)

    def fires(self, found: Sequence[Message], packed: Sequence[Packed]) -> str:
        """Return the reason to act; '' if there is none."""
        trigger = self.threshold()
        if 0 < self.max_messages < self.new(packed):
            return f"over {self.max_messages} messages"
        return f"over {trigger:,} tokens" if trigger is not None and believed(self.sees, found) > trigger else ""

    def start_of(self, packed: Sequence[Packed], keep_messages: int, keep_tokens: int) -> int:
        """Return the index where the tail begins: the last messages, or the fewest that hold `keep_tokens`."""
        if not keep_tokens:
            return last(packed, keep_messages)
        # The tail has one message more than the longest one that is too short.
        short = first_that(lambda n: counted(self.sees, flat(packed[n:])) < keep_tokens, 0, len(packed))
        return last(packed, len(packed) - max(0, short - 1))


def last(packed: Sequence[Packed], keep: int) -> int:
    """Return the index where the last `keep` messages begin; if that holds results, the start moves back to a call."""
    start = max(0, len(packed) - max(1, keep))
    while start > 0 and any(one.role == "tool" for one in packed[start]):
        start -= 1
    return start


def first_user(packed: Sequence[Packed]) -> int:
    """Return the index of the message with the first user text; 0 if there is none."""
    return next((n for n, group in enumerate(packed) if any(one.role == "user" for one in group)), 0)


def cleared(view: View, keep_pairs: int, inputs: bool, reason: str) -> View:
    """Return the view with all but the newest `keep_pairs` results cleared; `inputs`: their calls' arguments too."""
    old = view.results[: max(0, len(view.results) - keep_pairs)]
    texts = {item.place: CLEARED for item in old}
    if inputs:
        texts |= {item.answers: "{}" for item in old if item.answers is not None and view.find(item.answers)}
    return view.rewrite(texts, reason)


def believed(sees: Surroundings, found: Sequence[Message]) -> int:
    """Return the framework's own estimate of its history's tokens: by usage if there is any."""
    return since_usage(sees, found, lambda: counted(sees, found, sees.head.system))


class PydanticClear(OfPydanticAi):
    """Over `max_tokens`, clear all but the newest `keep_pairs` results, if that frees `min_clear_tokens`. Edits last.

    pydantic_ai_harness/compaction, ClearToolResults: `max_fraction` is of the window, `max_messages` counts messages
    after the last cleared result. Upstream requires one of the three limits; here the window is the default.
    """

    keep_pairs: Count = SHIPPED
    min_clear_tokens: Count = 0
    clear_tool_inputs: bool = False

    def compacted(self, view: View, found: Sequence[Message], packed: Sequence[Packed], reason: str) -> View:
        after = cleared(view, self.keep_pairs, self.clear_tool_inputs, reason)
        # Results shorter than the placeholder are cleared too, unless `min_clear_tokens` requires a gain.
        freed = counted(self.sees, found) - counted(self.sees, messages(after))
        return view if self.min_clear_tokens and freed < self.min_clear_tokens else after

    def new(self, packed: Sequence[Packed]) -> int:
        return next(
            (n for n, group in enumerate(reversed(packed)) if any(one.text == CLEARED for one in group)), len(packed)
        )


class PydanticSliding(OfPydanticAi):
    """Over `max_tokens` keep the last `keep_messages`, or the fewest that hold `keep_tokens`; the first user's stays.

    pydantic_ai_harness/compaction, SlidingWindowCompaction: everything between two responses is one message. A cut on
    results moves back to their call. Upstream measures `keep_tokens` by usage where it can, here by text alone. It
    requires one of `max_tokens`, `max_fraction` and `max_messages`; here the window is the default.
    """

    keep_messages: Count = SHIPPED
    keep_tokens: Count = 0
    preserve_first_user_message: bool = True

    def compacted(self, view: View, found: Sequence[Message], packed: Sequence[Packed], reason: str) -> View:
        start = self.start_of(packed, self.keep_messages, self.keep_tokens)
        return window(view, packed, start, self.preserve_first_user_message, reason)


def window(view: View, packed: Sequence[Packed], start: int, first: bool, reason: str) -> View:
    """Return the view from message `start` on; if `first`, the first user's message stays in front."""
    opening = first_user(packed)
    kept = packed[start:]
    if first and opening < start:
        kept = [packed[opening], *kept]
    return only(view, flat(kept), reason)


class PydanticSummarize(OfPydanticAi):
    """Over `max_tokens` put a summary in the place of all but the last `keep_messages`; the first user's stays.

    pydantic_ai_harness/compaction, SummarizingCompaction: triggers and cuts are those of the sliding window. An earlier
    summary is summarized again. The summarizer sees 500 characters of each result.
    """

    keep_messages: Count = 20
    keep_tokens: Count = 0
    preserve_first_user_message: bool = True
    summary_tokens: Positive = 1_000

    def compacted(self, view: View, found: Sequence[Message], packed: Sequence[Packed], reason: str) -> View:
        start = self.start_of(packed, self.keep_messages, self.keep_tokens)
        if not start:
            return view
        old = items_of(flat(packed[:start]))
        opening = packed[first_user(packed)] if self.preserve_first_user_message else []
        stays = [item.place for item in takewhile(lambda item: item.kind == "user", items_of(opening))]
        new = [item for item in old if item.place not in stays]
        if self.keep_tokens and all(item.kind == "summary" for item in new):
            return view
        text = self.sees.summarize(results_cut(old, SHOWN), self.summary_tokens)
        if text is None:
            return view
        return in_place_of(view, new, text, reason, packed[start][0].order)


class PydanticTiered(OfPydanticAi):
    """Over `max_tokens` clear results. If that isn't enough, keep only the last messages.

    pydantic_ai_harness/compaction, TieredCompaction with ClearToolResults and SlidingWindowCompaction as tiers;
    `max_tokens` and `max_fraction` are upstream's `target_tokens` and `target_fraction`. The tokens after a tier are
    those before it, by usage or not, less the estimated tokens of the text that it freed.
    """

    keep_pairs: Count = PydanticClear.keep_pairs
    keep_messages: Count = PydanticSliding.keep_messages
    preserve_first_user_message: bool = True

    def compacted(self, view: View, found: Sequence[Message], packed: Sequence[Packed], reason: str) -> View:
        before, text = believed(self.sees, found), counted(self.sees, found)
        after = cleared(view, self.keep_pairs, False, reason)
        left = messages(after)
        if before - (text - counted(self.sees, left)) <= (self.threshold() or 0):
            return after
        packed = self.packed(left)
        return window(after, packed, last(packed, self.keep_messages), self.preserve_first_user_message, reason)


class PydanticClamp(_OfHarness):
    """Cut responses' texts and calls' arguments over `max_part_chars`, or `max_part_tokens`, to a head and a tail.

    pydantic_ai_harness/compaction, ClampOversizedMessages: never users' texts or results. Edits last. Upstream requires
    one of the two limits.
    """

    max_part_chars: Count = 20_000
    max_part_tokens: Count = 0
    keep_head_chars: Count = 2_000
    keep_tail_chars: Count = 2_000
    clamp_tool_call_args: bool = True

    def before_call(self, view: View) -> View:
        texts = {}
        for item in view:
            if item.kind == "assistant" and (text := self._clamped(item.text)):
                texts[item.place] = text
            elif item.kind == "tool_call" and self.clamp_tool_call_args and (text := self._clamped(item.text)):
                texts[item.place] = json.dumps({"_clamped": text}, ensure_ascii=False)
        return view.rewrite(texts, "a part was too large")

    def _clamped(self, text: str) -> str:
        tokens = self.max_part_tokens and self.sees.estimator.text(text)
        if not 0 < self.max_part_chars < len(text) and tokens <= self.max_part_tokens:
            return ""
        head, tail = text[: self.keep_head_chars], text[max(0, len(text) - self.keep_tail_chars) :]
        removed = len(text) - len(head) - len(tail)
        cut = f"{head}\n[clamped: removed {removed} of {len(text)} characters]\n{tail}"
        return cut if len(cut) < len(text) else ""
