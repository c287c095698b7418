"""Knowledge of a recording to its end: an oracle's plan, and the atoms that summaries should have kept."""

from collections.abc import Iterable
from functools import cached_property

from ctxsim.policies import Policy
from ctxsim.policies.oracle_lossless import OracleLossless
from ctxsim.simulator.bounds.lossless import plan
from ctxsim.simulator.ledger import Ledger
from ctxsim.simulator.ledger.legs import recorded
from ctxsim.simulator.references.finding import prepare
from ctxsim.simulator.references.needs import Key, References
from ctxsim.transcript import Item


class Foresight:
    """One transcript known to its end. Its references, if not given, are prepared at their first use."""

    def __init__(self, ledger: Ledger, references: References | None) -> None:
        self._ledger = ledger
        self._prepared = references

    def tell(self, links: Iterable[Policy]) -> None:
        """Give the oracle its plan, and bounds with a `follow` method the recorded compactions and clearings."""
        for link in links:
            if isinstance(link, OracleLossless):
                link.foresee(plan(self._ledger, self._references, link.aim, link.stub))
            if link.bound and (follow := getattr(link, "follow", None)):
                follow(self._ledger.transcript.compactions, self._ledger.transcript.cleared)

    def wanted(self, number: int, items: Iterable[Item]) -> list[str]:
        """Return the atoms in these items that a call from `number` (from 1) on needs: strict first, soonest first."""
        calls, keys = self._needed
        held: set[Key] = set()
        for item in map(recorded, items) if self._ledger.apart > 1 else items:
            if self._references.intact(item):
                held.update(keys.get(item.place, ()))
            else:
                held |= self._references.vocabulary.held_by(item) & calls.keys()
        due = ((next((call for call in calls[key] if call >= number), None), key) for key in held)
        return [atom for _, call, atom in sorted((kind == "loose", call, atom) for call, (kind, atom) in due if call)]

    @cached_property
    def _references(self) -> References:
        return self._prepared or prepare(self._ledger.transcript)

    @cached_property
    def _needed(self) -> tuple[dict[Key, list[int]], dict[int, list[Key]]]:
        """The calls that need each atom, and the atoms that are needed of the item at each place."""
        calls: dict[Key, list[int]] = {}
        keys: dict[int, list[Key]] = {}
        for number, needs in enumerate(self._references.needs_by_call, 1):
            for need in needs:
                calls.setdefault(need.key, []).append(number)
                for place in need.sources:
                    keys.setdefault(place, []).append(need.key)
        return calls, keys
