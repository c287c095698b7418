"""What each call needed, as values that all policies share."""

from collections.abc import Iterable
from typing import Literal
from zlib import crc32

import msgspec

from ctxsim.simulator.references import identifiers, quotations
from ctxsim.simulator.references.canonical import content, fold, plain
from ctxsim.transcript import Item

Detector = Literal["strict", "loose"]
Key = tuple[Detector, str]

OUTPUT_KINDS = frozenset({"assistant", "tool_call"})


class Need(msgspec.Struct, frozen=True, gc=False):
    """An atom that a call used. `sources` are places of recorded items that hold it, oldest first.

    All sources are tool results, except for a carried need, where the agent's own output is a source too. `age` is the
    number of calls since its most recent source was first sent; 0 is fresh.
    """

    atom: str
    detector: Detector
    value: bool
    sources: tuple[int, ...]
    age: int

    @property
    def key(self) -> Key:
        """The key by which a view is searched for the atom."""
        return self.detector, self.atom


class Held(msgspec.Struct, frozen=True, gc=False):
    """A carried or said need. Its sources are the first `stop` of its atom's places in `holders` or `sayers`."""

    atom: str
    stop: int
    age: int


class Vocabulary:
    """Atoms to look for in texts, with a memo of what edited items hold, for all policies on a transcript."""

    def __init__(self, keys: Iterable[Key]) -> None:
        keys = frozenset(keys)
        self._names = identifiers.Wanted({atom for detector, atom in keys if detector == "strict"}.__contains__)
        self._quotations = quotations.Sought(atom for detector, atom in keys if detector == "loose")
        self._known: dict[tuple[bool, str], set[Key]] = {}

    def held(self, text: str) -> set[Key]:
        """Return the keys of the atoms that a canonical text holds whole."""
        text = plain(text)
        found: set[Key] = {("strict", atom) for atom in self._names.among(identifiers.spelled(text))}
        found.update(("loose", atom) for atom in self._quotations.held(text))
        return found

    def held_by(self, item: Item) -> set[Key]:
        """Return the keys of the atoms that an item holds whole. Each text is searched once."""
        key = (item.kind == "tool_call", item.text)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self.held(fold(content(item)))
        return known


class References(msgspec.Struct, frozen=True):
    """The needs of all calls of one transcript, and what `Survival` looks up.

    `items` are the recorded items. By atom, `holders` are the places of the results and outputs that hold a
    carried atom, `sayers` those of the user texts and answers that hold a said atom; both oldest first.
    """

    needs_by_call: tuple[tuple[Need, ...], ...]
    carried_by_call: tuple[tuple[Held, ...], ...]
    said_by_call: tuple[tuple[Held, ...], ...]
    """Said needs, whose sources are user texts and the agent's earlier answers: strict and aged."""
    newest_by_call: tuple[frozenset[int], ...]
    """Places of the newest source of each need. While these items are as recorded, the call loses nothing."""
    holders: dict[str, tuple[int, ...]]
    sayers: dict[str, tuple[int, ...]]
    items: tuple[Item, ...]
    words: bytes
    """Sorted 32-bit hashes of all strict tokens in results, to count another session's atoms that match by chance."""
    vocabulary: Vocabulary
    """All atoms of needs, carried needs and said needs."""
    asked_again: dict[int, tuple[int, ...]]
    """By call that repeats earlier tool calls exactly, the places of the earlier results."""

    def intact(self, item: Item) -> bool:
        """Whether an item of a view is as recorded."""
        return not item.synthetic and item.text == self.items[item.place].text

    def last_needed(self) -> dict[int, int]:
        """Return, for each tool result that is some need's most recent source, the last call that needs it, from 1."""
        return {need.sources[-1]: call for call, needs in enumerate(self.needs_by_call, 1) for need in needs}

    def needs(self, number: int) -> tuple[Need, ...]:
        """Return the needs of a call, counted from 1, fresh and aged, both detectors."""
        return self.needs_by_call[number - 1]

    def carried(self, number: int) -> tuple[Need, ...]:
        """Return the carried needs of a call, counted from 1: strict and aged."""
        return tuple(
            Need(one.atom, "strict", identifiers.is_value(one.atom), self.holders[one.atom][: one.stop], one.age)
            for one in self.carried_by_call[number - 1]
        )


def word_hash(word: str) -> int:
    """Return a 32-bit hash that is the same in every process."""
    return crc32(word.encode())
