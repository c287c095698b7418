"""The request under way: its items, the tokens up to each, the identity of each prefix, and where it differs from the
request billed last. An edit recomputes only what it changes.
"""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from itertools import accumulate
from operator import eq
from typing import Any

from ctxsim.simulator.ledger.frames import Frames
from ctxsim.transcript import Head, Item
from ctxsim.view import Edit

HEAD = 2
"""Positions before the first item: tools, then the system prompt, the order in which providers render them."""

BLOCK = 64
"""Positions that share one stored hash. An edit drops that of its own block, and of those behind if items move."""


def place_in(item: Item) -> tuple[int, bool, int]:
    """Return the sort key of an item: recorded items by place, a policy's items before the recorded item at their `at`,
    the older first.
    """
    return (item.place, True, 0) if item.place >= 0 else (item.at, False, -item.place)


class Request:
    """Items behind a head, in the order of `place_in`. Items join at its end, and edits change it.

    The request billed last is stored as its difference: it had the same positions before `_same`, and behind them
    the hashes in `_gone` and the items in `_left`, with None for a position of the head.
    """

    __slots__ = (
        "_blocks", "_frames", "_gone", "_identities", "_left", "_own", "_same", "_tokens", "_upto", "cause",
        "changed_from", "head", "items", "marks", "reshaped_from", "total",
    )  # fmt: skip

    def __init__(self, frames: Frames, head: Head) -> None:
        self._frames = frames
        self.head = head
        self.items: list[Item] = []
        self.marks: Mapping[int, bool] | None = None
        """The positions that the caller marks for the cache, oldest first, and whether each for the longer lifetime;
        None for those of the provider's strategy.
        """
        tokens, self._own = frames.head(head)
        self._tokens: list[int] = []
        """The tokens of each item."""
        self._upto = list(accumulate(tokens))
        """The running sum of tokens by position. An edit cuts it off, and lookups extend it again."""
        self.total = self._upto[-1]
        """Tokens of the whole request."""
        self._blocks: list[int | None] = []
        """The hash of each whole block; None if it isn't computed."""
        self._identities: dict[int, int] = {}
        """Memo of identities by position since the last edit: while a request grows, the same are looked up again."""
        self._same = 0
        self._gone: list[int] = []
        self._left: list[Item | None] = []
        self.changed_from = sys.maxsize
        """Index of the first item that differs from the request billed last, or, before the first bill, from the item
        as it joined; growth alone is no change.
        """
        self.cause = ""
        """The reason of the edit that changed it."""
        self.reshaped_from = 0
        """Index of the first item inserted or removed since the request was judged last; other texts don't count."""

    def forked(self) -> Request:
        """Return an independent copy, with the same record of the request billed last."""
        fork = copy(self)
        for name in ("items", "_own", "_tokens", "_upto", "_blocks", "_identities", "_gone", "_left"):
            setattr(fork, name, copy(getattr(self, name)))
        return fork

    @property
    def length(self) -> int:
        """The number of positions: head and items."""
        return HEAD + len(self.items)

    # changing

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

    def become(self, items: Sequence[Item]) -> int:
        """Replace the items, and return the tokens. Leading items that are equal are kept."""
        same = alike(self.items, items)
        if same < len(self.items):
            self._splice(same, len(self.items) - same, [])
            self.changed_from = min(self.changed_from, same)
        self.join(items[same:])
        return self.total

    def join(self, new: Iterable[Item]) -> None:
        """Add items at the end."""
        items, render = self.items, self._frames.item
        for item in new:
            tokens, own = render(item, items[-1] if items else None, items[-2] if len(items) > 1 else None)
            self.total += tokens
            items.append(item)
            self._tokens.append(tokens)
            self._own.append(own)

    def follow(self, view: Sequence[Item], edits: Sequence[Edit] = ()) -> None:
        """Add the items that a view has more at its end, then apply its edits."""
        self.join(view[len(self.items) :])
        self.edit(edits)

    def edit(self, edits: Sequence[Edit]) -> None:
        """Apply edits to the items, in order."""
        made, shift = 0, 0
        while made < len(edits):
            edit = edits[made]
            at = self._where(edit.before or edit.after, edit.position + shift)
            if at < self.changed_from:
                self.changed_from, self.cause = at, edit.reason
            many = 1
            if edit.after is None:
                # Remove neighbours together.
                while self._leaves_too(edits, made, many, at):
                    many += 1
                self._splice(at, many, [])
                shift -= many
            elif edit.before is None:
                self._splice(at, 0, [edit.after])
                shift += 1
            else:
                self._replace(at, edit.after)
            made += many

    def _where(self, item: Item | None, near: int) -> int:
        """The index of an item, or where it would be inserted. The index `near` is tried first."""
        assert item is not None  # an edit has at least one side
        items = self.items
        found = 0 <= near < len(items) and items[near] is item
        return near if found else bisect_left(items, place_in(item), key=place_in)

    def _leaves_too(self, edits: Sequence[Edit], made: int, many: int, at: int) -> bool:
        if made + many >= len(edits) or at + many >= len(self.items):
            return False
        edit = edits[made + many]
        return edit.after is None and edit.before is self.items[at + many]

    def _splice(self, at: int, many: int, new: list[Item]) -> None:
        self.reshaped_from = min(self.reshaped_from, at)
        self._changes_from(HEAD + at)
        del self._upto[HEAD + at :]
        self.total -= sum(self._tokens[at : at + many])
        self.items[at : at + many] = new
        self._tokens[at : at + many] = self._own[HEAD + at : HEAD + at + many] = [0] * len(new)
        # An item's tokens and hash depend on the two items before it.
        for moved in range(at, min(at + len(new) + 2, len(self.items))):
            self._render(moved)

    def _replace(self, at: int, item: Item) -> None:
        self._keep_from(HEAD + at)
        self.items[at] = item
        self._render(at)
        del self._upto[HEAD + at :]
        if HEAD + at < len(self._blocks) * BLOCK:
            self._blocks[(HEAD + at) // BLOCK] = None
        self._identities.clear()

    def _render(self, at: int) -> None:
        items, known = self.items, self._tokens[at]
        self._tokens[at], self._own[HEAD + at] = self._frames.item(
            items[at], items[at - 1] if at else None, items[at - 2] if at > 1 else None
        )
        self.total += self._tokens[at] - known

    # tokens

    def last_before(self, order: int) -> int:
        """Return the position of the last item whose place in the recording is before `order`, or of the head's end."""
        items, count = self.items, len(self.items)
        while count and (item := items[count - 1]) and (item.place if item.place >= 0 else item.at) >= order:
            count -= 1
        return HEAD - 1 + count

    def upto(self) -> list[int]:
        """Return the tokens up to each position, that one included."""
        if len(self._upto) < HEAD + len(self.items):
            self._upto += accumulate(self._tokens[len(self._upto) - HEAD :], initial=self._upto.pop())
        return self._upto

    def items_within(self, tokens: int) -> int:
        """Return how many items, from the first on, end within the first `tokens` tokens."""
        return max(0, bisect_right(self.upto(), tokens) - HEAD)

    # prefixes

    def identity(self, position: int) -> int:
        """Return a hash of all positions from 0 up to this one."""
        found = self._identities.get(position)
        if found is None:
            found = self._identities[position] = self.identity_with(position, self._own[position])
        return found

    def identity_with(self, position: int, own: int) -> int:
        """Return the identity up to this position if its own hash were `own`."""
        whole, blocks = position // BLOCK, self._blocks
        if len(blocks) < whole or None in blocks:
            blocks += [None] * (whole - len(blocks))
            for number, block in enumerate(blocks):
                if block is None:
                    blocks[number] = hash(tuple(self._own[number * BLOCK : (number + 1) * BLOCK]))
        return hash((*blocks[:whole], *self._own[whole * BLOCK : position], own))

    def own(self, start: int, end: int) -> list[int]:
        """Return the hash of each position from `start` up to, but without, `end`."""
        return self._own[start:end]

    # the request billed last

    def remember(self) -> None:
        """Record this request as billed: the next is compared with it."""
        self._same, self._gone, self._left = len(self._own), [], []
        self.changed_from, self.cause = len(self.items), ""

    @property
    def remembered(self) -> int:
        """How many positions the request billed last had."""
        return self._same + len(self._gone)

    def shared(self) -> int:
        """Return how many leading positions this request has in common with the one billed last."""
        return self._same + (alike(self._own[self._same :], self._gone) if self._gone else 0)

    def lost(self, shared: int) -> list[int]:
        """Return the hashes of the request billed last from position `shared` on."""
        return [*self._own[shared : self._same], *self._gone[max(0, shared - self._same) :]]

    def left_at(self, position: int) -> Item | None:
        """Return the item that the request billed last had at a position where this one differs; None without one."""
        at = position - self._same
        return self._left[at] if 0 <= at < len(self._left) else None

    def _keep_from(self, start: int) -> None:
        """Record what the request billed last had at the positions from `start` on, before any of them changes."""
        if start < self._same:
            self._gone[:0] = self._own[start : self._same]
            self._left[:0] = self.items[max(0, start - HEAD) : max(0, self._same - HEAD)]
            self._left[:0] = [None] * (min(HEAD, self._same) - start)
            self._same = start

    def _changes_from(self, start: int) -> None:
        """Prepare a change of all positions from `start` on."""
        self._keep_from(start)
        self._identities.clear()
        del self._blocks[start // BLOCK :]


def alike(left: Sequence[Any], right: Sequence[Any]) -> int:
    """Return how many values at the beginning of two lists are equal."""
    same = list(map(eq, left, right))
    return same.index(False) if False in same else len(same)
