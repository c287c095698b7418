"""Where in its source an atom stands: in the first characters, in the last, or between. Truncation keeps the ends."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from ctxsim.references.needs import Need

Depth = Literal["head", "middle", "tail"]

EDGE_CHARS = 500
"""How much of a text is its head, and its tail: what agents commonly retain."""

_GAP = re.compile(r"\W*")


def depth_in(need: Need, text: str) -> Depth:
    """Return where the atom first stands whole in its source, given the source's canonical text."""
    start, end = _strict(text, need.atom) if need.detector == "strict" else _loose(text, need.atom)
    if end <= EDGE_CHARS:
        return "head"
    return "tail" if start >= len(text) - EDGE_CHARS else "middle"


def _strict(text: str, atom: str) -> tuple[int, int]:
    """The first place of an atom that no word character touches; else the first place of its characters."""
    at = first = text.find(atom)
    while at >= 0:
        end = at + len(atom)
        if not _word(text[at - 1 : at]) and not _word(text[end : end + 1]):
            return at, end
        at = text.find(atom, at + 1)
    return max(0, first), max(0, first) + len(atom)


def _word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _loose(text: str, atom: str) -> tuple[int, int]:
    """The first place where the words of a quotation follow one another; else the first place of its first word."""
    wanted = atom.split(" ")
    at = first = text.find(wanted[0])
    while at >= 0:
        end = _followed(text, at, wanted)
        if end is not None:
            return at, end
        at = text.find(wanted[0], at + 1)
    return max(0, first), max(0, first)


def _followed(text: str, at: int, words: Sequence[str]) -> int | None:
    """Where words that follow one another from a place on end, nothing but other characters between them."""
    for word in words:
        gap = _GAP.match(text, at)
        at = gap.end() if gap else at
        if not text.startswith(word, at):
            return None
        at += len(word)
    return at
