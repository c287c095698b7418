"""A provider as one would write it down, slow: requests rendered anew, whole prefixes remembered, nothing shared with
the package but the numbers that it is given.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.vendor import CacheRule, Framing, first_fit
from ctxsim.transcript import Head, Item

ASKING = ("user", "tool_result", "summary", "note")


@cache
def ids(text: str) -> tuple[int, ...]:
    """The tokens of a text."""
    return tuple(open_tokenizer("o200k_base").ids(text))


def text_tokens(text: str) -> int:
    """How many they are."""
    return len(ids(text))


def item_tokens(item: Item) -> int:
    """Tokens of an item without framing."""
    own = text_tokens(item.text) + (text_tokens(item.tool) if item.kind == "tool_call" else 0)
    return own + sum(media.tokens for media in item.media)


class Position(NamedTuple):
    """What stands at one position of a request: its content as sent, its tokens, and the item."""

    content: tuple[Any, ...]
    tokens: int
    item: Item | None


@cache
def arguments_of(text: str) -> Sequence[str]:
    """The texts of decoded arguments, names first; one text if they are no object."""
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        return ["", text]
    return [
        part
        for name, one in value.items()
        for part in (name, one if isinstance(one, str) else json.dumps(one, ensure_ascii=False))
    ]


def parts_of(item: Item, framing: Framing) -> list[str]:
    """The texts of an item in the order in which they go out."""
    if item.kind != "tool_call":
        return [item.text]
    return [item.tool, *(arguments_of(item.text) if framing.arguments == "decoded" else [item.text])]


def rendered(head: Head, items: Sequence[Item], framing: Framing, own_prompt: int) -> list[Position]:
    """The positions of a request: tools, system prompt, each item."""
    schemas = round(framing.schemas * sum(map(text_tokens, head.tools)))
    tools = framing.request + head.hidden + schemas + (own_prompt if head.tools else 0)
    system = text_tokens(head.system) + (framing.message if head.system else 0)
    found = [Position(("tools", *head.tools), tools, None), Position(("system", head.system), system, None)]
    for at, item in enumerate(items):
        last, before = (items[at - n] if at >= n else None for n in (1, 2))
        first = last is None or last.message != item.message
        tokens = item_tokens(item) + (framing.message if first else 0)
        if item.kind == "tool_result":
            apart = framing.results_apart
            tokens += framing.result + (framing.message if apart and not first else 0)
            tokens += framing.results if first or apart else 0
            tokens += text_tokens(item.tool) if framing.named_results and item.tool else 0
        if item.kind == "tool_call":
            tokens += framing.call
            if first or last is None or last.kind != "tool_call":
                tokens += framing.calls + (framing.answer if not first and last and last.kind == "assistant" else 0)
            elif before is None or before.message != last.message or before.kind != "tool_call":
                tokens += framing.parallel
            if framing.arguments == "decoded":
                parts = parts_of(item, framing)[1:]
                tokens += sum(map(text_tokens, parts)) - text_tokens(item.text) + framing.parameter * (len(parts) // 2)
        if item.kind == "reasoning":
            tokens += framing.reasoning
        found.append(Position((first, item.kind, item.text, item.tool, item.call_id, item.media), tokens, item))
    return found


def pair_errors(items: Sequence[Item]) -> list[str]:
    """Results that answer no call of the message before, and calls that the next message doesn't answer."""
    messages: list[list[Item]] = []
    for item in items:
        if messages and (messages[-1][-1].message == item.message or item.kind == "tool_result"):
            messages[-1].append(item)
        else:
            messages.append([item])
    found = []
    for message in messages:
        waiting: dict[int, Item] = {}
        for item in message:
            if item.kind == "tool_call":
                waiting[item.place] = item
            elif item.kind == "tool_result" and waiting.pop(-1 if item.answers is None else item.answers, None) is None:
                found.append(f"result {item.place} has no call in the message before it")
        found += [f"call {place} ({call.tool}) is not answered in the next message" for place, call in waiting.items()]
    return found


class Cache:
    """Whole requests, and whole prefixes that were marked, with the second until which each is alive."""

    def __init__(self, rule: CacheRule, provider: Provider, framing: Framing) -> None:
        self.rule, self.provider, self.framing = rule, provider, framing
        self.lifetime_s = rule.lifetime(provider.model, provider.long_cache)
        self.minimum = rule.minimum(provider.model)
        self.step = first_fit(provider.model, rule.step_by_model, rule.step)
        self.marked: dict[tuple[Any, ...], float] = {}
        self.requests: list[tuple[list[Position], float]] = []
        self.used = False

    def classes(self, request: list[Position], now_s: float) -> tuple[int, int, int]:
        """Tokens read, written and uncached."""
        total = sum(one.tokens for one in request)
        if self.rule.kind == "none":
            return 0, 0, total
        if self.rule.kind == "breakpoints":
            marks, hit = self.marks(request, now_s)
            read = upto(request, hit)
            cached = max([read, *(upto(request, mark) for mark in marks)])
            return read, cached - read, total - cached
        return self.by_prefix(request, now_s, total)

    def marks(self, request: list[Position], now_s: float) -> tuple[list[int], int]:
        """The positions that are marked, and the one that is read up to, or -1."""
        last, kinds = len(request) - 1, [one.item.kind if one.item else "" for one in request]
        ends = [
            n
            for n in range(2, last + 1)
            if kinds[n] in ASKING and (n == last or message(request, n) != message(request, n + 1))
        ]
        chosen = {
            "none": [],
            "automatic": [last],
            "system-tools-last": sorted({0, 1, last}),
            "last-two-user": [1, *ends[-2:]],
        }[self.provider.breakpoints]
        chosen = chosen[-self.rule.max_breakpoints :]
        if self.rule.implicit:
            chosen = sorted({*chosen, last})
        marks = [mark for mark in chosen if upto(request, mark) >= self.minimum]
        return marks, next(
            (hit for mark in reversed(marks) if (hit := self.look_back(request, mark, kinds, now_s)) >= 0), -1
        )

    def look_back(self, request: list[Position], mark: int, kinds: list[str], now_s: float) -> int:
        """The newest live entry within reach of a mark, or -1."""
        steps = known = 0
        for at in range(mark, -1, -1):
            expires = self.marked.get(contents(request[: at + 1]))
            if expires is not None:
                if expires >= now_s:
                    return at
                known += 1
            run = 3 < at < len(request) and kinds[at - 1] == kinds[at] and kinds[at] in ("tool_call", "tool_result")
            steps += not run
            if steps >= self.rule.lookback or known >= self.rule.readable:
                break
        return -1

    def by_prefix(self, request: list[Position], now_s: float, total: int) -> tuple[int, int, int]:
        alive = [one if now_s - at_s <= self.lifetime_s else [] for one, at_s in self.requests]
        last = alive[-1] if alive else []
        with_last = shared(request, last)
        longest = with_last
        if self.rule.keeps_responses(self.provider.model) and 0 < with_last == len(last):
            answer = request[with_last : with_last + 1]
            for one in request[with_last:]:
                if (
                    one.item is None
                    or one.item.kind not in ("assistant", "reasoning", "tool_call")
                    or one.item.message != answer[0].item.message
                ):  # type: ignore[union-attr]
                    break
                longest += 1
        longest = max([longest, *(shared(request, one) for one in alive)])
        tokens = upto(request, longest - 1)
        if self.rule.partial_items and longest and longest == with_last < min(len(request), len(last)):
            tokens += self.inside(last[longest].item, request[longest].item)
        read = tokens - tokens % self.step
        read = read if read >= self.minimum else 0
        written = self.rule.paid_writes and total >= self.minimum
        return (read, total - read, 0) if written else (read, 0, total - read)

    def inside(self, left: Item | None, now: Item | None) -> int:
        """Tokens with which two items begin alike."""
        if left is None or now is None or left.kind != now.kind:
            return 0
        found = 0
        for one, other in zip(parts_of(left, self.framing), parts_of(now, self.framing), strict=False):
            found += next(
                (n for n, (a, b) in enumerate(zip(ids(one), ids(other), strict=False)) if a != b),
                min(len(ids(one)), len(ids(other))),
            )
            if one != other:
                break
        return found

    def remember(self, request: list[Position], now_s: float, capped: bool) -> None:
        """The request is billed; `capped`: what it should have read was not all there."""
        if self.rule.kind == "breakpoints":
            marks, hit = self.marks(request, now_s)
            for at in [*marks, *([hit] if hit >= 0 and not capped else [])]:
                self.marked[contents(request[: at + 1])] = now_s + self.lifetime_s
        self.requests.append((request, now_s))
        self.used = True

    def revive(self, now_s: float) -> None:
        """Nothing has expired yet."""
        self.marked = {one: max(until, now_s) for one, until in self.marked.items()}
        # Those that had expired before the last request are gone.
        last_s = self.requests[-1][1] if self.requests else now_s
        self.requests = [(one, now_s) for one, at_s in self.requests if last_s - at_s <= self.lifetime_s]

    def forget(self) -> None:
        """Everything is lost; what was sent last is still known to whoever sent it."""
        self.marked, self.requests = {}, []

    def holds(self, classes: tuple[int, int, int]) -> int:
        """Tokens that the same beginning could read next."""
        if self.rule.kind == "breakpoints":
            return classes[0] + classes[1]
        return sum(classes) if self.rule.kind == "prefix" and sum(classes) >= self.minimum else 0


def message(request: list[Position], at: int) -> int | None:
    """The number of the message at a position."""
    item = request[at].item
    return item.message if item else None


def contents(request: list[Position]) -> tuple[Any, ...]:
    """All that goes over the wire."""
    return tuple(one.content for one in request)


def upto(request: list[Position], at: int) -> int:
    """Tokens up to a position, that one included."""
    return sum(one.tokens for one in request[: at + 1])


def shared(left: list[Position], right: list[Position]) -> int:
    """How many leading positions two requests share."""
    pairs = zip(left, right, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a.content != b.content), min(len(left), len(right)))


class Bucket:
    """So many a minute, full at first."""

    def __init__(self, per_minute: int) -> None:
        self.capacity, self.level, self.at_s = float(per_minute), float(per_minute), 0.0

    def filled(self, now_s: float) -> float:
        """What it holds by now."""
        return min(self.capacity, self.level + max(0.0, now_s - self.at_s) * self.capacity / 60)

    def wait_s(self, demand: int, now_s: float) -> float | None:
        """Seconds until it holds so many; None if it never will."""
        if demand > self.capacity:
            return None
        return max(0.0, round((demand - self.filled(now_s)) / (self.capacity / 60), 9))

    def take(self, demand: int, now_s: float) -> None:
        """So many leave it."""
        self.level, self.at_s = self.filled(now_s) - demand, max(self.at_s, now_s)
