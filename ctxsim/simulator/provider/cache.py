"""The prompt cache: what of a request is read, what is written, under a vendor's rules and a simulated clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import msgspec

from ctxsim.simulator.provider.prefixes import Prefixes, same_length
from ctxsim.simulator.provider.rendering import HEAD_POSITIONS, Rendering
from ctxsim.simulator.provider.vendor import CacheRule
from ctxsim.transcript import RESPONSE_KINDS, Item

Breakpoints = Literal["last-two-user", "system-tools-last", "automatic", "none"]


class Split(msgspec.Struct, frozen=True, gc=False):
    """The tokens of one request by what they cost."""

    read: int
    write: int
    uncached: int


class NoCache:
    """Every token is uncached."""

    step = 1

    def forget(self) -> None:
        """Nothing is remembered anyway."""

    def holds(self, split: Split, total: int) -> int:
        """Nothing can be read again."""
        return 0

    def split(self, rendering: Rendering, now_s: float, commit: bool = True) -> Split:
        """Return all tokens as uncached."""
        return Split(0, 0, rendering.total)


class BreakpointCache:
    """Entries at marked positions: Anthropic, and OpenAI from GPT-5.6 on.

    A request marks up to `max_breakpoints` positions, and where the vendor adds one, its end. From each, the newest
    first, it looks back over `lookback` positions (a run of calls or of results is one), of which `readable` were ever
    marked, for an entry that is alive, and reads up to it. What lies between there and the last mark is written, and
    each mark becomes an entry, if it has the minimum length. Lifetime counts from the request's start and is renewed
    by reading.
    """

    def __init__(self, rule: CacheRule, minimum: int, strategy: Breakpoints, lifetime_s: float) -> None:
        self._rule = rule
        self._minimum = minimum
        self._strategy = strategy
        self._lifetime_s = lifetime_s
        self._entries: dict[int, dict[int, float]] = {}
        """By position and identity of a prefix, until when it is alive: a position without any is soon passed."""
        self.step = 1

    def forget(self) -> None:
        """Lose every entry: providers do, now and then."""
        self._entries.clear()

    def holds(self, split: Split, total: int) -> int:
        """Tokens that a request with the same beginning could read: up to the last mark."""
        return split.read + split.write

    def split(self, rendering: Rendering, now_s: float, commit: bool = True) -> Split:
        """Return the request's tokens by class; with `commit` the cache remembers the request."""
        chosen = marked_positions(rendering, self._strategy)[-self._rule.max_breakpoints :]
        if self._rule.implicit:
            chosen = sorted({*chosen, rendering.length - 1})
        sizes = {mark: tokens for mark in chosen if (tokens := rendering.tokens_to(mark)) >= self._minimum}
        hit = next((found for mark in reversed(sizes) if (found := self._look_back(rendering, mark, now_s)) >= 0), -1)
        read = rendering.tokens_to(hit) if hit >= 0 else 0
        cached = max(read, *sizes.values()) if sizes else read
        if commit:
            expires = now_s + self._lifetime_s
            for position in (*sizes, hit) if hit >= 0 else sizes:
                self._entries.setdefault(position, {})[rendering.prefixes.identity(position)] = expires
        return Split(read, cached - read, rendering.total - cached)

    def _look_back(self, rendering: Rendering, mark: int, now_s: float) -> int:
        """Return the newest position within reach of a mark that is a live entry, or -1."""
        items, entries, lookback = rendering.items, self._entries, self._rule.lookback
        steps = known = 0
        for position in range(mark, -1, -1):
            if position in entries:
                expires = entries[position].get(rendering.prefixes.identity(position))
                if expires is not None:
                    if expires >= now_s:
                        return position
                    known += 1
            # The item here, if it isn't the first, and the one behind it: both calls, or both results, are one step.
            here = position - 1 - HEAD_POSITIONS
            same_run = 0 < here < len(items) - 1 and items[here].kind == items[here + 1].kind in RUNS
            steps += not same_run
            if steps >= lookback or known >= self._rule.readable:
                break
        return -1


RUNS = ("tool_call", "tool_result")
"""Of these, neighbours of one kind are one position to who looks back."""


def marked_positions(rendering: Rendering, strategy: Breakpoints) -> list[int]:
    """Return the positions that a strategy marks, oldest first.

    `last-two-user`: system prompt and the last two user or tool messages (Cline, Roo, OpenHands). `system-tools-last`:
    tools, system prompt and the last message (Claude Code's SDK). `automatic`: the end of the request.
    """
    last = rendering.length - 1
    match strategy:
        case "none":
            return []
        case "automatic":
            return [last]
        case "system-tools-last":
            return sorted({0, 1, last})
        case "last-two-user":
            ends: list[int] = []
            items = rendering.items
            for index in range(len(items) - 1, -1, -1):
                end_of_message = index + 1 == len(items) or items[index + 1].message != items[index].message
                if end_of_message and items[index].kind in ("user", "tool_result", "summary", "note"):
                    ends.append(index + HEAD_POSITIONS)
                    if len(ends) == 2:
                        break
            return sorted({1, *ends})


class _Branch(NamedTuple):
    """What an earlier request had behind what a later one shared with it, and when it was alive."""

    own: list[int]
    at_s: float


class PrefixCache:
    """The longest prefix that an earlier request had, rounded down: OpenAI before GPT-5.6, Gemini implicit, DeepSeek.

    All prefixes of a request are kept alive by the request. Inside the first item that differs from the last request,
    token-granular vendors add the common beginning of the two token lists.
    """

    def __init__(self, rule: CacheRule, model: str, shared: Callable[[str, str], int], lifetime_s: float) -> None:
        self._rule = rule
        self._minimum = rule.minimum(model)
        self._responses = rule.keeps_responses(model)
        self._shared = shared
        self._lifetime_s = lifetime_s
        self._last_s = float("-inf")
        self._branches: dict[int, _Branch] = {}
        """By the identity of its first position, the oldest first; none of them is in the last request."""
        self.step = rule.step

    def forget(self) -> None:
        """Lose every request: providers do, now and then."""
        self._last_s, self._branches = float("-inf"), {}

    def holds(self, split: Split, total: int) -> int:
        """Tokens that a request with the same beginning could read: all, if they reach the minimum."""
        return total if total >= self._minimum else 0

    def split(self, rendering: Rendering, now_s: float, commit: bool = True) -> Split:
        """Return the request's tokens by class; with `commit` the cache remembers the request."""
        same = rendering.prefixes.shared
        shared = same if self._alive(self._last_s, now_s) else 0
        common = self._common(rendering, shared, now_s)
        tokens = rendering.tokens_to(common - 1) if common else 0
        if self._rule.partial_items and common and common == shared:
            tokens += self._inside(rendering, shared)
        read = tokens - tokens % self._rule.step
        read = read if read >= self._minimum else 0
        if commit:
            self._remember(rendering.prefixes, same, now_s)
        if self._rule.paid_writes and rendering.total >= self._minimum:
            return Split(read, rendering.total - read, 0)
        return Split(read, 0, rendering.total - read)

    def _alive(self, at_s: float, now_s: float) -> bool:
        return now_s - at_s <= self._lifetime_s

    def _common(self, rendering: Rendering, shared: int, now_s: float) -> int:
        """Number of leading positions that some live earlier request had too."""
        prefixes, common = rendering.prefixes, shared
        # A response to the last request, where the cache keeps those: all of that request must be there.
        if self._responses and 0 < shared == prefixes.remembered:
            common += response_length(rendering.items, shared - HEAD_POSITIONS)
        return max(common, self._along(prefixes, shared, now_s)) if self._branches else common

    def _along(self, prefixes: Prefixes, position: int, now_s: float) -> int:
        """How far branches that are alive go along with a request that has left the last one at a position."""
        while position < len(prefixes.own):
            branch = self._branches.get(prefixes.identity(position))
            if branch is None or not self._alive(branch.at_s, now_s):
                break
            position += same_length(branch.own, prefixes.own[position : position + len(branch.own)])
        return position

    def _inside(self, rendering: Rendering, position: int) -> int:
        """Tokens that the first differing item shares with the one that stood there in the last request."""
        left, index = rendering.left_at(position), position - HEAD_POSITIONS
        now = rendering.items[index] if 0 <= index < len(rendering.items) else None
        # What is of another kind begins otherwise.
        if left is None or now is None or left.kind != now.kind:
            return 0
        tokens = 0
        for before, after in zip(rendering.texts(left), rendering.texts(now), strict=False):
            tokens += self._shared(before, after)
            if before != after:
                break
        return tokens

    def _remember(self, prefixes: Prefixes, shared: int, now_s: float) -> None:
        """What this request has is no branch any more, and what it no longer has is one."""
        lost = prefixes.lost(shared)
        if self._branches:
            self._join(prefixes, shared)
        if lost:
            self._branches[prefixes.identity_with(shared, lost[0])] = _Branch(lost, self._last_s)
        while self._branches and not self._alive(self._branches[oldest := next(iter(self._branches))].at_s, now_s):
            del self._branches[oldest]
        self._last_s = now_s

    def _join(self, prefixes: Prefixes, position: int) -> None:
        """Of branches along which this request goes only what it doesn't have remains."""
        while position < len(prefixes.own):
            branch = self._branches.pop(prefixes.identity(position), None)
            if branch is None:
                break
            same = same_length(branch.own, prefixes.own[position : position + len(branch.own)])
            position, rest = position + same, branch.own[same:]
            if rest:
                self._branches[prefixes.identity_with(position, rest[0])] = _Branch(rest, branch.at_s)


def response_length(items: list[Item], first: int) -> int:
    """Number of items from `first` on that are one response of the model."""
    count = 0
    for item in items[first:]:
        if item.kind not in RESPONSE_KINDS or item.message != items[first].message:
            break
        count += 1
    return count


Cache = NoCache | BreakpointCache | PrefixCache


def open_cache(
    rule: CacheRule, model: str, strategy: Breakpoints, lifetime_s: float, shared: Callable[[str, str], int]
) -> Cache:
    """Return an empty cache under a vendor's rule."""
    match rule.kind:
        case "none":
            return NoCache()
        case "prefix":
            return PrefixCache(rule, model, shared, lifetime_s)
        case "breakpoints":
            return BreakpointCache(rule, rule.minimum(model), strategy, lifetime_s)
