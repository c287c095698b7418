"""Pydantic AI's harness: clear old results, or keep a window; both by usage where there is any."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ctxsim.policies.agents.settings import values_for
from ctxsim.policies.frameworks.shared.messages import Message, counted, first_that, flat, messages, only, since_usage
from ctxsim.policies.policy import Count, Family, Policy, Surroundings
from ctxsim.view import View

CLEARED = "[tool result cleared]"

Packed = list[Message]


Placed = tuple[str, int, int]
"""A message: its role, its first place and its last; those that were made have places below -1."""


class Requests:
    """What the framework keeps as one request or one response, as a conversation grows.

    All that came between two responses is one request. Requests that met when what stood between them was dropped stay
    two until the next run begins, with a user's text: then the framework merges them.
    """

    def __init__(self) -> None:
        self._began = -1  # where the newest run began

    def grouped(self, messages: Sequence[Placed]) -> list[list[int]]:
        """Return which messages, by their numbers, are one."""
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


@dataclass
class OfPydanticAi:
    """What its policies share: they act over tokens, over a share of the window, or by a number of messages."""

    decides_by: ClassVar[str] = "chars-total"
    family: ClassVar[Family] = "frameworks"
    source: ClassVar[str] = "pydantic/pydantic-ai-harness"
    version: ClassVar[str] = "pydantic-ai-slim 2.62.0, pydantic-ai-harness 0.62.0"
    read_on: ClassVar[str] = "2026-11-22"
    agent: ClassVar[str] = "pydantic-ai"
    sees: ClassVar[Surroundings]

    max_tokens: Count = 0
    max_fraction: float = 0
    max_messages: Count = 0

    def start(self) -> None:
        """Nothing has been grouped yet."""
        self._requests = Requests()

    def packed(self, found: Sequence[Message]) -> list[Packed]:
        """Return messages as the framework keeps them."""
        groups = self._requests.grouped([(one.role, one.places[0], one.places[-1]) for one in found])
        return [[found[n] for n in group] for group in groups]

    def threshold(self) -> float | None:
        """Tokens over which it acts: none where it counts messages, the window where nothing is set."""
        if self.max_tokens or self.max_fraction:
            return self.max_tokens or int(self.max_fraction * self.sees.window)
        return None if self.max_messages else self.sees.window


def believed(sees: Surroundings, found: Sequence[Message]) -> int:
    """Return the tokens that the framework takes its history for."""
    since = since_usage(sees, found)
    return counted(sees, found, sees.head.system) if since is None else since


_PYDANTIC_CLEAR = values_for("pydantic-ai", policy="pydantic-clear")


@dataclass
class PydanticClear(OfPydanticAi, Policy):
    """Over `max_tokens`, clear all but the newest `keep_pairs` results, if that frees `min_clear_tokens`. They stay so.

    pydantic_ai_harness/compaction, ClearToolResults: `max_fraction` is of the window, `max_messages` counts what came
    after the last cleared result. Upstream wants one of the three; with none it is the window.
    """

    keep_pairs: Count = _PYDANTIC_CLEAR["keep_pairs"]
    min_clear_tokens: Count = 0
    clear_tool_inputs: bool = False

    def before_call(self, view: View) -> View:
        found = messages(view)
        packed = self.packed(found)
        trigger = self.threshold()
        if not (trigger is not None and believed(self.sees, found) > trigger) and not self._too_many(packed):
            return view
        results = view.results
        old = results[: max(0, len(results) - self.keep_pairs)]
        texts = {item.place: CLEARED for item in old}
        if self.clear_tool_inputs:
            texts |= {item.answers: "{}" for item in old if item.answers is not None and view.find(item.answers)}
        cleared = view.rewrite(texts, f"over {trigger:,} tokens" if trigger else f"over {self.max_messages} messages")
        # A result shorter than what stands for it is cleared all the same, unless a gain is asked for.
        freed = counted(self.sees, messages(view)) - counted(self.sees, messages(cleared))
        return view if self.min_clear_tokens and freed < self.min_clear_tokens else cleared

    def _too_many(self, packed: Sequence[Packed]) -> bool:
        if not self.max_messages:
            return False
        since = next(
            (n for n, group in enumerate(reversed(packed)) if any(one.text == CLEARED for one in group)), len(packed)
        )
        return since > self.max_messages


_PYDANTIC_SLIDING = values_for("pydantic-ai", policy="pydantic-sliding")


@dataclass
class PydanticSliding(OfPydanticAi, Policy):
    """Over `max_tokens` keep the last `keep_messages`, or the fewest that hold `keep_tokens`; the first user's stays.

    pydantic_ai_harness/compaction, SlidingWindowCompaction: results are one message with what else stands between two
    responses, and a cut on them moves back to their call. Upstream measures `keep_tokens` by usage where it can, here
    by text alone. Upstream wants one of `max_tokens`, `max_fraction`, `max_messages`; with none it is the window.
    """

    keep_messages: Count = _PYDANTIC_SLIDING["keep_messages"]
    keep_tokens: Count = 0
    preserve_first_user_message: bool = True

    def before_call(self, view: View) -> View:
        found = messages(view)
        packed = self.packed(found)
        trigger = self.threshold()
        too_many = 0 < self.max_messages < len(packed)
        if not (trigger is not None and believed(self.sees, found) > trigger) and not too_many:
            return view
        start = self._start(packed)
        kept = packed[start:]
        first = next((n for n, group in enumerate(packed) if any(one.role == "user" for one in group)), start)
        if self.preserve_first_user_message and first < start:
            kept = [packed[first], *kept]
        reason = f"over {self.max_messages} messages" if too_many else f"over {trigger:,} tokens"
        return only(view, flat(kept), reason)

    def _start(self, packed: Sequence[Packed]) -> int:
        if self.keep_tokens:
            # One before the longest tail that is too short.
            short = first_that(lambda n: counted(self.sees, flat(packed[n:])) < self.keep_tokens, 0, len(packed))
            start = max(0, short - 1)
        else:
            start = max(0, len(packed) - max(1, self.keep_messages))
        while start > 0 and any(one.role == "tool" for one in packed[start]):
            start -= 1
        return start
