"""Secrets that stand in a text in another writing: as base64, with % for its signs, or broken over lines."""

import binascii
import re
from collections.abc import Callable, Iterator
from urllib.parse import unquote

import numpy as np

LEAST = 28
"""Characters of base64: twenty-one of what it holds."""

PIECE, OVERLAP = 20_000, 4_000
"""Longer base64 is looked into piece by piece; what crosses an edge stands whole in the next."""

_BASE64 = re.compile(
    rf"(?<![\w+/=-])[\w+/-]{{{LEAST},}}+(?:\r?\n[ \t]*+[\w+/-]{{40,}}+)*+(?:\r?\n[\w+/-]+)?={{0,2}}", re.ASCII
)
_OF_BASE64 = bytes(re.fullmatch(r"[\w+/-]", chr(byte), re.ASCII) is not None for byte in range(256))
_PERCENT = re.compile(r"(?:%[0-9A-Fa-f]{2}[\w.~+-]*+){1,400}", re.ASCII)
_BEFORE = re.compile(r"[\w.~+-]{0,200}\Z", re.ASCII)
_BREAK = re.compile(r"[\"']?[ \t]*[+\\]?[ \t]*(?:\r?\n|\\n)[ \t]*[\"']?")

SHORTEST = 12
"""Characters of what %-escapes may hide."""

MOST_LOOKED = 100_000
"""Encoded pieces of one text that are looked into: time stays bounded."""

_DIGIT = re.compile(r"\d", re.ASCII)
_SIGNS = re.compile(r"[:=@/ ]")
_BLANK = dict.fromkeys(map(ord, "\r\n\t"))

Finder = Callable[[str], bool]


def in_base64(text: str, holds: Finder) -> Iterator[tuple[int, int]]:
    """Yield where base64 stands in a text of which `holds` says that it holds a secret."""
    after = 0
    for start in _runs(text):
        # The lines of one block are looked into once, together.
        found = _BASE64.match(text, start) if start >= after else None
        if found is None:
            continue
        after = found.end()
        # A path, a name and a number have no such mixture.
        if found[0].islower() or found[0].isupper() or not _DIGIT.search(found[0]):
            continue
        word = re.sub(r"\s", "", found[0]).rstrip("=").replace("-", "+").replace("_", "/")
        if any(
            holds(plain) for at in range(0, len(word), PIECE - OVERLAP) if (plain := _decoded(word[at : at + PIECE]))
        ):
            yield found.span()


def _decoded(word: str) -> str:
    """The text that base64 stands for; '' where it is none. A character may be torn at either end."""
    try:
        data = binascii.a2b_base64(word[: len(word) // 4 * 4 + (len(word) % 4 > 1) * 4] + "=" * (-len(word) % 4))
    except binascii.Error:
        return ""
    plain = data.decode(errors="replace").strip("\ufffd")
    return plain if "\ufffd" not in plain and plain.translate(_BLANK).isprintable() else ""


def _runs(text: str) -> list[int]:
    """Where so many characters of base64 begin: a hundred times as fast as the pattern."""
    if len(text) < LEAST:
        return []
    inside = np.frombuffer(b"\0%b\0" % text.encode("ascii", "replace").translate(_OF_BASE64), np.bool_)
    edges = np.flatnonzero(inside[1:] != inside[:-1])
    starts, ends = edges[::2], edges[1::2]
    found: list[int] = starts[ends - starts >= LEAST].tolist()
    return found


def in_percent(text: str, holds: Finder) -> Iterator[tuple[int, int]]:
    """Yield where a text with %3A and its like stands that holds a secret."""
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
    """Return where a key ends that begins at `start` and goes on behind line breaks; None where none does."""
    piece = text[start : start + window]
    whole = pattern.match(_BREAK.sub("", piece))
    if whole is None or whole.end() == 0:
        return None
    kept: list[int] = []
    after = 0
    for found in _BREAK.finditer(piece):
        kept += range(after, found.start())
        after = found.end()
    kept += range(after, len(piece))
    return start + kept[whole.end() - 1] + 1
