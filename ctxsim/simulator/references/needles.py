"""Needles: planted facts and rules. Whether a view holds one is looked up, not detected."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ctxsim.simulator.references.canonical import canonical, content, fold
from ctxsim.simulator.references.needs import first_sent
from ctxsim.transcript import Item, Needle, Transcript


class Needles:
    """The needles of one transcript under one policy."""

    def __init__(self, transcript: Transcript) -> None:
        sent = first_sent(transcript)
        self.needles = transcript.needles
        self.first_sent = [sent[needle.place] for needle in self.needles]
        self._texts = [canonical(needle.text) for needle in self.needles]
        self._due: dict[int, list[int]] = {}
        for number, needle in enumerate(self.needles):
            for call in needle.used:
                self._due.setdefault(call, []).append(number)
        self._folded: dict[tuple[int, str], str] = {}

    def call(self, number: int, view: Sequence[Item]) -> Iterator[tuple[int, Needle, bool]]:
        """Return each needle that a call, from 1, uses, with its number and whether the view holds it whole."""
        due = self._due.get(number, ())
        texts = [self._text(item) for item in view if item.kind != "reasoning"] if due else []
        for index in due:
            yield index, self.needles[index], any(self._texts[index] in text for text in texts)

    def _text(self, item: Item) -> str:
        key = (item.place, item.text)
        if key not in self._folded:
            self._folded[key] = fold(content(item))
        return self._folded[key]
