"""The prompt cache: which tokens of a request are read and written, under a vendor's rules and a simulated clock."""

import sys
from bisect import bisect_right, insort
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import NamedTuple

from ctxsim.simulator.ledger.request import HEAD, Request, alike
from ctxsim.simulator.provider.prices import Split
from ctxsim.simulator.provider.vendor import Breakpoints, CacheRule, first_fit
from ctxsim.transcript import RESPONSE_KINDS, Item


class Cache:
    """What a provider keeps of earlier requests: here nothing, so that every token is uncached."""

    step = 1
    """Reads are multiples of this many tokens."""
    used = False
    """Whether a request was stored."""
    lifetime_s = 0.0
    """How long what is stored or read from now on lives. Its owner sets this."""

    def split(self, request: Request, now_s: float, most: int | None = None) -> Split:
        """Match a request, and return its tokens by class; no more than `most` are read."""
        return Split(0, 0, request.total)

    def remember(self, request: Request, now_s: float) -> None:
        """Store the request that was matched last."""

    def pass_by(self, request: Request) -> None:
        """Note a request to another model."""

    def holds(self, split: Split, total: int) -> int:
        """Return the tokens that a request with the same beginning could read."""
        return 0

    def forget(self) -> None:
        """Drop everything, as providers do now and then."""

    def revive(self, now_s: float) -> None:
        """Extend the life of everything to now: providers keep some for longer than documented."""


class BreakpointCache(Cache):
    """Entries at marked positions: Anthropic, and OpenAI from GPT-5.6 on.

    A request marks up to `max_breakpoints` positions, and its end if the vendor adds that mark. From each mark, the
    newest first, the cache looks back over `lookback` positions (a run of calls or of results is one), at most
    `readable` of them earlier marks, for a live entry, and reads up to it. The tokens from there to the last mark are
    written, and each mark of the minimum length becomes an entry. Lifetime counts from the request's start and is
    renewed by reading.
    """

    def __init__(self, rule: CacheRule, minimum: int, strategy: Breakpoints) -> None:
        self._rule = rule
        self._minimum = minimum
        self._strategy = strategy
        self._entries: dict[int, dict[int, dict[int, float]]] = {}
        """By position, tokens and identity of a prefix, the second of its end. Few prefixes have equal tokens."""
        self._positions: list[int] = []
        """The positions that have entries, in order."""
        self._found: list[tuple[int, int]] = []
        """Position and tokens of the marks of the request matched last, and of the entry that it was read up to."""

    def forget(self) -> None:
        self._entries.clear()
        self._positions.clear()

    def revive(self, now_s: float) -> None:
        for by_tokens in self._entries.values():
            for until_s in by_tokens.values():
                until_s.update((identity, max(at_s, now_s)) for identity, at_s in until_s.items())

    def holds(self, split: Split, total: int) -> int:
        return split.read + split.write

    def split(self, request: Request, now_s: float, most: int | None = None) -> Split:
        chosen = marked_positions(request, self._strategy) if request.marks is None else list(request.marks)
        chosen = chosen[-self._rule.max_breakpoints :]
        if self._rule.implicit:
            chosen = sorted({*chosen, request.length - 1})
        upto = request.upto()
        marks = [(mark, upto[mark]) for mark in chosen if upto[mark] >= self._minimum]
        hit = next((found for mark, _ in reversed(marks) if (found := self._look_back(request, mark, now_s))), None)
        read = hit[1] if hit else 0
        if most is not None and most < read:
            read, hit = most, None
        cached = max(read, marks[-1][1] if marks else 0)
        self._found = [*marks, hit] if hit else marks
        return Split(read, cached - read, request.total - cached)

    def remember(self, request: Request, now_s: float) -> None:
        self.used = True
        for position, tokens in self._found:
            if position not in self._entries:
                insort(self._positions, position)
            here = self._entries.setdefault(position, {})
            here.setdefault(tokens, {})[request.identity(position)] = now_s + self.lifetime_s

    def _look_back(self, request: Request, mark: int, now_s: float) -> tuple[int, int] | None:
        """Return the newest position within reach of a mark that is a live entry, and its tokens; None without one."""
        positions, upto, known, reached, steps = self._positions, request.upto(), 0, mark, 0
        for number in range(bisect_right(positions, mark) - 1, -1, -1):
            position = positions[number]
            # There are no more steps than positions, so steps within `lookback` positions needn't be counted.
            if mark - position >= self._rule.lookback:
                steps += steps_between(request.items, position - HEAD, reached - HEAD)
                reached = position
                if steps >= self._rule.lookback:
                    break
            tokens = upto[position]
            alike = self._entries[position].get(tokens)
            expires = alike.get(request.identity(position)) if alike else None
            if expires is not None:
                if expires >= now_s:
                    return position, tokens
                known += 1
                if known >= self._rule.readable:
                    break
        return None


RUNS = ("tool_call", "tool_result")
"""Kinds of which neighbouring items of one kind count as one position when the cache looks back."""


def steps_between(items: Sequence[Item], first: int, last: int) -> int:
    """Return how many positions a look back passes from one item to an earlier one; a run counts as one."""
    # The first item of a request is no part of a run.
    steps, kind = last - first, ""
    for item in items[max(1, first) : max(1, last + 1)]:
        if item.kind == kind in RUNS:
            steps -= 1
        kind = item.kind
    return steps


ASKING = frozenset({"user", "tool_result", "summary", "note"})
"""Kinds of the messages that a client sends."""


def marked_positions(request: Request, strategy: Breakpoints) -> list[int]:
    """Return the positions that a strategy marks, oldest first.

    `last-two-user`: system prompt and the last two user or tool messages (Cline, Roo, OpenHands). `system-tools-last`:
    tools, system prompt and the last message (Claude Code's SDK). `automatic`: the end of the request.
    """
    last = request.length - 1
    match strategy:
        case "none":
            return []
        case "automatic":
            return [last]
        case "system-tools-last":
            return sorted({0, 1, last})
        case "last-two-user":
            ends: list[int] = []
            items, behind = request.items, None
            for index in range(len(items) - 1, -1, -1):
                item = items[index]
                if item.message != behind and item.kind in ASKING:
                    ends.append(index + HEAD)
                    if len(ends) == 2:
                        return [1, ends[1], ends[0]]
                behind = item.message
            return [1, *ends]


class _Branch(NamedTuple):
    """The rest of an earlier request behind the prefix that a later one shared, as hashes, and its last time."""

    own: list[int]
    at_s: float


class PrefixCache(Cache):
    """Reads the longest prefix of an earlier request, rounded down: OpenAI before GPT-5.6, Gemini implicit, DeepSeek.

    A request keeps all its prefixes alive. Inside the first item that differs from the last request,
    token-granular vendors add the common beginning of the two token lists.
    """

    def __init__(self, rule: CacheRule, model: str, shared: Callable[[Item, Item], int]) -> None:
        self._rule = rule
        self._minimum = rule.minimum(model)
        self._responses = rule.keeps_responses(model)
        self._shared = shared
        self._last_s = float("-inf")
        self._own = 0
        """Number of leading positions that the last request stored here shares with the request billed last; all of
        them unless that one went to another model.
        """
        self._left: Item | None = None
        """The item of the last request stored here behind those positions."""
        self._branches: dict[int, _Branch] = {}
        """By the identity of a branch's first position, the oldest first. The last request has none of them."""
        self.step = first_fit(model, rule.step_by_model, rule.step)

    def forget(self) -> None:
        self._last_s, self._branches = float("-inf"), {}

    def revive(self, now_s: float) -> None:
        if self._last_s > float("-inf"):
            self._last_s = now_s
        self._branches = {at: _Branch(branch.own, now_s) for at, branch in self._branches.items()}

    def holds(self, split: Split, total: int) -> int:
        return total if total >= self._minimum else 0

    def split(self, request: Request, now_s: float, most: int | None = None) -> Split:
        shared = min(request.shared(), self._own) if self._alive(self._last_s, now_s) else 0
        common = self._common(request, shared, now_s)
        tokens = request.upto()[common - 1] if common else 0
        if self._rule.partial_items and common and common == shared:
            tokens += self._inside(request, shared)
        whole = tokens - tokens % self.step
        read = min(whole if whole >= self._minimum else 0, request.total if most is None else most)
        written = request.total - read if self._rule.paid_writes and request.total >= self._minimum else 0
        return Split(read, written, request.total - read - written)

    def _alive(self, at_s: float, now_s: float) -> bool:
        return now_s - at_s <= self.lifetime_s

    def _common(self, request: Request, shared: int, now_s: float) -> int:
        """Number of leading positions that some live earlier request had too."""
        common = shared
        # If the cache keeps responses, the one to the last request counts, provided that all of that request is here.
        if self._responses and 0 < shared == min(request.remembered, self._own) and self._left is None:
            common += response_length(request.items, shared - HEAD)
        return max(common, self._along(request, shared, now_s)) if self._branches else common

    def _along(self, request: Request, position: int, now_s: float) -> int:
        """The position up to which live branches match a request that differs from the last one at `position`."""
        while position < request.length:
            branch = self._branches.get(request.identity(position))
            if branch is None or not self._alive(branch.at_s, now_s):
                break
            position += alike(branch.own, request.own(position, position + len(branch.own)))
        return position

    def _inside(self, request: Request, position: int) -> int:
        """Tokens that the first differing item shares with the one that stood there in the last request."""
        left, index = request.left_at(position) if position < self._own else self._left, position - HEAD
        now = request.items[index] if 0 <= index < len(request.items) else None
        # Items of different kinds begin with different tokens.
        return 0 if left is None or now is None or left.kind != now.kind else self._shared(left, now)

    def remember(self, request: Request, now_s: float) -> None:
        """Store the request: cut what it has from branches, and make a branch of what the last request had more."""
        self.pass_by(request)
        branches = self._branches
        self._join(request, self._own)
        while branches and not self._alive(branches[oldest := next(iter(branches))].at_s, now_s):
            del branches[oldest]
        self._last_s, self._own, self._left, self.used = now_s, sys.maxsize, None, True

    def pass_by(self, request: Request) -> None:
        """Note a request to another model: make a branch of what the last request stored here had more."""
        shared = min(request.shared(), self._own)
        if lost := request.lost(shared)[: self._own - shared]:
            self._branches[request.identity_with(shared, lost[0])] = _Branch(lost, self._last_s)
            self._left = request.left_at(shared)
        self._own = shared

    def _join(self, request: Request, position: int) -> None:
        """Cut from the branches that the request follows all positions that it has."""
        while position < request.length:
            branch = self._branches.pop(request.identity(position), None)
            if branch is None:
                break
            same = alike(branch.own, request.own(position, position + len(branch.own)))
            position, rest = position + same, branch.own[same:]
            if rest:
                self._branches[request.identity_with(position, rest[0])] = _Branch(rest, branch.at_s)


def response_length(items: list[Item], first: int) -> int:
    """Return the number of items from `first` on that are one response of the model."""
    one = takewhile(lambda item: item.kind in RESPONSE_KINDS and item.message == items[first].message, items[first:])
    return len(list(one))


def open_cache(rule: CacheRule, model: str, strategy: Breakpoints, shared: Callable[[Item, Item], int]) -> Cache:
    """Return an empty cache under a vendor's rule. `shared` returns the leading tokens of two items."""
    match rule.kind:
        case "none":
            return Cache()
        case "prefix":
            return PrefixCache(rule, model, shared)
        case "breakpoints":
            return BreakpointCache(rule, rule.minimum(model), strategy)
