"""What of each call's needs the view still held.

An atom survives if some item of the view sent with the call, edited or synthetic, holds it whole; reasoning doesn't
count. Source of the rule: docs/references.md, definition, 6 and 7.
"""

from __future__ import annotations

from collections import Counter as Frequencies
from collections.abc import Sequence

import msgspec

from ctxsim.references.needs import Key, Need, References
from ctxsim.transcript import Item
from ctxsim.view import difference


class Counts(msgspec.Struct, frozen=True, gc=False):
    """Needs of one call and how many of them its view kept, each atom once.

    `strict` (of them `values`), `loose` and `carried` are aged needs, `fresh` are strict ones of age 0. `lost` has the
    strict and loose needs that are gone, fresh ones too, but not what was only carried.
    """

    refs_needed_strict: int = 0
    refs_kept_strict: int = 0
    refs_needed_loose: int = 0
    refs_kept_loose: int = 0
    refs_needed_fresh: int = 0
    refs_kept_fresh: int = 0
    refs_needed_carried: int = 0
    refs_kept_carried: int = 0
    refs_needed_values: int = 0
    refs_kept_values: int = 0
    lost: tuple[Need, ...] = ()


NOTHING = Counts()


def counted(needs: Sequence[Need], alive: Sequence[bool], carried: Sequence[bool]) -> Counts:
    """Return the counts of one call: its needs, which of them are alive, and which of the carried ones are."""
    pairs = list(zip(needs, alive, strict=True))
    strict = [(need, kept) for need, kept in pairs if need.detector == "strict" and need.age >= 1]
    values = [kept for need, kept in strict if need.value]
    loose = [kept for need, kept in pairs if need.detector == "loose" and need.age >= 1]
    fresh = [kept for need, kept in pairs if need.detector == "strict" and need.age == 0]
    return Counts(
        refs_needed_strict=len(strict),
        refs_kept_strict=sum(kept for _, kept in strict),
        refs_needed_loose=len(loose),
        refs_kept_loose=sum(loose),
        refs_needed_fresh=len(fresh),
        refs_kept_fresh=sum(fresh),
        refs_needed_carried=len(carried),
        refs_kept_carried=sum(carried),
        refs_needed_values=len(values),
        refs_kept_values=sum(values),
        lost=tuple(need for need, kept in pairs if not kept),
    )


def all_kept(references: References) -> list[Counts]:
    """Return the counts of each call for a view that nobody edited: everything it needs is there."""
    return [
        counted(needs, [True] * len(needs), [True] * len(carried)) if needs or carried else NOTHING
        for needs, carried in zip(references.needs_by_call, references.carried_by_call, strict=True)
    ]


class Survival:
    """Survival under one policy, call by call: looks only at what changed since the last view."""

    def __init__(self, references: References) -> None:
        self._references = references
        self._items: list[Item] = []
        self.intact: set[int] = set()
        """Places of the items that are in the view as recorded."""
        self.changed: dict[int, Item] = {}
        """By place, the items of the view that are edited or synthetic."""
        self.synthetic: set[int] = set()
        """Their places, if synthetic."""
        self._unread: set[int] = set()
        self._held = Frequencies[Key]()
        """How many changed items hold each atom, apart from the unread ones."""

    def call(self, number: int, view: Sequence[Item], changed_from: int = 0) -> Counts:
        """Return the counts of a call, counted from 1, and of the view that was sent with it.

        Items before position `changed_from` are those of the last view.
        """
        self._follow(view, changed_from)
        needs, carried = self._references.needs_by_call[number - 1], self._references.carried_by_call[number - 1]
        if not needs and not carried:
            return NOTHING
        holders = self._references.holders
        alive = [self._alive(need.key, need.sources, len(need.sources)) for need in needs]
        carried_alive = [self._alive(("strict", one.atom), holders[one.atom], one.stop) for one in carried]
        return counted(needs, alive, carried_alive)

    def _follow(self, view: Sequence[Item], changed_from: int) -> None:
        items = self._items
        there = difference(items, view, min(changed_from, len(items), len(view)))
        if there.before == there.after:
            others = there.others(items, view)
            left, joined = [items[at] for at in others], [view[at] for at in others]
        else:
            before, after = items[there.start : there.before], view[there.start : there.after]
            stayed = set(map(id, before)).intersection(map(id, after))
            left = [item for item in before if id(item) not in stayed]
            joined = [item for item in after if id(item) not in stayed]
        grown = view[there.after + len(items) - there.before :]
        items[there.start :] = view[there.start :]
        for item in left:
            if item.place in self.changed:
                self._forget(item)
            self.intact.discard(item.place)
        for item in (*joined, *grown):
            self._look_at(item)

    def _look_at(self, item: Item) -> None:
        if self._references.intact(item):
            self.intact.add(item.place)
            return
        self.changed[item.place] = item
        self._unread.add(item.place)
        if item.synthetic:
            self.synthetic.add(item.place)

    def _forget(self, item: Item) -> None:
        del self.changed[item.place]
        self.synthetic.discard(item.place)
        if item.place in self._unread:
            self._unread.discard(item.place)
        elif item.kind != "reasoning":
            self._held.subtract(self._references.vocabulary.held_by(item))

    def _alive(self, key: Key, sources: Sequence[int], stop: int) -> bool:
        """Whether one of the first `stop` sources is there as recorded, newest first, or a changed item has it."""
        for position in range(stop - 1, -1, -1):
            if sources[position] in self.intact:
                return True
        # Changed items are looked into only once somebody asks.
        for place in self._unread:
            item = self.changed[place]
            if item.kind != "reasoning":
                self._held.update(self._references.vocabulary.held_by(item))
        self._unread.clear()
        return self._held[key] > 0
