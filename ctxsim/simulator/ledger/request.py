"""The request under way: its items, the tokens up to each, the identity of each prefix, and where it differs from the
request billed last. An edit costs what it changes.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from copy import copy
from itertools import accumulate, compress
from operator import attrgetter, eq, is_, is_not
from typing import NamedTuple

from ctxsim.simulator.ledger.frames import Frames, same_shape
from ctxsim.transcript import Head, Item

HEAD = 2
"""Positions before the first item: tools, then the system prompt, the order in which providers render them."""

BLOCK = 64
"""Positions whose hash is made at once, and kept: an edit makes again that of its own block, or of those behind it."""

_order = attrgetter("order")


class Request:
    """Items behind a head. `follow` keeps what didn't change and renders the rest.

    Of the request billed last is known: positions before `_same` are its own but for a few `_other`, and behind them it
    had `_gone`.
    """

    __slots__ = (
        "_blocks", "_frames", "_gone", "_identities", "_other", "_own", "_same", "_tokens", "_upto", "head", "items",
        "total",
    )  # fmt: skip

    def __init__(self, frames: Frames, head: Head) -> None:
        self._frames = frames
        self.head = head
        self.items: list[Item] = []
        tokens, self._own = frames.head(head)
        self._tokens: list[int] = []
        """By item, its own."""
        self._upto = list(accumulate(tokens))
        """By position, the tokens up to it; behind an edit it ends, and goes on as far as somebody asks."""
        self.total = self._upto[-1]
        """Tokens of the whole request."""
        self._blocks: list[int | None] = []
        """By whole block, its hash, if it has been asked for."""
        self._identities: dict[int, int] = {}
        """Those asked for since the last edit: as long as a request only grows, the same are asked for again."""
        self._same = 0
        self._other: dict[int, tuple[int, Item]] = {}
        self._gone: list[tuple[int, Item | None]] = []

    def forked(self) -> Request:
        """Return the same request with the same memory, to go its own way."""
        fork = copy(self)
        for name in ("items", "_own", "_tokens", "_upto", "_blocks", "_identities", "_other", "_gone"):
            setattr(fork, name, copy(getattr(self, name)))
        return fork

    def first(self, size: int) -> Request:
        """Return a request of the first `size` items, as the one billed last."""
        made = self.forked()
        del made.items[size:], made._tokens[size:], made._own[HEAD + size :], made._upto[HEAD + size :]
        del made._blocks[(HEAD + size) // BLOCK :]
        made.total = made.upto()[-1]
        made._identities.clear()
        made.remember()
        return made

    @property
    def length(self) -> int:
        """How many positions there are."""
        return HEAD + len(self.items)

    # following

    def with_head(self, head: Head) -> None:
        """Send another head from now on: everything after it has another prefix."""
        if head == self.head:
            return
        self.head = head
        tokens, own = self._frames.head(head)
        self._changes_from(alike(self._own, own))
        self._own[:HEAD] = own
        self._upto = list(accumulate(tokens))
        self.total = self._upto[-1] + sum(self._tokens)

    def follow(self, items: Sequence[Item], changed_from: int, texts_at: Iterable[int] | None = None) -> int:
        """Become the request of these items, of which those before `changed_from` are the same; return its tokens.

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
        items, render = self.items, self._frames.item
        for item in new:
            tokens, own = render(item, items[-1] if items else None, items[-2] if len(items) > 1 else None)
            self.total += tokens
            items.append(item)
            self._tokens.append(tokens)
            self._own.append(own)

    def _edit_texts(self, items: Sequence[Item], positions: Iterable[int]) -> None:
        mine, known = self.items, self._same - HEAD
        for at in positions:
            if at >= len(mine) or (item := items[at]) is mine[at]:
                continue
            tokens, own = self._frames.item(item, mine[at - 1] if at else None, mine[at - 2] if at > 1 else None)
            if at < known:
                self._other.setdefault(HEAD + at, (self._own[HEAD + at], mine[at]))
            self.total += tokens - self._tokens[at]
            mine[at], self._tokens[at], self._own[HEAD + at] = item, tokens, own
            del self._upto[HEAD + at :]
            if HEAD + at < len(self._blocks) * BLOCK:
                self._blocks[(HEAD + at) // BLOCK] = None
        self._identities.clear()
        self._grow(items[len(mine) :])

    def _edit(self, items: Sequence[Item], changed_from: int) -> None:
        there = difference(self.items, items, min(changed_from, len(items)))
        start, grown = there.start, there.after + len(self.items) - there.before
        others = there.others(self.items, items)
        # Two items behind one of another shape, or where more or fewer stand, stand behind others than before.
        behind = {there.after, there.after + 1} if there.before != there.after else set[int]()
        for at in others:
            if there.before != there.after or not same_shape(self.items[at], items[at]):
                behind |= {at + 1, at + 2}
        self._changes_from(HEAD + start)
        self.items[start:] = items[start:grown]
        mine, own = self.items, self._own
        if there.before != there.after:
            new = [0] * (there.after - start)
            self._tokens[start : there.before] = new
            own[HEAD + start : HEAD + there.before] = new
        for at in {*others, *(at for at in behind if at < grown)}:
            self._tokens[at], own[HEAD + at] = self._frames.item(
                mine[at], mine[at - 1] if at else None, mine[at - 2] if at > 1 else None
            )
        del self._upto[HEAD + start :]
        self.total = self._upto[-1] + sum(self._tokens[len(self._upto) - HEAD :])
        self._grow(items[grown:])

    # tokens

    def tokens_to(self, position: int) -> int:
        """Return the tokens up to a position, that one included; added up from the nearer side."""
        upto = self._upto
        if position >= len(upto):
            if len(self.items) + HEAD - position < position - len(upto):
                return self.total - sum(self._tokens[position + 1 - HEAD :])
            upto += accumulate(self._tokens[len(upto) - HEAD : position + 1 - HEAD], initial=upto.pop())
        return upto[position]

    def tokens_before(self, order: int) -> int:
        """Return the tokens of the head and of all items whose place in the recording is before `order`."""
        return self.tokens_to(HEAD - 1 + bisect_left(self.items, order, key=_order))

    def upto(self) -> list[int]:
        """Return the tokens up to each position."""
        self.tokens_to(self.length - 1)
        if len(self._upto) < self.length:
            self._upto += accumulate(self._tokens[len(self._upto) - HEAD :], initial=self._upto.pop())
        return self._upto

    def items_within(self, tokens: int) -> int:
        """Return how many items, from the first on, end within so many tokens."""
        return max(0, bisect_right(self.upto(), tokens) - HEAD)

    # prefixes

    def identity(self, position: int) -> int:
        """Return what stands for positions 0 up to this one, all of them."""
        found = self._identities.get(position)
        if found is None:
            found = self._identities[position] = self.identity_with(position, self._own[position])
        return found

    def identity_with(self, position: int, own: int) -> int:
        """Return the same if something else stood at this position."""
        whole, blocks = position // BLOCK, self._blocks
        if len(blocks) < whole or None in blocks:
            blocks += [None] * (whole - len(blocks))
            for number, block in enumerate(blocks):
                if block is None:
                    blocks[number] = hash(tuple(self._own[number * BLOCK : (number + 1) * BLOCK]))
        return hash((*blocks[:whole], *self._own[whole * BLOCK : position], own))

    def own(self, start: int, end: int) -> list[int]:
        """Return what stands at each of some positions, as a hash."""
        return self._own[start:end]

    # the request billed last

    def remember(self) -> None:
        """This request is billed: the next is compared with it."""
        self._same, self._other, self._gone = len(self._own), {}, []

    @property
    def remembered(self) -> int:
        """How many positions the request billed last had."""
        return self._same + len(self._gone)

    def shared(self) -> int:
        """Return how many leading positions this request has in common with the one billed last."""
        others = [position for position, (own, _) in self._other.items() if self._own[position] != own]
        if others:
            return min(others)
        gone = self._gone
        return self._same + (alike(self._own[self._same :], [own for own, _ in gone]) if gone else 0)

    def lost(self, shared: int) -> list[int]:
        """Return what the request billed last had from there on, given how many positions are shared."""
        gone = [own for own, _ in self._gone]
        if shared >= self._same:
            return gone[shared - self._same :]
        return [*(own for own, _ in self._had(shared)), *gone]

    def left_at(self, position: int) -> Item | None:
        """Return the item that the request billed last had at a position where this one is no longer the same."""
        if position < self._same:
            return self._other[position][1] if position in self._other else None
        at = position - self._same
        return self._gone[at][1] if at < len(self._gone) else None

    def _had(self, start: int) -> list[tuple[int, Item | None]]:
        """What the request billed last had at the positions from `start` on that are still its own."""
        heads: list[Item | None] = [None] * max(0, HEAD - start)
        items: list[Item | None] = [*heads, *self.items[max(0, start - HEAD) : self._same - HEAD]]
        had = list(zip(self._own[start : self._same], items, strict=True))
        for position, left in self._other.items():
            if position >= start:
                had[position - start] = left
        return had

    def _changes_from(self, start: int) -> None:
        """From a position on something else is going to stand."""
        if start < self._same:
            self._gone = [*self._had(start), *self._gone]
            self._other = {position: left for position, left in self._other.items() if position < start}
            self._same = start
        self._identities.clear()
        del self._blocks[start // BLOCK :]


def alike(left: Sequence[int], right: Sequence[int]) -> int:
    """Return how many numbers at the beginning of two lists are equal."""
    same = list(map(eq, left, right))
    return same.index(False) if False in same else len(same)


class Difference(NamedTuple):
    """Where two lists of items differ: from `start` on, up to `before` in the first and `after` in the second.

    What stands behind is the same again, to the end of the first; the second may have more.
    """

    start: int
    before: int
    after: int

    def others(self, before: Sequence[Item], after: Sequence[Item]) -> Sequence[int]:
        """Return the positions in the second list of what differs; of as many, only where one stands for another."""
        if self.before != self.after:
            return range(self.start, self.after)
        here = slice(self.start, self.after)
        return list(compress(range(self.start, self.after), map(is_not, before[here], after[here])))


NEAR = 64
"""An end that is farther from the end isn't looked for: that is slower, not wrong."""


def difference(before: Sequence[Item], after: Sequence[Item], start: int = 0) -> Difference:
    """Return where two lists of items differ, by identity; up to `start` they are known to be the same."""
    old, new = before[start:], after[start:]
    front = _identical(old, new)
    if front == len(old):
        return Difference(start + front, start + front, start + front)
    # The end of the first, looked for among the last of the second: lists grow by little.
    last = old[-1]
    end = next((at for at in range(len(new), max(front, len(new) - NEAR), -1) if new[at - 1] is last), None)
    if end is None:
        # Where it stood another text of the same item may stand now: then all positions are what they were.
        same_places = len(new) >= len(old) and new[len(old) - 1].place == last.place
        return Difference(start + front, len(before), len(before) if same_places else len(after))
    back = _identical(old[front:][::-1], new[front:end][::-1])
    return Difference(start + front, len(before) - back, start + end - back)


def _identical(left: Sequence[Item], right: Sequence[Item]) -> int:
    """How many items at the beginning of two lists are the same."""
    same = list(map(is_, left, right))
    return same.index(False) if False in same else len(same)
