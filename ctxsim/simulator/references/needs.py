"""What each call needed: computed once per transcript, shared by all policies.

Reasoning is left out everywhere: it needs nothing, is no source, and keeps nothing alive. Source of the rules:
docs/references.md, definition, 4, 5 and 7.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import chain
from operator import attrgetter
from typing import Literal
from zlib import crc32

import msgspec
import numpy as np

from ctxsim.simulator.references import identifiers, quotations
from ctxsim.simulator.references.canonical import canonical, content, fold, plain, spaced
from ctxsim.simulator.references.reissue import asked_again
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
        self._known: dict[tuple[bool, str], set[Key]] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self._keys == other._keys

    def __hash__(self) -> int:
        return hash(self._keys)

    @cached_property
    def _names(self) -> identifiers.Wanted:
        return identifiers.Wanted({atom for detector, atom in self._keys if detector == "strict"}.__contains__)

    @cached_property
    def _quotations(self) -> quotations.Sought:
        return quotations.Sought(atom for detector, atom in self._keys if detector == "loose")

    def held(self, text: str) -> set[Key]:
        """Return those that a canonical text holds whole."""
        text = plain(text)
        found: set[Key] = {("strict", atom) for atom in self._names.among(identifiers.spelled(text))}
        found.update(("loose", atom) for atom in self._quotations.held(text))
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
    newest_by_call: tuple[frozenset[int], ...]
    """Places of the newest source of each: while these are as recorded, nothing is lost."""
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
            Need(one.atom, "strict", identifiers.is_value(one.atom), self.holders[one.atom][: one.stop], one.age)
            for one in self.carried_by_call[number - 1]
        )


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


BATCH = 1 << 18
"""Characters that are looked into at a time: of more, what is in the works wouldn't stay near the processor."""

Atom = str | int
"""An identifier, or the number of a quotation."""


class _Preparation:
    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._sent = first_sent(transcript)
        items = transcript.items
        outputs = [item.place for item in items if item.kind in OUTPUT_KINDS]
        self._contents = {place: content(items[place]) for place in outputs}
        texts = [plain(spaced(fold(text))) for text in self._contents.values()]
        words = list(map(identifiers.spelled, texts))
        named = identifiers.Wanted(identifiers.is_atom)
        names = [
            named.among(inside) | identifiers.camels(text)
            for inside, text in zip(words, self._contents.values(), strict=True)
        ]
        self._names = identifiers.Wanted(set[str]().union(*names).__contains__)
        self._quotations = quotations.Quotations.in_texts(texts)
        self._results: defaultdict[Atom, list[int]] = defaultdict(list)
        """By atom that any call used, the places of the results that hold it, oldest first."""
        for place, atoms in self._holding(item for item in items if item.kind == "tool_result"):
            for atom in atoms:
                self._results[atom].append(place)
        self._words = _hashes(self._names.tokens)
        # Most of what agents write is in no result: it is needed by nobody, and looked for no further.
        numbers = {atom for atom in self._results if isinstance(atom, int)}
        said = self._quotations.said(numbers)
        self._quotations = self._quotations.only(numbers)
        self._used = {
            place: (inside & self._results.keys(), quoted)
            for place, inside, quoted in zip(outputs, names, said, strict=True)
        }
        last = transcript.calls[-1].start if transcript.calls else 0
        self._own: dict[Atom, int] = {}
        """By atom, the first place where the agent wrote it."""
        self._holders = {
            atom: [place for place in places if place < last]
            for atom, places in self._results.items()
            if isinstance(atom, str)
        }
        """By identifier, the places of results and of what the agent wrote that hold it, oldest first."""
        for place, inside, (_, quoted) in zip(outputs, words, self._with_quotations(texts), strict=True):
            for atom in self._names.among(inside) | quoted:
                self._own.setdefault(atom, place)
                if place < last and atom in self._holders:
                    self._holders[atom].append(place)
        for places in self._holders.values():
            places.sort()
        self._barred: dict[Atom, int] = {}
        """By atom, the place from behind which on head or user text holds it."""
        others = ("reasoning", "tool_result", *OUTPUT_KINDS)
        for place, atoms in self._holding(item for item in items if item.kind not in others):
            for atom in atoms:
                self._barred.setdefault(atom, place)
        self._heads: set[str] = set()

    def _with_quotations(self, texts: Iterable[str]) -> Iterator[tuple[str, set[int]]]:
        """Return each of some plain texts and the quotations that it holds."""
        batch: list[str] = []
        size = 0
        for text in texts:
            batch.append(text)
            size += len(text)
            if size >= BATCH:
                yield from zip(batch, self._quotations.held(batch), strict=True)
                batch, size = [], 0
        yield from zip(batch, self._quotations.held(batch), strict=True)

    def _holding(self, items: Iterable[Item]) -> Iterator[tuple[int, set[Atom]]]:
        """Return the place of each of some items and the atoms that it holds."""
        chosen = list(items)
        texts = self._with_quotations(plain(fold(content(item))) for item in chosen)
        for item, (text, quoted) in zip(chosen, texts, strict=True):
            yield item.place, self._names.among(identifiers.spelled(text)) | quoted

    def run(self) -> References:
        """Return the references; to be called once."""
        transcript = self._transcript
        needs: list[tuple[Need, ...]] = []
        carried: list[tuple[Carried, ...]] = []
        head: Head | None = None
        for number, call in enumerate(transcript.calls, 1):
            sent = call.head or transcript.head
            if sent is not head:
                self._bar(sent, call.start - 1)
                head = sent
            responses = [self._used[place] for place in range(call.start, call.end) if place in self._used]
            names = set[str]().union(*(names for names, _ in responses))
            quoted = set[int]().union(*(quoted for _, quoted in responses))
            needs.append((*self._needs(number, call.start, names), *self._needs(number, call.start, quoted)))
            carried.append(tuple(self._carried(number, call.start, names)))
        held = sorted({one.atom for one in chain.from_iterable(carried)})
        return References(
            tuple(needs),
            tuple(carried),
            tuple(frozenset(self._newest(*both)) for both in zip(needs, carried, strict=True)),
            {atom: tuple(self._holders[atom]) for atom in held},
            tuple(item.text for item in transcript.items),
            self._words,
            Vocabulary({need.key for need in chain.from_iterable(needs)} | {("strict", atom) for atom in held}),
            asked_again(transcript, self._contents),
        )

    def _newest(self, needs: Iterable[Need], carried: Iterable[Carried]) -> Iterator[int]:
        yield from (need.sources[-1] for need in needs)
        yield from (self._holders[one.atom][one.stop - 1] for one in carried)

    def _bar(self, head: Head, place: int) -> None:
        new = set(head.texts) - self._heads
        self._heads |= new
        for text, quoted in self._with_quotations(plain(canonical(text)) for text in new):
            for atom in self._names.among(identifiers.spelled(text)) | quoted:
                self._barred[atom] = min(place, self._barred.get(atom, place))

    def _needs(self, number: int, start: int, atoms: Iterable[Atom]) -> list[Need]:
        found = []
        for atom in atoms:
            places = self._results[atom]
            # The agent had not written it, and neither head nor user text had held it.
            if places[0] < start and self._barred.get(atom, start) >= start and self._own.get(atom, start) >= start:
                sources = tuple(places[: bisect_left(places, start)])
                age = number - self._sent[sources[-1]]
                if isinstance(atom, str):
                    found.append(Need(atom, "strict", identifiers.is_value(atom), sources, age))
                else:
                    found.append(Need(self._quotations.atom(atom), "loose", False, sources, age))
        return sorted(found, key=attrgetter("atom"))

    def _carried(self, number: int, start: int, atoms: Iterable[str]) -> list[Carried]:
        found = []
        for atom in atoms:
            if self._results[atom][0] < start and self._barred.get(atom, start) >= start:
                holders = self._holders[atom]
                # What joins later stands behind in the list that all calls share.
                stop = bisect_left(holders, start)
                age = number - self._sent[holders[stop - 1]]
                if age >= 1:
                    found.append(Carried(atom, stop, age))
        return sorted(found, key=attrgetter("atom"))


def _hashes(tokens: Iterable[str]) -> bytes:
    """What `word_hash` gives for each long enough, in order; encoded all at once."""
    words = " ".join([token for token in tokens if len(token) >= SHORTEST_ATOM]).encode().split()
    return np.sort(np.fromiter(set(map(crc32, words)), np.uint32)).tobytes()
