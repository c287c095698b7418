"""What stands at each position of a request, how long it is the same as in the last one, and each prefix's identity."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from operator import eq

BLOCK = 64
"""Positions whose hash is made at once, and kept: an edit makes again that of its own block, or of those behind it."""


class Prefixes:
    """The positions of a growing, edited request, each by a hash of its own; it remembers the request billed last."""

    __slots__ = ("_blocks", "_identities", "_lost", "_other", "known", "own")

    def __init__(self, own: Iterable[int]) -> None:
        self.own = list(own)
        self._blocks: list[int | None] = []
        """By whole block, its hash, if it has been asked for."""
        self._identities: dict[int, int] = {}
        """Those asked for since the last edit: as long as a request only grows, the same are asked for again."""
        self.known = 0
        """Positions before this one are those of the remembered request, but for a few others."""
        self._other: dict[int, int] = {}
        """What that one had at them."""
        self._lost: list[int] = []
        """What that one had from there on."""

    def forked(self) -> Prefixes:
        """Return the same positions with the same memory, to go their own way."""
        fork = copy(self)
        fork.own, fork._blocks, fork._other = self.own[:], self._blocks[:], self._other.copy()
        fork._identities = self._identities.copy()
        return fork

    def replace(self, position: int, own: int) -> None:
        """Put something else at one position."""
        if position < self.known:
            self._other.setdefault(position, self.own[position])
        self.own[position] = own
        self._identities.clear()
        if position < len(self._blocks) * BLOCK:
            self._blocks[position // BLOCK] = None

    def change_from(self, start: int) -> None:
        """Take note that from a position on something else is going to stand, before it does."""
        if start < self.known:
            self._lost = [*self._had(start, self.known), *self._lost]
            self._other = {position: own for position, own in self._other.items() if position < start}
            self.known = start
        self._identities.clear()
        del self._blocks[start // BLOCK :]

    def remember(self) -> None:
        """This request is the one to compare the next with."""
        self.known, self._other, self._lost = len(self.own), {}, []

    @property
    def remembered(self) -> int:
        """How many positions the remembered request had."""
        return self.known + len(self._lost)

    @property
    def shared(self) -> int:
        """How many leading positions this request has in common with the remembered one."""
        others = [position for position, own in self._other.items() if self.own[position] != own]
        if others:
            return min(others)
        return self.known + (same_length(self.own[self.known :], self._lost) if self._lost else 0)

    def lost(self, shared: int) -> list[int]:
        """Return what the remembered request had from there on, given how many positions are shared."""
        return (
            self._lost[shared - self.known :] if shared >= self.known else [*self._had(shared, self.known), *self._lost]
        )

    def _had(self, start: int, end: int) -> list[int]:
        """What the remembered request had at some positions before `known`."""
        had = self.own[start:end]
        for position, own in self._other.items():
            if start <= position < end:
                had[position - start] = own
        return had

    def identity(self, position: int) -> int:
        """Return what stands for positions 0 up to this one, all of them."""
        found = self._identities.get(position)
        if found is None:
            found = self._identities[position] = self.identity_with(position, self.own[position])
        return found

    def identity_with(self, position: int, own: int) -> int:
        """Return the same if something else stood at this position."""
        whole, blocks = position // BLOCK, self._blocks
        if len(blocks) < whole or None in blocks:
            blocks += [None] * (whole - len(blocks))
            for number, block in enumerate(blocks):
                if block is None:
                    blocks[number] = hash(tuple(self.own[number * BLOCK : (number + 1) * BLOCK]))
        return hash((*blocks[:whole], *self.own[whole * BLOCK : position], own))


def same_length(left: Sequence[int], right: Sequence[int]) -> int:
    """How many numbers at the beginning of two lists are equal."""
    same = list(map(eq, left, right))
    return same.index(False) if False in same else len(same)
