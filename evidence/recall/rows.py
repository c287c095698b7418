"""Kept against recalled, answer by answer."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec


class Predicted(msgspec.Struct, frozen=True):
    """One graded answer with our prediction: `present` if the request that asked still held the expected answer.

    `condition` is what the model was asked after, `root` the session, `groups` other columns by name.
    """

    condition: str
    root: str
    transcript: str
    question: str
    expected: str
    answer: str
    present: bool
    correct: bool
    groups: dict[str, str]


class Confusion(msgspec.Struct, frozen=True):
    """How often an answer was present or absent, and given right or wrong."""

    present_right: int
    present_wrong: int
    absent_right: int
    absent_wrong: int

    @property
    def answers(self) -> int:
        """All of them."""
        return self.present_right + self.present_wrong + self.absent_right + self.absent_wrong

    @property
    def present(self) -> int:
        """Those that were present."""
        return self.present_right + self.present_wrong

    @property
    def right(self) -> int:
        """Those that were given right."""
        return self.present_right + self.absent_right


def confusion(found: Iterable[Predicted]) -> Confusion:
    """Return the counts of some answers."""
    pairs = [(one.present, one.correct) for one in found]
    return Confusion(*(pairs.count(pair) for pair in ((True, True), (True, False), (False, True), (False, False))))
