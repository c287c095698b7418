"""What each call needed: computed once per transcript, shared by all policies.

Reasoning is left out everywhere: it needs nothing, is no source, and keeps nothing alive. Source of the rules:
docs/references.md, definition, 4, 5 and 7.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable
from itertools import chain
from typing import Literal
from zlib import crc32

import msgspec

from ctxsim.references import loose, strict
from ctxsim.references.canonical import canonical, content, fold
from ctxsim.references.reissue import asked_again
from ctxsim.transcript import Head, Item, Transcript

SHORTEST_ATOM = 4

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
        """What it is looked for by."""
        return self.detector, self.atom


class Carried(msgspec.Struct, frozen=True, gc=False):
    """A carried need; its sources are the first `stop` of its atom's holders."""

    atom: str
    stop: int
    age: int


class Vocabulary:
    """Atoms to look for in texts. Remembers what edited items hold, for all policies on its transcript."""

    def __init__(self, keys: Iterable[Key]) -> None:
        self._keys = frozenset(keys)
        self._strict = {atom for detector, atom in self._keys if detector == "strict"}
        self._loose = loose.Quotations({atom for detector, atom in self._keys if detector == "loose"})
        self._known: dict[tuple[bool, str], set[Key]] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self._keys == other._keys

    def __hash__(self) -> int:
        return hash(self._keys)

    def held(self, text: str, tokens: set[str] | None = None) -> set[Key]:
        """Return those that a canonical text holds whole; its strict tokens need not be found twice."""
        inside = strict.held(text, self._strict) if tokens is None else tokens & self._strict
        found: set[Key] = {("strict", atom) for atom in inside}
        found.update(("loose", atom) for atom in self._loose.held(text))
        return found

    def held_by(self, item: Item) -> set[Key]:
        """Return those that an item holds whole; each text is looked into once."""
        key = (item.kind == "tool_call", item.text)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self.held(fold(content(item)))
        return known


class References(msgspec.Struct, frozen=True):
    """The needs of all calls of one transcript, and what `Survival` wants to know of it.

    `texts` are the recorded ones by place, `holders` the results and outputs that hold a carried atom, oldest first.
    """

    needs_by_call: tuple[tuple[Need, ...], ...]
    carried_by_call: tuple[tuple[Carried, ...], ...]
    holders: dict[str, tuple[int, ...]]
    texts: tuple[str, ...]
    words: bytes
    """32-bit hashes of all strict tokens in results, to tell how many would match by chance elsewhere."""
    vocabulary: Vocabulary
    """All atoms that any call needed or carried."""
    asked_again: dict[int, tuple[int, ...]]
    """Calls that repeat earlier tool calls exactly, with the results those had had."""

    def intact(self, item: Item) -> bool:
        """Whether an item of a view is as recorded."""
        return not item.synthetic and item.text == self.texts[item.place]

    def last_needed(self) -> dict[int, int]:
        """Return, for each tool result that is some need's most recent source, the last call that needs it, from 1."""
        return {need.sources[-1]: call for call, needs in enumerate(self.needs_by_call, 1) for need in needs}

    def needs(self, number: int) -> tuple[Need, ...]:
        """Return the needs of a call, counted from 1, fresh and aged, both detectors."""
        return self.needs_by_call[number - 1]

    def carried(self, number: int) -> tuple[Need, ...]:
        """Return the carried needs of a call, counted from 1: strict and aged."""
        return tuple(
            Need(one.atom, "strict", strict.is_value(one.atom), self.holders[one.atom][: one.stop], one.age)
            for one in self.carried_by_call[number - 1]
        )


class _Seen:
    """Where an atom was before the current call."""

    __slots__ = ("barred", "holders", "own", "results")

    def __init__(self) -> None:
        self.results: list[int] = []
        self.holders: list[int] = []
        self.own = False
        self.barred = False
        """Whether head or user text holds it."""

    def add(self, item: Item) -> None:
        if item.kind in OUTPUT_KINDS:
            self.own = True
            self.holders.append(item.place)
        elif item.kind == "tool_result":
            self.results.append(item.place)
            self.holders.append(item.place)
        else:
            self.barred = True


def used(items: Iterable[Item]) -> list[Key]:
    """Return the atoms of a response: of its text and arguments, not its reasoning; sorted, identifiers first."""
    texts = [content(item) for item in items if item.kind in OUTPUT_KINDS]
    return [
        *(("strict", atom) for atom in sorted(set().union(*map(strict.atoms, texts)))),
        *(("loose", atom) for atom in sorted(set().union(*map(loose.atoms, texts)))),
    ]


def word_hash(word: str) -> int:
    """Return a 32-bit hash that is the same in every process."""
    return crc32(word.encode())


def first_sent(transcript: Transcript) -> list[int]:
    """Return, for each place, the number of the call that first sends it, counted from 1."""
    numbers: list[int] = []
    for number, call in enumerate(transcript.calls, 1):
        numbers += [number] * (call.start - len(numbers))
    return numbers + [len(transcript.calls) + 1] * (len(transcript.items) - len(numbers))


def prepare(transcript: Transcript) -> References:
    """Return what each call of a transcript needed, in one pass over its texts."""
    return _Preparation(transcript).run()


class _Preparation:
    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._sent = first_sent(transcript)
        used_by_call = [used(transcript.items[call.start : call.end]) for call in transcript.calls]
        everything = Vocabulary(chain.from_iterable(used_by_call))
        tokens: set[str] = set()
        self._results: dict[int, set[Key]] = {}
        """By place, what each result holds of what any call used."""
        for item in transcript.items:
            if item.kind == "tool_result":
                text = fold(content(item))
                inside = strict.tokens(text)
                tokens |= inside
                self._results[item.place] = everything.held(text, inside)
        self._words = array("I", sorted({word_hash(token) for token in tokens if len(token) >= SHORTEST_ATOM}))
        # Most of what agents write is in no result: it is needed by nobody, and looked for no further.
        found = set().union(*self._results.values())
        self._vocabulary = Vocabulary(found)
        self._used = [[key for key in keys if key in found] for keys in used_by_call]
        self._seen = {key: _Seen() for key in found}

    def run(self) -> References:
        """Return the references; to be called once."""
        items, needs, carried = self._transcript.items, [], []
        head: Head | None = None
        joined = 0
        for number, call in enumerate(self._transcript.calls, 1):
            sent = call.head or self._transcript.head
            if sent is not head:
                self._bar(sent)
                head = sent
            for item in items[joined : call.start]:
                self._join(item)
            joined = call.start
            needs.append(tuple(self._needs(number)))
            carried.append(tuple(self._carried(number)))
        atoms = {one.atom for call_carried in carried for one in call_carried}
        holders = {atom: tuple(self._seen["strict", atom].holders) for atom in sorted(atoms)}
        return References(
            tuple(needs),
            tuple(carried),
            holders,
            tuple(item.text for item in items),
            self._words.tobytes(),
            Vocabulary({need.key for need in chain.from_iterable(needs)} | {("strict", atom) for atom in atoms}),
            asked_again(self._transcript),
        )

    def _bar(self, head: Head) -> None:
        for text in head.texts:
            for key in self._vocabulary.held(canonical(text)):
                self._seen[key].barred = True

    def _join(self, item: Item) -> None:
        if item.kind == "reasoning":
            return
        held = self._results.get(item.place)
        for key in self._vocabulary.held(fold(content(item))) if held is None else held:
            self._seen[key].add(item)

    def _needs(self, number: int) -> Iterable[Need]:
        for key in self._used[number - 1]:
            seen = self._seen[key]
            if seen.results and not seen.own and not seen.barred:
                detector, atom = key
                value = detector == "strict" and strict.is_value(atom)
                yield Need(atom, detector, value, tuple(seen.results), number - self._sent[seen.results[-1]])

    def _carried(self, number: int) -> Iterable[Carried]:
        for key in self._used[number - 1]:
            seen = self._seen[key]
            if key[0] == "strict" and seen.results and not seen.barred:
                age = number - self._sent[seen.holders[-1]]
                if age >= 1:
                    # What joins later stands behind in the list that all calls share.
                    stop = bisect_left(seen.holders, self._transcript.calls[number - 1].start)
                    yield Carried(key[1], stop, age)
