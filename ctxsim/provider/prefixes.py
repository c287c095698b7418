"""What stands at each position of a request, how long it is the same as in the last one, and each prefix's identity."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from operator import eq

BLOCK = 64
"""Positions whose identities are made at once, and kept: an edit makes again those from its own block on."""


class Prefixes:
    """The positions of a growing, edited request, each by a hash of its own; it remembers the request billed last."""

    __slots__ = ("_blocks", "_lost", "known", "own")

    def __init__(self, own: Iterable[int]) -> None:
        self.own = list(own)
        self._blocks = [0]
        """By number of whole blocks, the identity of all that is in them."""
        self.known = 0
        """Positions before this one are still those of the remembered request; from there on it is another."""
        self._lost: list[int] = []
        """What that one had from there on."""

    def forked(self) -> Prefixes:
        """Return the same positions with the same memory, to go their own way."""
        fork = copy(self)
        fork.own, fork._blocks = self.own[:], self._blocks[:]
        return fork

    def change_from(self, start: int) -> None:
        """Take note that from a position on something else is going to stand, before it does."""
        if start < self.known:
            self._lost = self.own[start : self.known] + self._lost
            self.known = start
        del self._blocks[start // BLOCK + 1 :]

    def remember(self) -> None:
        """This request is the one to compare the next with."""
        self.known, self._lost = len(self.own), []

    @property
    def remembered(self) -> int:
        """How many positions the remembered request had."""
        return self.known + len(self._lost)

    @property
    def shared(self) -> int:
        """How many leading positions this request has in common with the remembered one."""
        return self.known + (same_length(self.own[self.known :], self._lost) if self._lost else 0)

    @property
    def lost(self) -> list[int]:
        """What the remembered request had from the first position on that isn't shared."""
        return self._lost[self.shared - self.known :]

    def identity(self, position: int, instead: int | None = None) -> int:
        """Return what stands for positions 0 up to this one, all of them; `instead`: if that stood at this one."""
        blocks, whole = self._blocks, position // BLOCK
        while len(blocks) <= whole:
            start = (len(blocks) - 1) * BLOCK
            blocks.append(hash((blocks[-1], *self.own[start : start + BLOCK])))
        inside = self.own[whole * BLOCK : position]
        return hash((blocks[whole], *inside, self.own[position] if instead is None else instead))


def same_length(left: Sequence[int], right: Sequence[int]) -> int:
    """How many numbers at the beginning of two lists are equal."""
    same = list(map(eq, left, right))
    return same.index(False) if False in same else len(same)
