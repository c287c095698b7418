"""Loose detector: quotations. An atom is five consecutive words on one line.

At least three of the five have three letters and lie outside paths, URLs and e-mail addresses. Source of the rule:
docs/references.md, definition, 3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set

from ctxsim.references.canonical import fold

VERSION = "loose-1"

WORDS = 5
TELLING = 3
"""How many of the words must have three letters and lie outside paths and addresses."""

_LINE_END = "\x02"
_KEPT = b"\nabcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_" + bytes(range(128, 256))
_TABLE = bytes(byte if byte in _KEPT else 32 for byte in range(256))
_FOREIGN = re.compile(r"[^\x00-\x7f\w]+")
_ADDRESS = re.compile(r"\w/+\w|\w@\w|://")
_LETTERS = re.compile(r"(?:[\d_]*[^\W\d_]){3}")


def words(text: str) -> list[str]:
    """Return the words of a text in order; one that is no word stands for each end of a line."""
    if not text.isascii():
        text = _FOREIGN.sub(" ", text)
    return text.encode().translate(_TABLE).decode().replace("\n", f" {_LINE_END} ").split()


def windows(text: str) -> Iterator[tuple[str, ...]]:
    """Return all runs of five consecutive words; those with an end of line in them equal no atom."""
    found = words(text)
    return zip(found, found[1:], found[2:], found[3:], found[4:], strict=False)


def atoms(text: str) -> set[str]:
    """Return the atoms of a resolved text, case-folded, words parted by one space."""
    found: set[str] = set()
    for line in fold(text).split("\n"):
        inside, telling = _telling(line)
        for start in range(len(inside) - WORDS + 1):
            if sum(telling[start : start + WORDS]) >= TELLING:
                found.add(" ".join(inside[start : start + WORDS]))
    return found


def _telling(line: str) -> tuple[list[str], list[bool]]:
    """Return the words of a line, and of each whether it has three letters and lies outside paths and addresses."""
    # Most lines have neither, and are looked at in one go.
    if "/" not in line and "@" not in line:
        inside = words(line)
        return inside, [_LETTERS.match(word) is not None for word in inside]
    inside, telling = [], []
    for part in line.split():
        plain = _ADDRESS.search(part) is None
        for word in words(part):
            inside.append(word)
            telling.append(plain and _LETTERS.match(word) is not None)
    return inside, telling


class Quotations:
    """Atoms to look for in texts."""

    def __init__(self, atoms: Set[str]) -> None:
        self._atoms = {tuple(atom.split(" ")): atom for atom in atoms}

    def held(self, text: str) -> set[str]:
        """Return those that a canonical text holds whole."""
        atoms = self._atoms
        return {atoms[window] for window in filter(atoms.__contains__, windows(text))} if atoms else set()
