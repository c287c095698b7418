"""What calls after a point needed of the history before it, and how much of that some items or texts still hold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from ctxsim.simulator.references.canonical import content
from ctxsim.simulator.references.identifiers import atoms, is_value
from ctxsim.simulator.references.needs import Detector, Key, References
from ctxsim.transcript import Item

SOON = 10
"""Number of calls after a compaction that have figures of their own."""

KINDS = ("path", "address", "number", "id", "name", "quotation")

NEEDED = ("strict", "loose", "carried")
"""Kinds of needs that are counted."""

_NUMBER = re.compile(r"[\d./+-]+")


class Later(msgspec.Struct, frozen=True):
    """What calls after a point needed that only the history before it had, with the number of the call, from 1.

    `needed`: its only earlier sources are tool results before the point. `carried`: identifiers that the agent itself
    had repeated, too. `again`: results after the point hold it as well, so the agent could get it there.
    """

    needed: dict[Key, int]
    carried: dict[Key, int]
    again: dict[Key, int]

    def until(self, call: int) -> Later:
        """Return the needs of the calls up to number `call`."""
        return Later(*({key: at for key, at in one.items() if at <= call} for one in msgspec.structs.astuple(self)))

    def of(self, kind: str) -> list[Key]:
        """Return the keys of `needed` that one detector found, or those of `carried`, in order of use."""
        return [*self.carried] if kind == "carried" else [key for key in self.needed if key[0] == kind]

    def counts(self, held: set[Key] | None, kinds: Sequence[str] = NEEDED, until: str = "") -> dict[str, Any]:
        """Return columns with the number of keys of each kind, and of those held; None if `held` isn't known. `until`
        ends the names of columns.
        """
        found: dict[str, Any] = {}
        for kind in kinds:
            keys = self.of(kind)
            kept = None if held is None else len(held.intersection(keys))
            found |= {f"needed_{kind}{until}": len(keys), f"kept_{kind}{until}": kept}
        return found


def later(references: References, at: int, first: int, last: int, held: set[Key] | None = None) -> Later:
    """Return what the calls `first` to `last` needed of items before the place `at`.

    `held` are the keys in the request before the point: needs that were already lost by then are not counted.
    """
    found = Later({}, {}, {})
    for number in range(first, last + 1):
        for need in references.needs(number):
            if need.sources[0] < at and (held is None or need.key in held):
                (found.needed if need.sources[-1] < at else found.again)[need.key] = number
        for need in references.carried(number):
            if need.sources[-1] < at and (held is None or need.key in held):
                found.carried.setdefault(need.key, number)
    return found


def held_by(references: References, items: Iterable[Item]) -> set[Key]:
    """Return which keys of all calls' needs some items hold; reasoning is ignored."""
    vocabulary = references.vocabulary
    return set().union(*(vocabulary.held_by(item) for item in items if item.kind != "reasoning"))


def identifiers(items: Sequence[Item]) -> set[str]:
    """Return the set of identifiers in some items, needed or not."""
    return set().union(*(atoms(content(item)) for item in items if item.kind != "reasoning"))


def kind_of_atom(detector: Detector, atom: str) -> str:
    """Return one of `KINDS`: a path, a URL or e-mail address, a number or date, a mix of letters and digits, a name
    from code; or a quotation of five words.
    """
    if detector == "loose":
        return "quotation"
    if not is_value(atom):
        return "name"
    if "://" in atom or "@" in atom:
        return "address"
    if _NUMBER.fullmatch(atom):
        return "number"
    return "path" if "/" in atom else "id"
