"""What is known of a recording to its end: an oracle's plan, and what summaries should have kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

from ctxsim.policies import Oracle, Policy
from ctxsim.simulator.bounds.lossless import plan
from ctxsim.simulator.ledger import Ledger
from ctxsim.simulator.ledger.legs import recorded
from ctxsim.simulator.references import References, prepare
from ctxsim.simulator.references.needs import Key
from ctxsim.transcript import Item


class Foresight:
    """Knows one transcript to its end; prepares its references if nobody has, once somebody asks."""

    def __init__(self, ledger: Ledger, references: References | None) -> None:
        self._ledger = ledger
        self._references = references

    def tell(self, links: Iterable[Policy]) -> None:
        """Tell oracles their plans, and who follows the recording what it shows."""
        for link in links:
            if isinstance(link, Oracle):
                link.foresee(plan(self._ledger, self._known, link.aim, link.stub))
            if link.bound and (follow := getattr(link, "follow", None)):
                follow(self._ledger.transcript.compactions, self._ledger.transcript.cleared)

    def wanted(self, number: int, items: Iterable[Item]) -> Sequence[str]:
        """Return what calls from this one on need and these items hold."""
        return self._ahead.wanted(number, map(recorded, items) if self._ledger.apart > 1 else items)

    @cached_property
    def _known(self) -> References:
        return self._references or prepare(self._ledger.transcript)

    @cached_property
    def _ahead(self) -> Ahead:
        return Ahead(self._known)


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
