"""What the calls after a point needed of the history before it, and what some items or texts still hold of that."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from ctxsim.simulator.references import References
from ctxsim.simulator.references.canonical import canonical, content
from ctxsim.simulator.references.identifiers import atoms, is_value
from ctxsim.simulator.references.needs import Detector, Key
from ctxsim.transcript import Item

SOON = 10
"""Calls after a compaction that are looked at by themselves."""

KINDS = ("path", "address", "number", "id", "name", "quotation")

_NUMBER = re.compile(r"[\d./+-]+")


class Later(msgspec.Struct, frozen=True):
    """What calls after a point needed that only the history before it had, by the number of the call, from 1.

    `needed`: tool results are its only earlier sources, all of them before the point. `carried`: identifiers that the
    agent itself had repeated, too. `again`: results after the point hold it as well, so the agent could get it there.
    """

    needed: dict[Key, int]
    carried: dict[Key, int]
    again: dict[Key, int]

    def until(self, call: int) -> Later:
        """The same for the calls up to that one."""
        return Later(*({key: at for key, at in one.items() if at <= call} for one in msgspec.structs.astuple(self)))

    def of(self, detector: str) -> list[Key]:
        """Its needs that one detector found, in order of use."""
        return [key for key in self.needed if key[0] == detector]


def later(references: References, at: int, first: int, last: int, held: set[Key] | None = None) -> Later:
    """Return what the calls `first` to `last` needed of items before the place `at`.

    `held`: what the request before the point held; what was gone already isn't counted again.
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
    """Return what some items hold of all that any call needed; reasoning holds nothing."""
    vocabulary = references.vocabulary
    return set().union(*(vocabulary.held_by(item) for item in items if item.kind != "reasoning"))


def held_in(references: References, text: str) -> set[Key]:
    """Return what a text holds of all that any call needed."""
    return references.vocabulary.held(canonical(text))


def identifiers(items: Sequence[Item]) -> set[str]:
    """Return all different identifiers in some items, needed or not."""
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
