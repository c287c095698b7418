"""Where in its source an atom stands: in the first characters, in the last, or between. Truncation keeps the ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ctxsim.simulator.references.needs import Need

Depth = Literal["head", "middle", "tail"]

EDGE_CHARS = 500
"""How much of a text is its head, and its tail: what agents commonly retain."""


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
    words = atom.split(" ")
    # Looked for by the longest, which is in the fewest places.
    chosen = max(range(len(words)), key=lambda number: len(words[number]))
    at = text.find(words[chosen])
    while at >= 0:
        start = _led_to(text, at, words[:chosen])
        end = None if start is None else _followed(text, at, words[chosen:])
        if start is not None and end is not None:
            return start, end
        at = text.find(words[chosen], at + 1)
    first = max(0, text.find(words[0]))
    return first, first


def _led_to(text: str, at: int, words: Sequence[str]) -> int | None:
    """Where words that follow one another up to a place begin, nothing but other characters between them."""
    for word in reversed(words):
        while at and not _word(text[at - 1]):
            at -= 1
        if not text.endswith(word, 0, at):
            return None
        at -= len(word)
    return at


def _followed(text: str, at: int, words: Sequence[str]) -> int | None:
    """Where words that follow one another from a place on end, nothing but other characters between them."""
    for word in words:
        while at < len(text) and not _word(text[at]):
            at += 1
        if not text.startswith(word, at):
            return None
        at += len(word)
    return at
