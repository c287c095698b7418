"""Redaction of whole transcripts: likely keys, account names and e-mail addresses. Every text keeps its length."""

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import msgspec

from ctxsim.readers.source.values import strings
from ctxsim.safety.redaction import people
from ctxsim.safety.redaction.keys import LINE_END, PIECE, kind_of, likely_keys, lines, with_keys
from ctxsim.safety.redaction.stand_ins import CountMany, StandIns
from ctxsim.transcript import Transcript

NOT_LOOKED_FOR = "passwords that are words, secrets in prose, in pictures, encrypted or packed, and names of people"

_OURS = ("kind", "format", "trigger")
"""Fields that hold ctxsim's own words."""

_MODEL = "model"
"""The field that prices depend on. Account names in it aren't replaced as words, only in home folders."""


class Redaction:
    """Redacts transcripts one after the other; an original that stands in several gets the same stand-in in all.

    `found`: the originals replaced so far, by kind, which must never be shown. With `everything`, IP addresses, phone
    numbers and host names are replaced too.
    """

    def __init__(self, count_many: CountMany, everything: bool = False) -> None:
        self._stand_ins = StandIns(count_many)
        self._everything = everything
        self.found: defaultdict[str, set[str]] = defaultdict(set)

    def transcript(self, transcript: Transcript) -> Transcript:
        """Return a transcript with stand-ins in every text, name and note; lengths and all else are the same."""
        values = msgspec.to_builtins(transcript)
        texts = list(dict.fromkeys(text for _, text in strings(values)))
        keys = {text[one.start : one.end] for text in texts for one in likely_keys(text)}
        names = {name for text in texts for name in people.told_names(text)}
        self._stand_ins.avoid(names)
        # The lines by the beginning or end that they share, the longer ones first.
        self._pieces: dict[str, list[str]] = {}
        for line in sorted({line for key in keys for line in lines(key)}, key=lambda line: (-len(line), line)):
            for piece in (line[:PIECE], line[-PIECE:]):
                self._pieces.setdefault(piece, []).append(line)
        self._words, self._hyphened = people.words_of(names), people.in_hyphens(names)
        hosts = {host for text in texts for host in people.told_hosts(text)} if self._everything else set[str]()
        self._hosts = people.words_of(hosts)
        self._done: dict[str, str] = {}
        return msgspec.convert(self._value(values), Transcript)

    def _value(self, value: Any, field: str = "") -> Any:
        """Return a value with every string in it redacted, except names of fields."""
        if isinstance(value, dict):
            return {name: self._value(one, name) for name, one in value.items()}
        if isinstance(value, list | tuple):
            return [self._value(one, field) for one in value]
        if not isinstance(value, str) or field in _OURS:
            return value
        return self._in_place(value) if field == _MODEL else self._text(value)

    def _text(self, text: str) -> str:
        if text not in self._done:
            self._done[text] = people.with_words(self._in_place(text), self._words, self._name)
        return self._done[text]

    def _in_place(self, text: str) -> str:
        text = with_keys(text, self._key)
        for piece, whole in self._pieces.items():
            text = self._without_piece(text, piece, whole)
        text = people.with_mails(text, lambda address: self._replaced(address, "e-mail address"))
        text = people.with_homes(text, self._name, self._hyphened)
        text = people.with_network(text, self._replaced) if self._everything else text
        return people.with_words(text, self._hosts, lambda host: self._replaced(host, "host name"))

    def _without_piece(self, text: str, piece: str, whole: Sequence[str]) -> str:
        """Return a text without the rest of cut keys: `piece`, and what around it equals the line that agrees most."""
        kept, after = [], 0
        while (at := text.find(piece, after)) >= 0:
            fits = []
            for line in whole:
                first = line.index(piece)
                before = _alike(text[max(after, at - first) : at][::-1], line[:first][::-1])
                beyond = _alike(text[at : at + len(line)], line[first:])
                fits.append((before + beyond, before, first - before, line))
            size, before, first, line = max(fits, key=lambda fit: fit[0])
            kept += [text[after : at - before], self._stand_ins.of(line)[first : first + size]]
            after = at - before + size
        return "".join(kept) + text[after:]

    def _key(self, issuer: str, key: str) -> str:
        self.found[kind_of(issuer)].add(key)
        if lines(key) == [key]:
            return self._stand_ins.of(key)
        # Line by line: other texts may hold the same private key with JSON's line ends, or only half of it.
        pieces = re.split(f"({LINE_END.pattern})", key)
        pieces[::2] = map(self._stand_ins.of, pieces[::2])
        return "".join(pieces)

    def _name(self, name: str) -> str:
        return self._replaced(name, "account name")

    def _replaced(self, original: str, kind: str) -> str:
        self.found[kind].add(original)
        return self._stand_ins.of(original, address=kind in ("e-mail address", "host name"))

    @property
    def said(self) -> str:
        """A closing line: the number of originals replaced, by kind, and the kinds that weren't looked for."""
        counts = ", ".join(f"{len(found):,} {kind}(s)" for kind, found in sorted(self.found.items()))
        more = "" if self._everything else ", IP addresses, phone numbers, host names (--redact all)"
        return f"redacted: {counts or 'nothing was found'}; not looked for: {NOT_LOOKED_FOR}{more}"


def _alike(one: str, other: str) -> int:
    """Return how many characters two texts have in common at their beginnings."""
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
