"""Where two lists of items differ: what a request that was edited has to be rendered again for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from operator import is_, is_not
from typing import NamedTuple

from ctxsim.transcript import Item


class Difference(NamedTuple):
    """Where two lists of items differ: from `start` on, up to `before` in the first and `after` in the second.

    What stands behind is the same again, to the end of the first; the second may have more.
    """

    start: int
    before: int
    after: int

    def others(self, before: Sequence[Item], after: Sequence[Item]) -> Sequence[int]:
        """Return the positions in the second list of what differs; of as many, only where one stands for another."""
        if self.before != self.after:
            return range(self.start, self.after)
        here = slice(self.start, self.after)
        return list(compress(range(self.start, self.after), map(is_not, before[here], after[here])))


def difference(before: Sequence[Item], after: Sequence[Item], start: int = 0) -> Difference:
    """Return where two lists of items differ, by identity; up to `start` they are known to be the same."""
    old, new = before[start:], after[start:]
    front = _same(old, new)
    if front == len(old):
        return Difference(start + front, start + front, start + front)
    # The end of the first, looked for among the last of the second: lists grow by little.
    last = old[-1]
    end = next((at for at in range(len(new), max(front, len(new) - NEAR), -1) if new[at - 1] is last), None)
    if end is None:
        # Where it stood another text of the same item may stand now: then all positions are what they were.
        same_places = len(new) >= len(old) and new[len(old) - 1].place == last.place
        return Difference(start + front, len(before), len(before) if same_places else len(after))
    back = _same(old[front:][::-1], new[front:end][::-1])
    return Difference(start + front, len(before) - back, start + end - back)


NEAR = 64
"""An end that is farther from the end isn't looked for: that is slower, not wrong."""


def _same(left: Sequence[Item], right: Sequence[Item]) -> int:
    """How many items at the beginning of two lists are the same."""
    same = list(map(is_, left, right))
    return same.index(False) if False in same else len(same)
