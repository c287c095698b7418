"""The needs that a policy lost, one by one: which need, and how its source left the view."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.results.columns import ItemRow, LossRow, NeedleRow, NeedRow
from ctxsim.simulator.measure.columns import shown
from ctxsim.simulator.references.canonical import content, fold, plain
from ctxsim.simulator.references.finding import first_sent
from ctxsim.simulator.references.needs import Need, References
from ctxsim.simulator.references.survival import Counts, Needles, Survival
from ctxsim.simulator.replay.sent import Sent
from ctxsim.transcript import Transcript

if TYPE_CHECKING:
    from ctxsim.simulator.measure.measured import Basis

Depth = Literal["head", "middle", "tail"]

EDGE_CHARS = 500
"""Characters of a text that are its head, and its tail: as many as agents commonly retain."""

SHARED_CHARS = 20
"""Characters at one end of a text that a cut version still holds; a placeholder doesn't."""

_NO_WORD = bytes(byte for byte in range(128) if not (chr(byte).isalnum() or chr(byte) == "_"))


def kind_of(need: Need) -> str:
    """Return the kind of an atom: a value, a name from code, or a quotation."""
    return "quotation" if need.detector == "loose" else ("value" if need.value else "name")


def need_rows(transcript: str, references: References) -> list[NeedRow]:
    """Return a row for each need of the transcript of this name, in call order."""
    texts: dict[int, str] = {}
    rows = []
    for number, needs in enumerate(references.needs_by_call, 1):
        for need in needs:
            source = references.items[need.sources[-1]]
            if source.place not in texts:
                texts[source.place] = fold(content(source))
            rows.append(
                NeedRow(
                    transcript=transcript, call=number, detector=need.detector, kind=kind_of(need), age=need.age,
                    depth=depth_in(need, texts[source.place]), tool=source.tool, item=source.place,
                    sources=len(need.sources), atom=need.atom,
                )
            )  # fmt: skip
    return rows


def item_rows(transcript: Transcript, references: References, counter: Counter) -> list[ItemRow]:
    """Return a row for each recorded item, in order."""
    sent = first_sent(transcript)
    users: dict[int, list[int]] = {}
    for number, needs in enumerate(references.needs_by_call, 1):
        for place in dict.fromkeys(need.sources[-1] for need in needs):
            users.setdefault(place, []).append(number)
    return [
        ItemRow(
            transcript=transcript.name, item=item.place, kind=item.kind, tool=item.tool, message=item.message,
            first_call=sent[item.place], tokens=counter.item(item),
            used_by=" ".join(map(str, users.get(item.place, ()))), text=shown(item.text),
        )
        for item in transcript.items
    ]  # fmt: skip


class Losses:
    """The losses of one replay; call `after` for every call in order."""

    def __init__(self, basis: Basis, policy: str) -> None:
        # Not the basis itself: it holds these losses, and the circle would keep a transcript in memory.
        self._transcript = basis.transcript
        self._references = basis.references
        self._needs = basis.needs
        self._policy = policy
        self._survival = Survival(basis.references, basis.kept)
        self._number = 0
        self._told: dict[int, set[int]] = {}
        """By a summary's place, the recorded places that it stands for, through summaries of summaries."""
        self.lost: list[LossRow] = []
        self.lost_strict: list[Need] = []
        """The aged strict needs among `lost`."""
        self.edited: set[int] = set()
        """Places of the results that were ever cut or removed."""
        self.missed: set[int] = set()
        """Those of `edited` that held a strict need which was lost."""
        self._needles = Needles(basis.transcript) if basis.transcript.needles else None
        self._compacted: list[int] = []
        self.needles: list[NeedleRow] = []
        self.again = basis.references.asked_again
        self.again_after_edit = 0

    def after(self, sent: Sent) -> Counts:
        """Return the reference counts of a call, and record what it lost."""
        for made in sent.tally.edits:
            edit = made.edit
            if edit.before is None and edit.after is not None:
                self._told[edit.after.place] = self._stands_for(edit.after.sources)
            elif edit.before is not None and edit.before.kind == "tool_result" and edit.before.answers is not None:
                self.edited.add(edit.before.place)
        self._survival.begin(sent.tally.edits)
        counts = self._survival.counts(sent.call)
        needs = self._references.needs(sent.call)
        if counts.lost:
            where = {need.key: self._number + n for n, need in enumerate(needs)}
            for need in counts.lost:
                number, form = where[need.key], self._form(need.sources[-1])
                self.lost.append(self._row(number, form))
                if need.detector == "strict":
                    self.missed |= {need.sources[-1]} & self.edited
                    self.lost_strict += [need] if need.age >= 1 else []
        self._number += len(needs)
        if sent.compactions:
            self._compacted.append(sent.call)
        self._look_for_needles(sent)
        if asked := self.again.get(sent.call):
            self.again_after_edit += sum(result in self._survival.gone for result in asked)
        self._survival.end(sent.tally.edits)
        return counts

    def _row(self, number: int, form: str) -> LossRow:
        need = self._needs[number]
        return LossRow(
            need.transcript, self._policy, need.call, number, form,
            need.detector, need.kind, need.age, need.depth, need.tool, need.item,
        )  # fmt: skip

    def _look_for_needles(self, sent: Sent) -> None:
        if self._needles is None:
            return
        for number, needle, kept, stale in self._needles.call(sent.call, sent.view):
            first = self._needles.first_sent[number]
            self.needles.append(
                NeedleRow(
                    transcript=self._transcript.name, policy=self._policy, needle=number, kind=needle.kind,
                    depth=needle.depth, call=sent.call, age=sent.call - first,
                    compactions=sum(call >= first for call in self._compacted), kept=kept, stale=stale,
                )
            )  # fmt: skip

    def _form(self, place: int) -> str:
        """How an item left the view: `truncated`, `summarised` or `dropped` (also: replaced by a placeholder)."""
        item = self._survival.changed.get(place)
        if item is None:
            told = any(place in self._told[summary] for summary in self._survival.synthetic)
            return "summarised" if told else "dropped"
        text = self._transcript.items[place].text
        kept = text[:SHARED_CHARS] in item.text or text[-SHARED_CHARS:] in item.text
        return "truncated" if kept else "dropped"

    def _stands_for(self, sources: Iterable[int]) -> set[int]:
        recorded: set[int] = set()
        for place in sources:
            recorded |= {place} if place >= 0 else self._told.get(place, set())
        return recorded


def depth_in(need: Need, text: str) -> Depth:
    """Return where the atom first stands whole in its source, given the source's canonical text."""
    if need.detector == "strict":
        start, end = _first_strict(text, need.atom)
        head, tail = EDGE_CHARS, len(text) - EDGE_CHARS
    else:
        # Between a quotation's words stand only non-words, so it is looked for in the words alone.
        words, head, tail = _words_only(text)
        quotation = need.atom.replace(" ", "").encode()
        start = words.find(quotation)
        end = start + len(quotation)
    return "head" if end <= head else "tail" if start >= tail else "middle"


@lru_cache(maxsize=16)
def _words_only(text: str) -> tuple[bytes, int, int]:
    """A text without all that is in no word, the end of its head, and the start of its tail."""
    words, head, tail = (
        plain(part).encode().translate(None, _NO_WORD) for part in (text, text[:EDGE_CHARS], text[-EDGE_CHARS:])
    )
    return words, len(head), len(words) - len(tail)


def _first_strict(text: str, atom: str) -> tuple[int, int]:
    """The span of the first occurrence of an atom that no word character touches; else of the first occurrence."""
    at = first = max(0, text.find(atom))
    while at >= 0:
        end = at + len(atom)
        if not _in_word(text[at - 1 : at]) and not _in_word(text[end : end + 1]):
            return at, end
        at = text.find(atom, at + 1)
    return first, first + len(atom)


def _in_word(character: str) -> bool:
    return character.isalnum() or character == "_"
