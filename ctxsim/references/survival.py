"""What of each call's needs the view still held.

An atom survives if some item of the view sent with the call, edited or synthetic, holds it whole; reasoning doesn't
count. Source of the rule: docs/references.md, definition, 6 and 7.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ctxsim.references.canonical import content, fold
from ctxsim.references.needs import Key, Need, References
from ctxsim.transcript import Item


class Counts(msgspec.Struct, frozen=True):
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


class Survival:
    """Survival under one policy. Remembers which texts it has looked into, so use one per transcript and policy."""

    def __init__(self, references: References) -> None:
        self._references = references
        self._vocabulary = references.vocabulary
        self._intact: dict[int, Item] = {}
        """By place, the item last found to be as recorded."""
        self._held: dict[tuple[int, str], set[Key]] = {}

    def call(self, number: int, view: Sequence[Item]) -> Counts:
        """Return the counts of a call, counted from 1, and of the view that was sent with it."""
        needs, carried = self._references.needs_by_call[number - 1], self._references.carried_by_call[number - 1]
        if not needs and not carried:
            return NOTHING
        present, changed = self._sort(view)
        holders = self._references.holders
        alive = [
            self._alive((need.detector, need.atom), need.sources, len(need.sources), present, changed) for need in needs
        ]
        carried_alive = [
            self._alive(("strict", one.atom), holders[one.atom], one.stop, present, changed) for one in carried
        ]
        return counted(needs, alive, carried_alive)

    def _sort(self, view: Sequence[Item]) -> tuple[set[int], list[Item]]:
        """Return the places of the items that are as recorded, and the items that are not."""
        intact = self._intact
        items = list(view)
        present = {item.place for item in items}
        suspects = [item for item in items if intact.get(item.place) is not item]
        changed: list[Item] = []
        for item in suspects:
            if not item.synthetic and item.text == self._references.texts[item.place]:
                intact[item.place] = item
            else:
                present.discard(item.place)
                if item.kind != "reasoning":
                    changed.append(item)
        return present, changed

    def _alive(self, key: Key, sources: Sequence[int], stop: int, present: set[int], changed: list[Item]) -> bool:
        """Whether one of the first `stop` sources is there as recorded, newest first, or a changed item has it."""
        for position in range(stop - 1, -1, -1):
            if sources[position] in present:
                return True
        return any(key in self._holds(item) for item in changed)

    def _holds(self, item: Item) -> set[Key]:
        """Return the atoms that a changed item holds; each text is looked into once."""
        known = self._held.get((item.place, item.text))
        if known is None:
            known = self._held[item.place, item.text] = self._vocabulary.held(fold(content(item)))
        return known
