"""Which of each call's needs, and of the planted needles, the view still held.

An atom survives if some item of the view sent with the call, edited or synthetic, holds it whole; reasoning doesn't
count. Source of the rule: docs/references.md, definition, 6 and 7.
"""

from collections import Counter as Frequencies
from collections.abc import Iterator, Sequence
from functools import cache

import msgspec

from ctxsim.simulator.references.canonical import canonical, content, fold
from ctxsim.simulator.references.finding import first_sent
from ctxsim.simulator.references.needs import Key, Need, References
from ctxsim.transcript import Item, Needle, Transcript
from ctxsim.view import Made


class Counts(msgspec.Struct, frozen=True, gc=False):
    """Needs of one call and how many of them its view kept, each atom once.

    `strict` (of them `values`), `loose`, `carried` and `user` are aged needs, `fresh` are strict ones of age 0. `lost`
    has the strict and loose needs that are gone, fresh ones too, but no carried or said ones.
    """

    lost: tuple[Need, ...] = ()
    refs_needed_strict: int = 0
    refs_kept_strict: int = 0
    refs_needed_loose: int = 0
    refs_kept_loose: int = 0
    refs_needed_fresh: int = 0
    refs_kept_fresh: int = 0
    refs_needed_carried: int = 0
    refs_kept_carried: int = 0
    refs_needed_values: int = 0
    refs_kept_values: int = 0
    refs_needed_user: int = 0
    refs_kept_user: int = 0


def counted(needs: Sequence[Need], alive: Sequence[bool], carried: Sequence[bool], said: Sequence[bool]) -> Counts:
    """Return the counts of one call, given its needs, and whether each need, carried need and said need survives."""
    pairs = list(zip(needs, alive, strict=True))
    strict = [(need, kept) for need, kept in pairs if need.detector == "strict" and need.age >= 1]
    # In the order of the fields.
    kinds = (
        [kept for _, kept in strict],
        [kept for need, kept in pairs if need.detector == "loose" and need.age >= 1],
        [kept for need, kept in pairs if need.detector == "strict" and need.age == 0],
        carried,
        [kept for need, kept in strict if need.value],
        said,
    )
    lost = tuple([need for need, kept in pairs if not kept])
    return Counts(lost, *[number for kept in kinds for number in (len(kept), sum(kept))])


def all_kept(references: References) -> list[Counts]:
    """Return the counts of each call for an unedited view, which holds everything."""
    by_call = zip(references.needs_by_call, references.carried_by_call, references.said_by_call, strict=True)
    return [counted(needs, *([True] * len(of) for of in (needs, carried, said))) for needs, carried, said in by_call]


class Survival:
    """Survival under one policy, call by call. It is updated by edits; unedited items survive and cost nothing."""

    def __init__(self, references: References, kept: Sequence[Counts] | None = None) -> None:
        """`kept`: the result of `all_kept`, if it is known."""
        self._references = references
        self.kept = all_kept(references) if kept is None else kept
        self.gone: set[int] = set()
        """Places of the items that aren't in the view as recorded."""
        self.changed: dict[int, Item] = {}
        """By place, the items of the view that are edited or synthetic."""
        self.synthetic: set[int] = set()
        """Places of the synthetic items among `changed`."""
        self._unread: set[int] = set()
        self._held = Frequencies[Key]()
        """How many changed items hold each atom. Those at the places `_unread` aren't searched yet."""

    def call(self, number: int, edits: Sequence[Made] = ()) -> Counts:
        """Return the counts of a call, counted from 1, given the edits since the last request. Use it in order."""
        self.begin(edits)
        counts = self.counts(number)
        self.end(edits)
        return counts

    def begin(self, edits: Sequence[Made]) -> None:
        """Apply the edits since the last request, except those of `after_call`."""
        for made in edits:
            if made.moment != "after_call":
                self._edited(made.edit.before, made.edit.after)

    def end(self, edits: Sequence[Made]) -> None:
        """End the request: undo the edits for this request alone, and apply those of `after_call`."""
        for made in reversed(edits):
            if not made.lasting:
                self._edited(made.edit.after, made.edit.before)
        for made in edits:
            if made.moment == "after_call":
                self._edited(made.edit.before, made.edit.after)

    def counts(self, number: int) -> Counts:
        """Return the counts of a call, counted from 1, for the view as it is now."""
        if self._references.newest_by_call[number - 1].isdisjoint(self.gone):
            return self.kept[number - 1]
        of, gone = self._references, self.gone
        needs = of.needs_by_call[number - 1]
        # The newest source of most needs is in the view, so test it first.
        alive = [
            need.sources[-1] not in gone or self._alive(need.key, need.sources, len(need.sources)) for need in needs
        ]
        carried, said = (
            [self._alive(("strict", one.atom), places[one.atom], one.stop) for one in held[number - 1]]
            for held, places in ((of.carried_by_call, of.holders), (of.said_by_call, of.sayers))
        )
        return counted(needs, alive, carried, said)

    def _edited(self, before: Item | None, after: Item | None) -> None:
        if before is not None:
            if before.place in self.changed:
                self._forget(before)
            self.gone.add(before.place)
        if after is None:
            return
        if self._references.intact(after):
            self.gone.discard(after.place)
            return
        self.changed[after.place] = after
        self._unread.add(after.place)
        if after.synthetic:
            self.synthetic.add(after.place)

    def _forget(self, item: Item) -> None:
        del self.changed[item.place]
        self.synthetic.discard(item.place)
        if item.place in self._unread:
            self._unread.discard(item.place)
        elif item.kind != "reasoning":
            self._held.subtract(self._references.vocabulary.held_by(item))

    def _alive(self, key: Key, sources: Sequence[int], stop: int) -> bool:
        """Whether one of the first `stop` sources is in the view as recorded, or a changed item holds the atom."""
        for position in range(stop - 1, -1, -1):
            if sources[position] not in self.gone:
                return True
        # Changed items are searched only when a lookup needs them.
        for place in self._unread:
            item = self.changed[place]
            if item.kind != "reasoning":
                self._held.update(self._references.vocabulary.held_by(item))
        self._unread.clear()
        return self._held[key] > 0


class Needles:
    """The needles of one transcript under one policy: planted facts and rules, looked up, not detected."""

    def __init__(self, transcript: Transcript) -> None:
        sent = first_sent(transcript)
        self.needles = transcript.needles
        self.first_sent = [sent[needle.place] for needle in self.needles]
        self._texts = [canonical(needle.text) for needle in self.needles]
        self._replaced = [canonical(needle.replaces) for needle in self.needles]
        self._due: dict[int, list[int]] = {}
        for number, needle in enumerate(self.needles):
            for call in needle.used:
                self._due.setdefault(call, []).append(number)
        self._text = cache(lambda item: fold(content(item)))

    def call(self, number: int, view: Sequence[Item]) -> Iterator[tuple[int, Needle, bool, bool]]:
        """Yield the number of each needle that a call, from 1, uses, the needle, whether the view holds it whole, and
        whether the view holds only what it replaced.
        """
        due = self._due.get(number, ())
        texts = [self._text(item) for item in view if item.kind != "reasoning"] if due else []
        for index in due:
            kept, old = any(self._texts[index] in text for text in texts), self._replaced[index]
            yield index, self.needles[index], kept, bool(old) and not kept and any(old in text for text in texts)
