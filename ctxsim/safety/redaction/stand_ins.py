"""Stand-ins for private text: as long, of the same kinds of characters, and of about as many tokens.

A stand-in is made from a counter and from the original's form and number of tokens, never from its characters, so that
a guessed original can't be confirmed.
"""

import random
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import cache

from ctxsim.safety.redaction.keys import likely_keys

CountMany = Callable[[list[str]], list[int]]
"""Returns the number of tokens of each text."""

TRIES = 64
"""Number of candidates, of which the one with the nearest number of tokens is taken."""

_CHANGED = frozenset(("Lu", "Ll", "Lo", "Lt", "Lm", "Nd"))
_ASCII = ("aeiou", "bcdfghjklmnpqrstvwxyz", "AEIOU", "BCDFGHJKLMNPQRSTVWXYZ", "0123456789")
_BLOCK = 64
"""Code points per block. The characters of a block have the same length in UTF-8, and are mostly of one script."""

_ESCAPES = r"\\+.|%[0-9A-Fa-f]{2}"
_KEPT = {False: re.compile(_ESCAPES), True: re.compile(rf"{_ESCAPES}|(?<=[^.]\.)[A-Za-z]+$")}
"""Parts that aren't changed: escapes of JSON and URLs; of an address also the top-level domain, which is public."""


class StandIns:
    """Makes stand-ins, one for each original. They depend on the order in which originals first appear."""

    def __init__(self, count_many: CountMany) -> None:
        self._count_many = count_many
        self._made: dict[tuple[str, bool], str] = {}
        self._taken: set[str] = set()

    def avoid(self, originals: Iterable[str]) -> None:
        """Use none of these originals as a stand-in as long as other candidates are left."""
        self._taken.update(originals)

    def of(self, original: str, address: bool = False) -> str:
        """Return the stand-in for an original: as many characters, each of the same kind.

        Of an `address`, which is an e-mail address or a host name, the top-level domain stays.
        """
        made = self._made.get((original, address))
        if made is None:
            made = self._made[original, address] = self._new(original, address)
            self._taken |= {original, made}
        return made

    def _new(self, original: str, address: bool) -> str:
        tried = [one for one in dict.fromkeys(self._candidates(original, address)) if one != original]
        wanted, *counts = self._count_many([original, *tried])
        # Taken candidates come last and aren't excluded: there are too few one-letter names for a new one each time.
        apart = [(one in self._taken, abs(count - wanted), one) for count, one in zip(counts, tried, strict=True)]
        nearest = [one for _, _, one in sorted(apart, key=lambda made: made[:2])] or [original]
        return next((one for one in nearest if not likely_keys(one)), nearest[0])

    def _candidates(self, original: str, address: bool) -> Iterator[str]:
        dice = random.Random(len(self._made))
        kept = {place for found in _KEPT[address].finditer(original) for place in range(*found.span())}
        choices = [one if place in kept else _alike(one) for place, one in enumerate(original)]
        for _ in range(TRIES):
            yield "".join(map(dice.choice, choices))


@cache
def _alike(character: str) -> str:
    """Return the characters that may replace one; only the character itself if it is no letter or digit."""
    category = unicodedata.category(character)
    if category not in _CHANGED:
        return character
    for group in _ASCII:
        if character in group:
            return group
    start = ord(character) // _BLOCK * _BLOCK
    return "".join(one for one in map(chr, range(start, start + _BLOCK)) if unicodedata.category(one) == category)
