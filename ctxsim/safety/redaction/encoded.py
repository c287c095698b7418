"""Secrets that a text holds in another form: as base64, percent-encoded, or broken over lines."""

import binascii
import re
from collections.abc import Callable, Iterator
from urllib.parse import unquote

import numpy as np

from ctxsim.safety.redaction.patterns import part

LEAST = 28
"""Shortest base64 that is decoded, in characters; it encodes 21 bytes."""

PIECE, OVERLAP = 20_000, 4_000
"""Longer base64 is decoded in overlapping pieces of so many characters: a secret cut by one is whole in the next."""

_BASE64 = re.compile(
    rf"(?<![\w+/=-])[\w+/-]{{{LEAST},}}+(?:\r?\n[ \t]*+[\w+/-]{{40,}}+)*+(?:\r?\n[\w+/-]+)?={{0,2}}", re.ASCII
)
_OF_BASE64 = bytes(re.fullmatch(r"[\w+/-]", chr(byte), re.ASCII) is not None for byte in range(256))
_PERCENT = re.compile(r"(?:%[0-9A-Fa-f]{2}[\w.~+-]*+){1,400}", re.ASCII)
_BEFORE = re.compile(r"[\w.~+-]{0,200}\Z", re.ASCII)
_BREAK = re.compile(part("BREAK") + r"[ \t]*[\"']?")

SHORTEST = 12
"""Shortest percent-decoded text that is searched, in characters."""

MOST_LOOKED = 100_000
"""Most percent-encoded pieces of one text that are searched, which bounds the time."""

_DIGIT = re.compile(r"\d", re.ASCII)
_SIGNS = re.compile(r"[:=@/ ]")
_BLANK = dict.fromkeys(map(ord, "\r\n\t"))

Finder = Callable[[str], bool]


def in_base64(text: str, holds: Finder) -> Iterator[tuple[int, int]]:
    """Yield start and end of each base64 block of a text that, decoded, holds a secret by `holds`."""
    after = 0
    for start in _runs(text):
        # The lines of one block are decoded once, together.
        found = _BASE64.match(text, start) if start >= after else None
        if found is None:
            continue
        after = found.end()
        # Unlike paths, names and numbers, base64 mixes upper case, lower case and digits.
        if found[0].islower() or found[0].isupper() or not _DIGIT.search(found[0]):
            continue
        word = re.sub(r"\s", "", found[0]).rstrip("=").replace("-", "+").replace("_", "/")
        decoded = (_decoded(word[at : at + PIECE]) for at in range(0, len(word), PIECE - OVERLAP))
        if any(plain and holds(plain) for plain in decoded):
            yield found.span()


def _decoded(word: str) -> str:
    """Return the text that base64 encodes; '' if it isn't printable text. A character may be cut at either end."""
    try:
        data = binascii.a2b_base64(word[: len(word) // 4 * 4 + (len(word) % 4 > 1) * 4] + "=" * (-len(word) % 4))
    except binascii.Error:
        return ""
    plain = data.decode(errors="replace").strip("\ufffd")
    return plain if "\ufffd" not in plain and plain.translate(_BLANK).isprintable() else ""


def _runs(text: str) -> list[int]:
    """Return where runs of LEAST or more base64 characters begin; a hundred times as fast as the pattern."""
    if len(text) < LEAST:
        return []
    inside = np.frombuffer(b"\0%b\0" % text.encode("ascii", "replace").translate(_OF_BASE64), np.bool_)
    edges = np.flatnonzero(inside[1:] != inside[:-1])
    starts, ends = edges[::2], edges[1::2]
    found: list[int] = starts[ends - starts >= LEAST].tolist()
    return found


def in_percent(text: str, holds: Finder) -> Iterator[tuple[int, int]]:
    """Yield start and end of each percent-encoded piece of a text that, decoded, holds a secret by `holds`."""
    looked, at = 0, text.find("%")
    while at >= 0 and looked < MOST_LOOKED:
        found = _PERCENT.match(text, at)
        end = found.end() if found else at + 1
        at = text.find("%", end)
        if found is None:
            continue
        before = _BEFORE.search(text[max(0, found.start() - 200) : found.start()])
        start = found.start() - (len(before[0]) if before else 0)
        plain = unquote(text[start:end])
        if len(plain) < SHORTEST or not _SIGNS.search(plain):
            continue
        looked += 1
        if holds(plain):
            yield start, end


def unbroken(text: str, start: int, pattern: re.Pattern[str], window: int = 400) -> int | None:
    """Return the end of a key that begins at `start` and continues after line breaks; None if there is no such key."""
    piece = text[start : start + window]
    whole = pattern.match(_BREAK.sub("", piece))
    if whole is None or whole.end() == 0:
        return None
    gone = {place for found in _BREAK.finditer(piece) for place in range(*found.span())}
    kept = [place for place in range(len(piece)) if place not in gone]
    return start + kept[whole.end() - 1] + 1
