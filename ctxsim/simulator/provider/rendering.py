"""A request as a provider sees it: its positions, what stands at each, and the tokens up to them."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from functools import lru_cache
from itertools import accumulate
from operator import attrgetter

from ctxsim.simulator.provider.difference import difference
from ctxsim.simulator.provider.prefixes import Prefixes, same_length
from ctxsim.simulator.provider.vendor import Framing
from ctxsim.transcript import Head, Item

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


Rendered = dict[int, tuple[Item, Item | None, Item | None, int, int]]
"""By place, an item as it was rendered: it and the two before it, its own tokens and hash."""


class Rendering:
    """The last request. `follow` keeps what didn't change and renders the rest, so growth costs only the growth.

    Position 0 is the tools, 1 the system prompt, 2 the first item. Framing of a wire message is counted with its first
    item. `prefixes` tells which of them are those of the request billed last. `known`: what other requests of the same
    transcript have rendered under the same rules.
    """

    def __init__(
        self,
        head: Head,
        model: str,
        framing: Framing,
        count: Callable[[Item], int],
        text: Callable[[str], int],
        known: Rendered | None = None,
    ) -> None:
        self._model = model
        self._framing = framing.of(model)
        self._plain = self._framing == Framing()
        self._count = count
        self._text = text
        self._known: Rendered = {} if known is None else known
        self._edited: Rendered = {}
        """What came after another item of that place, which is mostly the recorded one."""
        self.head = head
        self.items: list[Item] = []
        self._left: list[Item] = []
        """What the request billed last had from where the prefixes say that it is another."""
        self._texts: dict[int, Item] = {}
        """What it had at single positions before that."""
        self._tokens: list[int] = []
        """By item, its own."""
        self._upto = self._tokens_of_head()
        """By position, the tokens up to it; behind an edit it ends, and goes on as far as somebody asks."""
        self.total = self._upto[-1]
        """Tokens of the whole request."""
        self.prefixes = Prefixes(self._hashes_of_head())

    def _tokens_of_head(self) -> list[int]:
        framing, head = self._framing, self.head
        tools = (
            head.hidden
            + round(framing.schemas * sum(map(self._text, head.tools)))
            + (framing.of_tools(self._model) if head.tools else 0)
        )
        system = self._text(head.system) + (framing.message if head.system else 0)
        return [framing.request + tools, framing.request + tools + system]

    def _hashes_of_head(self) -> list[int]:
        return [hash(self.head.tools), hash(self.head.system)]

    def forked(self) -> Rendering:
        """Return a rendering of the same request that goes its own way from here; they know items together."""
        fork = copy(self)
        fork.items, fork._tokens, fork._upto = self.items[:], self._tokens[:], self._upto[:]
        fork._texts, fork.prefixes = self._texts.copy(), self.prefixes.forked()
        return fork

    def with_head(self, head: Head) -> None:
        """Send another head from now on: everything after it has another prefix."""
        if head == self.head:
            return
        self.head = head
        own = self._hashes_of_head()
        self._change_from(same_length(self.prefixes.own, own))
        self.prefixes.own[:HEAD_POSITIONS] = own
        self._upto = self._tokens_of_head()
        self.total = self._upto[-1] + sum(self._tokens)

    @property
    def length(self) -> int:
        """How many positions there are."""
        return HEAD_POSITIONS + len(self.items)

    @property
    def tokens(self) -> Sequence[int]:
        """By position, the tokens up to it, framing included."""
        self._reach(self.length - 1)
        return self._upto

    def tokens_to(self, position: int) -> int:
        """Return the tokens up to a position, that one included; added up from the nearer side."""
        if self.length - position < position - len(self._upto):
            return self.total - sum(self._tokens[position + 1 - HEAD_POSITIONS :])
        self._reach(position)
        return self._upto[position]

    def _reach(self, position: int) -> None:
        upto = self._upto
        if position >= len(upto):
            first, end = len(upto) - HEAD_POSITIONS, position + 1 - HEAD_POSITIONS
            upto += accumulate(self._tokens[first:end], initial=upto.pop())

    def remember(self) -> None:
        """This request is billed: the next is compared with it."""
        self.prefixes.remember()
        self._left, self._texts = [], {}

    def left_at(self, position: int) -> Item | None:
        """Return the item that the request billed last had at a position where this one is no longer the same."""
        at = position - max(HEAD_POSITIONS, self.prefixes.known)
        return self._texts.get(position - HEAD_POSITIONS) if at < 0 else next(iter(self._left[at : at + 1]), None)

    def _change_from(self, position: int) -> None:
        first, known = max(0, position - HEAD_POSITIONS), self.prefixes.known - HEAD_POSITIONS
        if first < known:
            left = self.items[first:known]
            for at in [at for at in self._texts if at >= first]:
                left[at - first] = self._texts.pop(at)
            self._left = left + self._left
        self.prefixes.change_from(position)

    def follow(self, items: Sequence[Item], changed_from: int, texts_at: Iterable[int] | None = None) -> int:
        """Become the rendering of these items, of which those before `changed_from` are the same; return its tokens.

        Behind an edit only items that differ, by identity, or stand behind others are rendered again. `texts_at`: the
        only positions at which they may differ, and in their text alone, if that is known; more may stand at the end.
        """
        if changed_from >= len(self.items):
            self._grow(items[len(self.items) :])
        elif texts_at is not None:
            self._edit_texts(items, texts_at)
        else:
            self._edit(items, changed_from)
        return self.total

    def _grow(self, new: Sequence[Item]) -> None:
        items = self.items
        for item in new:
            tokens, own = self._rendered(item, items[-1] if items else None, items[-2] if len(items) > 1 else None)
            self.total += tokens
            items.append(item)
            self._tokens.append(tokens)
            self.prefixes.own.append(own)

    def _edit_texts(self, items: Sequence[Item], positions: Iterable[int]) -> None:
        mine = self.items
        for at in positions:
            if at >= len(mine) or (item := items[at]) is mine[at]:
                continue
            tokens, own = self._rendered(item, mine[at - 1] if at else None, mine[at - 2] if at > 1 else None)
            if HEAD_POSITIONS + at < self.prefixes.known:
                self._texts.setdefault(at, mine[at])
            self.total += tokens - self._tokens[at]
            mine[at], self._tokens[at] = item, tokens
            del self._upto[HEAD_POSITIONS + at :]
            self.prefixes.replace(HEAD_POSITIONS + at, own)
        self._grow(items[len(mine) :])

    def _edit(self, items: Sequence[Item], changed_from: int) -> None:
        there = difference(self.items, items, min(changed_from, len(items)))
        start, grown = there.start, there.after + len(self.items) - there.before
        others = there.others(self.items, items)
        # Two items behind one of another shape, or where more or fewer stand, stand behind others than before.
        behind = {there.after, there.after + 1} if there.before != there.after else set[int]()
        for at in others:
            if there.before != there.after or not _same_shape(self.items[at], items[at]):
                behind |= {at + 1, at + 2}
        self._change_from(HEAD_POSITIONS + start)
        self.items[start:] = items[start:grown]
        own = self.prefixes.own
        if there.before != there.after:
            new = [0] * (there.after - start)
            self._tokens[start : there.before] = new
            own[HEAD_POSITIONS + start : HEAD_POSITIONS + there.before] = new
        mine = self.items
        for at in {*others, *(at for at in behind if at < grown)}:
            self._tokens[at], own[HEAD_POSITIONS + at] = self._rendered(
                mine[at], mine[at - 1] if at else None, mine[at - 2] if at > 1 else None
            )
        del self._upto[HEAD_POSITIONS + start :]
        self.total = self._upto[-1] + sum(self._tokens[len(self._upto) - HEAD_POSITIONS :])
        self._grow(items[grown:])

    def _rendered(self, item: Item, last: Item | None, before: Item | None) -> tuple[int, int]:
        for memo in (self._known, self._edited):
            known = memo.get(item.place)
            if known is None:
                break
            if known[0] is item and (
                (known[1] is last and known[2] is before)
                or (_same_shape(known[1], last) and _same_shape(known[2], before))
            ):
                return known[3], known[4]
        known = memo[item.place] = (item, last, before, *self._render(item, last, before))
        return known[3], known[4]

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
                parameters = len(decoded(item.text))
                return around + sum(map(self._text, self.texts(item))) + framing.parameter * parameters
        elif item.kind == "reasoning":
            around += framing.reasoning
        return around + self._count(item)

    def texts(self, item: Item) -> tuple[str, ...]:
        """Return what stands of an item in the request, in order, without framing: a call's arguments as decoded where
        the vendor decodes them.
        """
        if item.kind == "tool_call" and self._framing.arguments == "decoded":
            return (item.tool, *(text for pair in decoded(item.text) for text in pair))
        return item.texts

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
        return self.tokens_to(HEAD_POSITIONS - 1 + bisect_left(self.items, order, key=attrgetter("order")))


def _same_shape(this: Item | None, that: Item | None) -> bool:
    """Whether what is rendered behind two items is the same: it goes by their message and kind alone."""
    return this is that or (
        this is not None and that is not None and this.message == that.message and this.kind == that.kind
    )
