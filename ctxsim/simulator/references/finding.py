"""Find what each call needed of earlier results: once per transcript, for all policies.

Reasoning is left out everywhere: it needs nothing, is no source, and keeps nothing alive. Source of the rules:
docs/references.md, definition, 4, 5 and 7.
"""

import json
from bisect import bisect_left
from collections import Counter as Frequencies
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from itertools import chain
from operator import attrgetter
from zlib import crc32

import numpy as np

from ctxsim.simulator.references import identifiers, quotations
from ctxsim.simulator.references.canonical import CANONICAL, canonical, content, decoded, fold, plain, spaced
from ctxsim.simulator.references.needs import OUTPUT_KINDS, Held, Need, References, Vocabulary
from ctxsim.transcript import Head, Item, Transcript

SHORTEST_ATOM = 4

REISSUE = "reissue-1"
"""Version of the rule that finds repeated calls."""

DETECTORS = (CANONICAL, identifiers.VERSION, quotations.VERSION, REISSUE)
"""Versions of the rules that found the references of a run."""


def first_sent(transcript: Transcript) -> list[int]:
    """Return, for each place, the number of the call that first sends it, counted from 1."""
    numbers: list[int] = []
    for number, call in enumerate(transcript.calls, 1):
        numbers += [number] * (call.start - len(numbers))
    return numbers + [len(transcript.calls) + 1] * (len(transcript.items) - len(numbers))


def prepare(transcript: Transcript, loose: bool = True) -> References:
    """Return what each call of a transcript needed, in one pass over its texts. If not `loose`, without quotations."""
    return _Preparation(transcript, loose).run()


BATCH = 1 << 18
"""Characters that are searched at a time, so that the arrays stay in the processor's cache."""

Atom = str | int
"""An identifier, or the number of a quotation."""


class _Preparation:
    def __init__(self, transcript: Transcript, loose: bool) -> None:
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
        self._quotations = quotations.Quotations.in_texts(texts if loose else [""] * len(texts))
        self._results: defaultdict[Atom, list[int]] = defaultdict(list)
        """By atom that any call used, the places of the results that hold it, oldest first."""
        for place, atoms in self._holding(item for item in items if item.kind == "tool_result"):
            for atom in atoms:
                self._results[atom].append(place)
        self._words = _hashes(self._names.tokens)
        # Most quotations that agents write are in no result, so no call needs them and they are dropped.
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
        self._barred: dict[Atom, int] = {}
        """By atom, the place after which a user text holds it, or -1 for a head: such an atom is no need."""
        sayers: defaultdict[str, list[int]] = defaultdict(list)
        others = ("reasoning", "tool_result", *OUTPUT_KINDS)
        for place, atoms in self._holding(item for item in items if item.kind not in others):
            for atom in atoms:
                self._barred.setdefault(atom, place)
                if isinstance(atom, str):
                    sayers[atom].append(place)
        self._heads: set[str] = set()
        self._in_heads: set[Atom] = set()
        self._asked: dict[str, int] = {}
        """By identifier, the first place of a tool call that holds it."""
        for place, inside, quoted in zip(outputs, words, self._quotations.held(), strict=True):
            spoken = self._names.among(inside)
            for atom in spoken | quoted:
                self._own.setdefault(atom, place)
                if place < last and atom in self._holders:
                    self._holders[atom].append(place)
            if items[place].kind == "tool_call":
                for name in spoken:
                    self._asked.setdefault(name, place)
            elif place < last:
                for name in spoken:
                    sayers[name].append(place)
        for places in (*self._holders.values(), *sayers.values()):
            places.sort()
        self._sayers = dict(sayers)
        """By identifier, the places of user texts and answers that hold it, oldest first."""
        self._said_again = {place: inside & sayers.keys() for place, inside in zip(outputs, names, strict=True)}

    def _with_quotations(self, texts: Iterable[str]) -> Iterator[tuple[str, set[int]]]:
        """Yield each plain text with the numbers of the quotations that it holds; searched in batches."""
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
        """Yield the place of each item and the atoms that it holds."""
        chosen = list(items)
        texts = self._with_quotations(plain(fold(content(item))) for item in chosen)
        for item, (text, quoted) in zip(chosen, texts, strict=True):
            yield item.place, self._names.among(identifiers.spelled(text)) | quoted

    def run(self) -> References:
        """Return the references; to be called once."""
        transcript = self._transcript
        needs: list[tuple[Need, ...]] = []
        carried: list[tuple[Held, ...]] = []
        said: list[tuple[Held, ...]] = []
        head: Head | None = None
        for number, call in enumerate(transcript.calls, 1):
            sent = call.head or transcript.head
            if sent is not head:
                self._bar(sent)
                head = sent
            responses = [self._used[place] for place in range(call.start, call.end) if place in self._used]
            names = set[str]().union(*(names for names, _ in responses))
            quoted = set[int]().union(*(quoted for _, quoted in responses))
            needs.append((*self._needs(number, call.start, names), *self._needs(number, call.start, quoted)))
            carried.append(tuple(self._carried(number, call.start, names)))
            uses = set[str]().union(*(self._said_again.get(place, ()) for place in range(call.start, call.end)))
            said.append(tuple(self._said(number, call.start, uses)))
        held, told = (sorted({one.atom for one in chain.from_iterable(ones)}) for ones in (carried, said))
        return References(
            tuple(needs),
            tuple(carried),
            tuple(said),
            tuple(frozenset(self._newest(*all_of)) for all_of in zip(needs, carried, said, strict=True)),
            {atom: tuple(self._holders[atom]) for atom in held},
            {atom: tuple(self._sayers[atom]) for atom in told},
            transcript.items,
            self._words,
            Vocabulary(
                {need.key for need in chain.from_iterable(needs)} | {("strict", atom) for atom in (*held, *told)}
            ),
            asked_again(transcript, self._contents),
        )

    def _newest(self, needs: Iterable[Need], carried: Iterable[Held], said: Iterable[Held]) -> Iterator[int]:
        yield from (need.sources[-1] for need in needs)
        yield from (self._holders[one.atom][one.stop - 1] for one in carried)
        yield from (self._sayers[one.atom][one.stop - 1] for one in said)

    def _bar(self, head: Head) -> None:
        """Note what a head holds: for this call and all later ones it is no need."""
        new = set(head.texts) - self._heads
        self._heads |= new
        for text, quoted in self._with_quotations(plain(canonical(text)) for text in new):
            for atom in self._names.among(identifiers.spelled(text)) | quoted:
                self._in_heads.add(atom)
                self._barred[atom] = -1

    def _needs(self, number: int, start: int, atoms: Iterable[Atom]) -> list[Need]:
        found = []
        for atom in atoms:
            places = self._results[atom]
            # A need: a result held the atom before the call, and no output, head or user text did.
            if places[0] < start and self._barred.get(atom, start) >= start and self._own.get(atom, start) >= start:
                sources = tuple(places[: bisect_left(places, start)])
                age = number - self._sent[sources[-1]]
                if isinstance(atom, str):
                    found.append(Need(atom, "strict", identifiers.is_value(atom), sources, age))
                else:
                    found.append(Need(self._quotations.atom(atom), "loose", False, sources, age))
        return sorted(found, key=attrgetter("atom"))

    def _carried(self, number: int, start: int, atoms: Iterable[str]) -> list[Held]:
        return self._aged(number, start, self._holders, (
            atom for atom in atoms if self._results[atom][0] < start and self._barred.get(atom, start) >= start
        ))  # fmt: skip

    def _said(self, number: int, start: int, atoms: Iterable[str]) -> list[Held]:
        """Needs of atoms that a user text or answer held before, but no head, result or tool call."""
        return self._aged(number, start, self._sayers, (
            atom for atom in atoms if atom not in self._in_heads and self._asked.get(atom, start) >= start
            and self._results.get(atom, (start,))[0] >= start
        ))  # fmt: skip

    def _aged(self, number: int, start: int, of: Mapping[str, list[int]], atoms: Iterable[str]) -> list[Held]:
        found = []
        for atom in atoms:
            # The list is for all calls: only places before `start` are sources of this one.
            stop = bisect_left(of[atom], start)
            age = number - self._sent[of[atom][stop - 1]] if stop else 0
            if age >= 1:
                found.append(Held(atom, stop, age))
        return sorted(found, key=attrgetter("atom"))


def _hashes(tokens: Iterable[str]) -> bytes:
    """The different `word_hash` values of the long enough tokens, sorted. All are encoded at once for speed."""
    words = " ".join([token for token in tokens if len(token) >= SHORTEST_ATOM]).encode().split()
    return np.sort(np.fromiter(set(map(crc32, words)), np.uint32)).tobytes()


_ENCODER = json.JSONEncoder(sort_keys=True)


def reissues(transcript: Transcript, contents: Mapping[int, str] | None = None) -> dict[int, int]:
    """Return, for the place of each tool call that was made before, the place of the newest such call.

    A repeated call has the same tool and the same decoded arguments. Keys of an object may stand in any order; numbers
    are compared as written. Calls of one response don't repeat each other.

    `contents` are the results of `canonical.content` by place, if they are known.
    """
    made = [item for item in transcript.items if item.kind == "tool_call"]
    # Most calls have values that no other call has. Only the others are compared whole, which takes longer.
    # The order of an object's keys doesn't matter.
    texts = {item.place: contents[item.place] if contents else content(item) for item in made}
    values = {item.place: (item.tool, *sorted(texts[item.place].split("\n"))) for item in made}
    often = Frequencies(values.values())
    return repeated(transcript, lambda item: _key(item) if often[values[item.place]] > 1 else None)


def repeated(transcript: Transcript, key: Callable[[Item], Hashable | None]) -> dict[int, int]:
    """Return, for the place of each tool call with the key of a call in an earlier response, the place of the newest
    such call; calls with the key None repeat nothing.
    """
    found: dict[int, int] = {}
    newest: dict[Hashable, int] = {}
    for call in transcript.calls:
        made = (item for item in transcript.items[call.start : call.end] if item.kind == "tool_call")
        asked = {item.place: own for item in made if (own := key(item)) is not None}
        found.update((place, newest[own]) for place, own in asked.items() if own in newest)
        newest.update((own, place) for place, own in asked.items())
    return found


def asked_again(transcript: Transcript, contents: Mapping[int, str] | None = None) -> dict[int, tuple[int, ...]]:
    """Return, for each call that repeats earlier tool calls, the places of the results of those."""
    results = {item.answers: item.place for item in transcript.items if item.kind == "tool_result"}
    earlier = reissues(transcript, contents)
    found: dict[int, tuple[int, ...]] = {}
    for number, call in enumerate(transcript.calls, 1):
        places = tuple(results[earlier[p]] for p in range(call.start, call.end) if earlier.get(p) in results)
        if places:
            found[number] = places
    return found


def _key(item: Item) -> tuple[str, str]:
    try:
        # The prefix keeps arguments that are not JSON apart from those that are.
        return item.tool, "json " + _ENCODER.encode(decoded(item.text))
    except (ValueError, RecursionError):
        return item.tool, "text " + item.text
