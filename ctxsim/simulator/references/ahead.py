"""What later calls will need of some items, as only a bound may know."""

from __future__ import annotations

from collections.abc import Iterable

from ctxsim.simulator.references.needs import Key, References
from ctxsim.transcript import Item


class Ahead:
    """Looks ahead in one transcript."""

    def __init__(self, references: References) -> None:
        self._references = references
        self._calls: dict[Key, list[int]] = {}
        self._keys: dict[int, list[Key]] = {}
        for number, needs in enumerate(references.needs_by_call, 1):
            for need in needs:
                self._calls.setdefault(need.key, []).append(number)
                for place in need.sources:
                    self._keys.setdefault(place, []).append(need.key)

    def wanted(self, number: int, items: Iterable[Item]) -> list[str]:
        """Return what calls from this one on, counted from 1, need and these items hold: identifiers, soonest first."""
        held: set[Key] = set()
        for item in items:
            if self._references.intact(item):
                held.update(self._keys.get(item.place, ()))
            else:
                held |= self._references.vocabulary.held_by(item) & self._calls.keys()
        due = ((next((call for call in self._calls[key] if call >= number), None), key) for key in held)
        return [atom for _, call, atom in sorted((kind == "loose", call, atom) for call, (kind, atom) in due if call)]
