"""What an estimator's error does to a threshold: which side of it is believed, and how late it is passed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

Misled = Literal["", "false-safe", "false-alarm"]


def misled(estimate: float, tokens: float, limit: float) -> Misled:
    """Return `false-safe` where the estimate is at or under a limit that the tokens are over, `false-alarm` where it is
    the other way round, '' where both are on one side.
    """
    if estimate <= limit < tokens:
        return "false-safe"
    return "false-alarm" if tokens <= limit < estimate else ""


def first_over(values: Iterable[float], limit: float) -> int | None:
    """Return the place, from 0, of the first value over a limit; None if none is."""
    return next((place for place, value in enumerate(values) if value > limit), None)


def displacement(fired: int | None, due: int | None, tokens: Sequence[int]) -> tuple[int, int] | None:
    """Return how many calls and tokens later than due a threshold fired; negative: earlier, None: one never did.

    `tokens` are those of each request of the same history.
    """
    return None if fired is None or due is None else (fired - due, tokens[fired] - tokens[due])
