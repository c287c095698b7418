"""A request as a provider sees it: positions with a hash of everything up to them, and tokens up to them."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from functools import lru_cache
from itertools import accumulate

from ctxsim.provider.vendor import Framing
from ctxsim.transcript import Head, Item
from ctxsim.view import difference

HEAD_POSITIONS = 2
"""Tools, then the system prompt: the order in which providers render them."""


@lru_cache(maxsize=1 << 14)
def decoded(arguments: str) -> tuple[tuple[str, str], ...]:
    """Return a call's arguments as names and plain texts: a string as it is, anything else as JSON.

    Arguments that are no JSON object are one, without a name.
    """
    try:
        value = json.loads(arguments)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        return (("", arguments),)
    return tuple(
        (name, given if isinstance(given, str) else json.dumps(given, ensure_ascii=False))
        for name, given in value.items()
    )


class Rendering:
    """The last request. `follow` keeps what didn't change and renders the rest, so growth costs only the growth.

    `hashes[n]` stands for positions 0..n and `tokens[n]` counts them, framing included. Position 0 is the tools, 1 the
    system prompt, 2 the first item. Framing of a wire message is counted with its first item.
    """

    def __init__(
        self,
        head: Head,
        model: str,
        framing: Framing,
        count: Callable[[Item], int],
        text: Callable[[str], int],
    ) -> None:
        self._model = model
        self._framing = framing.of(model)
        self._plain = self._framing == Framing()
        self._count = count
        self._text = text
        self._known: dict[int, tuple[Item, Item | None, Item | None, int, int]] = {}
        """By place, an item as it was rendered last: it and the two before it, its own tokens and hash."""
        self._start(head)

    def _start(self, head: Head) -> None:
        framing = self._framing
        tools = (
            head.hidden
            + round(framing.schemas * sum(map(self._text, head.tools)))
            + (framing.of_tools(self._model) if head.tools else 0)
        )
        system = self._text(head.system) + (framing.message if head.system else 0)
        first = hash(head.tools)
        self.head = head
        self.hashes = [first, hash((first, head.system))]
        self.tokens = [framing.request + tools, framing.request + tools + system]
        self.items: list[Item] = []
        self._tokens: list[int] = []
        self._hashes: list[int] = []
        """By item, its own."""

    def forked(self) -> Rendering:
        """Return a rendering of the same request that goes its own way from here; they know items together."""
        fork = copy(self)
        fork.items, fork._tokens, fork._hashes = self.items[:], self._tokens[:], self._hashes[:]
        fork.hashes, fork.tokens = self.hashes[:], self.tokens[:]
        return fork

    def with_head(self, head: Head) -> None:
        """Send another head from now on: everything after it has another hash."""
        if head != self.head:
            items = self.items
            self._start(head)
            self.follow(items, 0)

    @property
    def total(self) -> int:
        """Tokens of the whole request."""
        return self.tokens[-1]

    def follow(self, items: Sequence[Item], changed_from: int) -> int:
        """Become the rendering of these items, of which those before `changed_from` are the same; return its tokens.

        Behind an edit only items that differ, by identity, or stand behind others are rendered again.
        """
        there = difference(self.items, items, min(changed_from, len(self.items), len(items)))
        start, grown = there.start, there.after + len(self.items) - there.before
        others = there.others(self.items, items)
        # Two items behind another one stand behind others than before.
        behind = {at + 1 for at in others}.union(at + 2 for at in others).union((there.after, there.after + 1))
        self.items[start:] = items[start:]
        for own in (self._tokens, self._hashes):
            if there.before != there.after:
                own[start : there.before] = [0] * (there.after - start)
            own += [0] * (len(self.items) - grown)
        self._render_at({*others, *(at for at in behind if at < grown), *range(grown, len(self.items))})
        del self.hashes[HEAD_POSITIONS + start :], self.tokens[HEAD_POSITIONS + start :]
        self.tokens += accumulate(self._tokens[start:], initial=self.tokens.pop())
        self.hashes += accumulate(self._hashes[start:], _chained, initial=self.hashes.pop())
        return self.total

    def _render_at(self, positions: Iterable[int]) -> None:
        """Note the own tokens and hash of the items at these positions."""
        items = self.items
        for at in positions:
            item, last, before = items[at], items[at - 1] if at else None, items[at - 2] if at > 1 else None
            known = self._known.get(item.place)
            if known is None or known[0] is not item or known[1] is not last or known[2] is not before:
                known = self._known[item.place] = (item, last, before, *self._render(item, last, before))
            self._tokens[at], self._hashes[at] = known[3], known[4]

    def _render(self, item: Item, last: Item | None, before: Item | None) -> tuple[int, int]:
        """Tokens and hash of an item behind two others; nothing else decides about them."""
        first = last is None or last.message != item.message
        tokens = self._count(item) if self._plain else self._framed(item, first, last, before)
        # Only what goes over the wire: our own numbers don't.
        return tokens, hash((first, item.kind, item.text, item.tool, item.call_id, item.media))

    def _framed(self, item: Item, first: bool, last: Item | None, before: Item | None) -> int:
        """Tokens of an item as the vendor renders it: its content and what stands around it."""
        framing = self._framing
        around = framing.message if first else 0
        if item.kind == "tool_result":
            if framing.results_apart and not first:
                around = framing.message
            around += framing.result + (framing.results if first or framing.results_apart else 0)
            if framing.named_results and item.tool:
                around += self._text(item.tool)
        elif item.kind == "tool_call":
            around += framing.call + self._around_calls(first, last, before)
            if framing.arguments == "decoded":
                parts = decoded(item.text)
                texts = self._text(item.tool) + sum(self._text(name) + self._text(text) for name, text in parts)
                return around + texts + framing.parameter * len(parts)
        elif item.kind == "reasoning":
            around += framing.reasoning
        return around + self._count(item)

    def _around_calls(self, first: bool, last: Item | None, before: Item | None) -> int:
        """What the first call of a response, and its second, bring with them."""
        framing = self._framing
        if first or last is None:
            return framing.calls
        if last.kind != "tool_call":
            return framing.calls + (framing.answer if last.kind == "assistant" else 0)
        second = before is None or before.message != last.message or before.kind != "tool_call"
        return framing.parallel if second else 0

    def tokens_before(self, order: int) -> int:
        """Tokens of the head and of all items whose place in the recording is before `order`."""
        return self.tokens[HEAD_POSITIONS - 1 + bisect_left(self.items, order, key=lambda item: item.order)]


def _chained(before: int, own: int) -> int:
    return hash((before, own))
