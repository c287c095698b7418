"""Kept against recalled, answer by answer."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec


class Predicted(msgspec.Struct, frozen=True):
    """One graded answer with our prediction: `present` if the request with the question held the expected answer.

    `condition` says how the conversation was compacted, `root` is the session, `groups` are other columns by name.
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
    """How many answers were present or absent, and right or wrong."""

    present_right: int
    present_wrong: int
    absent_right: int
    absent_wrong: int

    @property
    def answers(self) -> int:
        """The number of all answers."""
        return self.present_right + self.present_wrong + self.absent_right + self.absent_wrong

    @property
    def present(self) -> int:
        """The number of answers that were present."""
        return self.present_right + self.present_wrong

    @property
    def right(self) -> int:
        """The number of right answers."""
        return self.present_right + self.absent_right


def confusion(found: Iterable[Predicted]) -> Confusion:
    """Return the confusion counts of some answers."""
    pairs = [(one.present, one.correct) for one in found]
    return Confusion(*(pairs.count(pair) for pair in ((True, True), (True, False), (False, True), (False, False))))
