"""What stands for something that nobody should see: as long, of the same kinds of characters, of about as many tokens.

It is made from a number and the form of the original, never from the original itself: nobody can guess a name and see
whether it gives the same.
"""

import random
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import cache

from ctxsim.safety.redaction.keys import likely_keys

CountMany = Callable[[list[str]], list[int]]
"""Returns how many tokens each text has."""

TRIES = 64
"""Candidates among which the one with the nearest number of tokens is taken."""

_CHANGED = frozenset(("Lu", "Ll", "Lo", "Lt", "Lm", "Nd"))
_ASCII = ("aeiou", "bcdfghjklmnpqrstvwxyz", "AEIOU", "BCDFGHJKLMNPQRSTVWXYZ", "0123456789")
_BLOCK = 64
"""Characters of one such block are as long in UTF-8, and mostly of one script."""

_KEPT = re.compile(r"\\+.|%[0-9A-Fa-f]{2}|(?<=[^.]\.)[A-Za-z]+$")
"""Escapes of JSON and of addresses; and the ending of an address, which is everybody's."""


class StandIns:
    """Stand-ins by original: the same for the same, in order of first appearance."""

    def __init__(self, count_many: CountMany) -> None:
        self._count_many = count_many
        self._made: dict[str, str] = {}
        self._taken: set[str] = set()

    def avoid(self, originals: Iterable[str]) -> None:
        """Never make one of these."""
        self._taken.update(originals)

    def of(self, original: str) -> str:
        """Return what stands for an original: as many characters, each of the same kind."""
        made = self._made.get(original)
        if made is None:
            made = self._made[original] = self._new(original)
            self._taken |= {original, made}
        return made

    def _new(self, original: str) -> str:
        tried = [one for one in dict.fromkeys(self._candidates(original)) if one != original]
        wanted, *counts = self._count_many([original, *tried])
        # Of a name of one letter there are too few to give each its own.
        apart = [(one in self._taken, abs(count - wanted), one) for count, one in zip(counts, tried, strict=True)]
        nearest = sorted(apart, key=lambda made: made[:2])
        return next((one for _, _, one in nearest if not likely_keys(one)), original)

    def _candidates(self, original: str) -> Iterator[str]:
        dice = random.Random(len(self._made))
        kept = {place for found in _KEPT.finditer(original) for place in range(*found.span())}
        choices = [one if place in kept else _alike(one) for place, one in enumerate(original)]
        for _ in range(TRIES):
            yield "".join(map(dice.choice, choices))


@cache
def _alike(character: str) -> str:
    """The characters that may stand for one; of what is no letter and no digit itself alone."""
    category = unicodedata.category(character)
    if category not in _CHANGED:
        return character
    for group in _ASCII:
        if character in group:
            return group
    start = ord(character) // _BLOCK * _BLOCK
    return "".join(one for one in map(chr, range(start, start + _BLOCK)) if unicodedata.category(one) == category)
