"""The view: the items that the model would be sent now, and the edits that made it so.

A view is a value: editing gives another view and leaves the old one as it was. Every edit is written down with the
item before and after and the reason, which is what the audit trail and the running totals are made from.
"""

from __future__ import annotations

import operator
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, Literal, overload

import msgspec

from ctxsim.errors import ContractError
from ctxsim.transcript import SYNTHETIC_KINDS, Item, Sizes

Action = Literal["edited", "dropped", "inserted"]


class Edit(msgspec.Struct, frozen=True, gc=False):
    """One change of one item: `before` is None for an inserted item, `after` for a dropped one."""

    before: Item | None
    after: Item | None
    position: int
    reason: str

    @property
    def action(self) -> Action:
        """What happened to the item."""
        if self.before is None:
            return "inserted"
        return "dropped" if self.after is None else "edited"


class Made(msgspec.Struct, frozen=True, gc=False):
    """An edit with the moment at which a policy made it. If it isn't `lasting`, it was for one request alone."""

    moment: str
    edit: Edit
    lasting: bool = True


_order, _place = attrgetter("order"), attrgetter("place")

_Results = tuple[list[Item], int] | None
"""A list that views share, and how many of its items are the results of this one; None while nobody has asked."""

FEW = 8
"""Up to this many places are looked up one by one; for more, the whole view is gone through once."""


def each_exchange(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Yield groups of items, the oldest first, in which a response stands with the results that answer it.

    Other messages (user texts, summaries) are groups of their own.
    """
    group: list[Item] = []
    message, asks = None, False
    for item in items:
        if item.message != message and group and not (asks and item.kind == "tool_result"):
            yield group
            group, asks = [], False
        message = item.message
        group.append(item)
        asks = asks or item.kind == "tool_call"
    if group:
        yield group


def _number(place: Any) -> int:
    """Return a place. Raises ContractError for anything else, such as the item itself."""
    try:
        return operator.index(place)
    except TypeError:
        raise ContractError(f"a place is a number, as item.place, not {type(place).__name__}") from None


def _text(text: Any) -> str:
    """Return a text. Raises ContractError for anything else."""
    if isinstance(text, str):
        return text
    raise ContractError(f"an item's text is a str, not {type(text).__name__}")


class View(Sequence[Item]):
    """Items in recorded order; synthetic items may stand anywhere.

    `size` is the sum of the items' sizes. Every edit updates it, so reading it costs nothing.
    """

    __slots__ = ("_items", "_length", "_results", "_sizes", "edits", "lineage", "next_place", "size")

    def __init__(self, sizes: Sizes) -> None:
        """Return an empty view. Only replay makes one; policies edit the one they are given."""
        self._items: list[Item] = []
        self._length = 0
        self._results: _Results = None
        self._sizes = sizes
        self.edits: tuple[Edit, ...] = ()
        self.size = 0
        self.next_place = -1
        self.lineage = object()

    # reading

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Item]:
        return iter(self._items[: self._length])

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> list[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | list[Item]:
        if isinstance(index, slice):
            start, stop, step = index.indices(self._length)
            return self._items[start:stop:step] if step > 0 else self._items[: self._length][index]
        if not -self._length <= index < self._length:
            raise IndexError(index)
        return self._items[index if index >= 0 else index + self._length]

    @property
    def results(self) -> list[Item]:
        """All tool results, oldest first."""
        if self._results is None:
            found = [item for item in self if item.kind == "tool_result"]
            self._results = found, len(found)
        found, length = self._results
        return found[:length]

    def messages(self) -> list[list[Item]]:
        """Return the items grouped into messages."""
        return [list(group) for _, group in groupby(self, attrgetter("message"))]

    def exchanges(self) -> list[list[Item]]:
        """Return the items in the groups of `each_exchange`."""
        return list(each_exchange(self))

    def exchange(self, position: int) -> list[Item]:
        """Return the group of `exchanges` that holds the item at a position; empty if the view is empty."""
        if not self._length:
            return []
        items, at = self._items, position if position >= 0 else position + self._length
        # Go back to the nearest message that doesn't begin with a result: all after it, up to `at`, begin with one.
        start = at
        while start > 0 and (items[start - 1].message == items[start].message or items[start].kind == "tool_result"):
            start -= 1
        for group in each_exchange(items[place] for place in range(start, self._length)):
            start += len(group)
            if start > at:
                break
        return group

    def position(self, place: int) -> int:
        """Return the position of the item with that place. Raises ContractError if the view doesn't hold it."""
        found = self._position(place)
        if found is None:
            raise ContractError(f"item {place} is not in the view: it was dropped, or has not been sent yet")
        return found

    def _position(self, place: int) -> int | None:
        if _number(place) < 0:
            return next((position for position, item in enumerate(self) if item.place == place), None)
        position = bisect_left(self._items, place, 0, self._length, key=_order)
        while position < self._length and self._items[position].order == place:
            if self._items[position].place == place:
                return position
            position += 1
        return None

    def find(self, place: int) -> Item | None:
        """Return the item with that place; None if the view doesn't hold it."""
        position = self._position(place)
        return None if position is None else self._items[position]

    def partners(self, places: Iterable[int]) -> set[int]:
        """Return these places together with the calls and results that they must stay with.

        A result stays with its call. A call stays with the other calls of its response, and with all their results.
        """
        wanted = set(places)
        found = wanted.copy()
        few = (self.exchange(position) for position in map(self._position, wanted) if position is not None)
        for exchange in each_exchange(self) if len(wanted) > FEW else few:
            members = [item.place for item in exchange]
            if not wanted.isdisjoint(members) and any(item.kind == "tool_call" for item in exchange):
                found.update(members)
        return found

    # editing

    def rewrite(self, texts: Mapping[int, str], reason: str) -> View:
        """Return a view in which the items with these places have other texts. An equal text is no edit."""
        changes: dict[int, Item | None] = {}
        for position in self._positions(texts):
            item = self._items[position]
            if (text := _text(texts[item.place])) != item.text:
                changes[position] = item.with_text(text)
        return self._edit(changes, reason)

    def drop(self, places: Collection[int], reason: str) -> View:
        """Return a view without the items with these places. The caller keeps pairs together: see `partners`."""
        return self._edit(dict.fromkeys(self._positions(dict.fromkeys(places))), reason)

    def insert(
        self,
        text: str,
        at: int,
        reason: str,
        kind: Literal["summary", "note"] = "note",
        sources: Collection[int] = (),
    ) -> View:
        """Return a view with a synthetic item that stands before the recorded item of place `at`, or at the end."""
        if kind not in SYNTHETIC_KINDS:
            raise ContractError(f"inserts a {kind}; a policy makes only a summary or a note")
        # At most the place of the next recorded item, which is the `at` of a synthetic item at the end.
        at = min(_number(at), self[-1].order + (not self[-1].synthetic)) if self._length else 0
        about = tuple(sorted(map(_number, sources)))
        made = Item(kind, self.next_place, self.next_place, _text(text), at=at, sources=about)
        position = bisect_left(self._items, at, 0, self._length, key=_order)
        while position < self._length and self._items[position].order == at and self._items[position].synthetic:
            position += 1
        items = self._items[: self._length]
        items.insert(position, made)
        edits = (*self.edits, Edit(None, made, position, reason))
        view = self._with(items, self.size + self._sizes(made), edits, self._results)
        view.next_place -= 1
        return view

    def _edit(self, changes: Mapping[int, Item | None], reason: str) -> View:
        """The view with these items at these positions, which are in order; None removes one."""
        if not changes:
            return self
        items: list[Any] = self._items[: self._length]
        edits: list[Edit] = []
        size = self.size
        for position, after in changes.items():
            before, items[position] = items[position], after
            size += (self._sizes(after) if after else 0) - self._sizes(before)
            edits.append(Edit(before, after, position, reason))
        if None in changes.values():
            items = list(filter(None, items))
        return self._with(items, size, (*self.edits, *edits), self._results_after(edits))

    def _positions(self, places: Collection[int]) -> list[int]:
        """The positions of the items with these places, in order. Many are found by going through the view once."""
        if len(places) > FEW:
            found = [position for position, item in enumerate(self) if item.place in places]
            if len(found) == len(places):
                return found
        return sorted(map(self.position, places))

    def _results_after(self, edits: Sequence[Edit]) -> _Results:
        if self._results is None:
            return None
        found = self.results
        for edit in reversed(edits):
            if edit.before is not None and edit.before.kind == "tool_result":
                at = bisect_left(found, edit.before.place, key=_place)
                found[at : at + 1] = [edit.after] if edit.after else []
        return found, len(found)

    def _with(self, items: list[Item], size: int, edits: tuple[Edit, ...], results: _Results) -> View:
        view = View.__new__(View)
        view._items = items
        view._length = len(items)
        view._results = results
        view._sizes = self._sizes
        view.edits = edits
        view.size = size
        view.next_place = self.next_place
        view.lineage = self.lineage
        return view

    def grew_from(self, earlier: View) -> bool:
        """Whether this view certainly begins with the items of an earlier view. Doesn't compare the items."""
        return self._items is earlier._items and self._length >= earlier._length

    # used by replay

    def grow(self, new: Sequence[Item]) -> View:
        """Return a view with more recorded items at its end. Both views share one list of items."""
        if not new:
            return self
        items = self._items
        if len(items) != self._length:
            items = items[: self._length]
        items += new
        grown = self._results
        if grown is not None and (more := [item for item in new if item.kind == "tool_result"]):
            results, length = grown
            if len(results) != length:
                results = results[:length]
            results += more
            grown = results, len(results)
        return self._with(items, self.size + self._sizes.of(new), self.edits, grown)

    def settled(self) -> View:
        """Return the same view without its record of edits: the next edit starts a new record."""
        if not self.edits:
            return self
        view = self._with(self._items, self.size, (), self._results)
        view._length = self._length
        return view
