"""Likely secrets in texts, found by the form of issuers' keys or by the text before them, and replaced by a mark.

Encoded secrets and secrets broken over lines are found too. `transcripts.NOT_LOOKED_FOR` names the kinds that aren't.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from ctxsim.safety.redaction.context import KINDS, contextual
from ctxsim.safety.redaction.encoded import in_base64, in_percent, unbroken
from ctxsim.safety.redaction.patterns import TABLE, compiled, part


class Form(NamedTuple):
    """One form of an issuer's keys: a prefix, followed by at least `least` characters that match `character`."""

    issuer: str
    prefixes: tuple[str, ...]
    character: str
    least: int


FORMS = msgspec.convert(
    tomllib.loads(Path(__file__).with_name("forms.toml").read_text(encoding="utf-8"))["forms"], tuple[Form, ...]
)

ENCODED = "encoded secret"

_WORD = r"[\w-]"
PRIVATE_KEY = "private key"
_BEGIN = "-----BEGIN "
_PRIVATE_KEY, _BROKEN, LINE_END = map(compiled, TABLE["keys"].values())

_CUT = r"(?=… \()"
"""The position before the mark of a text shortened for display: a key that is cut there counts however short it is."""

_OF_WORDS = bytes(re.fullmatch(_WORD, chr(byte), re.ASCII) is not None for byte in range(256))
_LONGEST = max(len(prefix) for form in FORMS for prefix in form.prefixes)
_FIRST_TWO = np.zeros(1 << 16, np.bool_)
_FIRST_THREE = {int.from_bytes(prefix[:3].encode(), "little") for form in FORMS for prefix in form.prefixes}
_FIRST_TWO[[int.from_bytes(prefix[:2].encode(), "little") for form in FORMS for prefix in form.prefixes]] = True

MOST_BROKEN = 10_000
"""Most places of a text that are searched for broken keys of one form, which bounds the time."""

SHORT = 3
"""Most characters of a prefix that is part of many words: broken keys of such a form aren't searched."""

_NO_ISSUERS = frozenset((PRIVATE_KEY, ENCODED, *KINDS))

_BETWEEN = f"\0\n{_BEGIN}\0\n"
"""Separator of joined texts, in no key. It doesn't begin with white space: a cut private key ends with its text."""

_OF_KEY = r"[\w./+=-]"

PIECE = 10
"""Characters that identify a known key; a shorter identifier is part of too many."""

MOST_KNOWN = 1_000
"""Keys of a transcript whose pieces are looked for; later ones are redacted only if whole, which bounds the time."""


@cache
def _pattern(form: Form) -> re.Pattern[str]:
    # At the start of a word or after JSON's escape of white space. Matching elsewhere would take quadratic time.
    begin = rf"{part('START')}(?:{'|'.join(map(re.escape, form.prefixes))})"
    return re.compile(rf"{begin}(?:{form.character}{{{form.least},}}|{form.character}*{_CUT})", re.ASCII)


class Found(NamedTuple):
    """A likely key in a text: its issuer or kind, its start and its end."""

    issuer: str
    start: int
    end: int


def _starts(text: str) -> list[int]:
    """Return where keys may begin: words, also after an escape, with the first three characters of a prefix."""
    # One byte per character, so that offsets agree.
    data = b" %b  " % text.encode("ascii", "replace")
    inside = np.frombuffer(data.translate(_OF_WORDS), np.bool_)
    starts = np.flatnonzero(inside[1:] > inside[:-1]) + 1
    escaped = starts[np.frombuffer(data, np.uint8)[starts - 1] == ord("\\")] + 1
    pairs = np.ndarray(len(data) - 1, "<u2", data, strides=1)
    begun = np.concatenate((starts, escaped))
    begun = begun[_FIRST_TWO[pairs[begun]]]
    threes = pairs[begun] | np.frombuffer(data, np.uint8)[np.minimum(begun + 2, len(data) - 1)].astype(np.uint32) << 16
    return sorted(at - 1 for at, three in zip(begun.tolist(), threes.tolist(), strict=True) if three in _FIRST_THREE)


def likely_keys(text: str) -> list[Found]:
    """Return the likely secrets of a text in order; overlapping ones are merged."""
    found = _plain(text)
    for search in (in_base64, in_percent):
        found += (Found(ENCODED, *place) for place in search(text, lambda decoded: bool(_plain(decoded))))
    return _apart(found)


def _plain(text: str) -> list[Found]:
    """Return the secrets that a text holds without encoding."""
    starts = _starts(text)
    begun = "\n".join({text[at : at + _LONGEST] for at in starts})
    possible = [form for form in FORMS if any(prefix in begun for prefix in form.prefixes)] if begun else []
    found = []
    for form in possible:
        pattern, after = _pattern(form), 0
        for at in starts:
            if at >= after and (match := pattern.match(text, at)):
                after = match.end()
                found.append(Found(form.issuer, at, after))
        for start in islice(_places(text, form.prefixes), MOST_BROKEN):
            broken = not pattern.match(text, start) and _BROKEN.match(text, start)
            if broken and (end := unbroken(text, start, pattern)):
                found.append(Found(form.issuer, start, end))
    if _BEGIN in text:
        found += [Found(PRIVATE_KEY, *match.span()) for match in _PRIVATE_KEY.finditer(text)]
    found += [Found(*one) for one in contextual(text)]
    return found


def _places(text: str, prefixes: Iterable[str]) -> Iterator[int]:
    for prefix in prefixes:
        at = text.find(prefix) if len(prefix) > SHORT else -1
        while at >= 0:
            yield at
            at = text.find(prefix, at + 1)


def _apart(found: Iterable[Found]) -> list[Found]:
    """Merge overlapping secrets into one, under an issuer's name if any of them has one."""
    apart: list[Found] = []
    for one in sorted(found, key=lambda one: (one.start, -one.end)):
        if not apart or one.start >= apart[-1].end:
            apart.append(one)
            continue
        last = apart[-1]
        issuer = one.issuer if last.issuer in _NO_ISSUERS and one.issuer not in _NO_ISSUERS else last.issuer
        apart[-1] = Found(issuer, last.start, max(last.end, one.end))
    return apart


def with_keys(text: str, stand_in: Callable[[str, str], str]) -> str:
    """Return a text with each likely key replaced by the stand-in for its issuer and itself."""
    pieces, after = [], 0
    for issuer, start, end in likely_keys(text):
        pieces += [text[after:start], stand_in(issuer, text[start:end])]
        after = end
    return "".join(pieces) + text[after:]


def marked(text: str) -> str:
    """Return a text with `[redacted: GitHub key]` in place of each likely key."""
    return with_keys(text, lambda issuer, _: _mark(issuer))


def _mark(issuer: str) -> str:
    return f"[redacted: {kind_of(issuer)}]"


def kind_of(issuer: str) -> str:
    """Return the name of a secret's kind: `GitHub key` for an issuer, the kind itself for secrets without an issuer."""
    return issuer if issuer in _NO_ISSUERS else f"{issuer} key"


class Secrets:
    """The likely keys of a transcript's texts. It redacts them, and pieces of them, in texts made from these."""

    def __init__(self, texts: Iterable[str]) -> None:
        # One search for all texts, since most hold no key. No key crosses the separator.
        together = _BETWEEN.join(texts)
        self._whose = {together[one.start : one.end]: one.issuer for one in likely_keys(together)}

    def __len__(self) -> int:
        return len(self._whose)

    @cached_property
    def issuers(self) -> Counter[str]:
        """Number of keys by issuer."""
        return Counter(self._whose.values())

    @cached_property
    def _pieces(self) -> list[tuple[str, str]]:
        """The beginnings and ends of known keys, of which a policy may leave only that, each with its mark."""
        return [
            (piece, _mark(issuer))
            for key, issuer in islice(self._whose.items(), MOST_KNOWN)
            for whole in lines(key)
            for piece in dict.fromkeys((whole[:PIECE], whole[-PIECE:]))
        ]

    def marked(self, text: str) -> str:
        """Return a text with a mark in place of each likely key, and of each remaining piece of a known key."""
        text = marked(text)
        for piece, mark in self._pieces:
            if piece in text:
                # A piece may stand right behind another one; else all of its word goes with it.
                text = re.sub(rf"(?:(?<!{_OF_KEY}){_OF_KEY}*)?{re.escape(piece)}{_OF_KEY}*", mark, text)
        return text

    def marked_atom(self, atom: str) -> str:
        """Return an identifier with likely keys marked, or only the mark if it is a piece of a known key."""
        if len(atom) >= PIECE:
            for key, issuer in islice(self._whose.items(), MOST_KNOWN):
                if atom in key:
                    return _mark(issuer)
        return marked(atom)


def lines(key: str) -> list[str]:
    """Return the lines of a private key's body, also with JSON's line ends; any other key is returned as one line."""
    if not key.startswith(_BEGIN):
        return [key]
    return [line for line in LINE_END.split(key) if len(line) >= PIECE and "-----" not in line]
