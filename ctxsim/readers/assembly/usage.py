"""What logs say that requests used and cost, in our words."""

import math
from typing import Any

from ctxsim.transcript import Usage


def in_parts(
    fresh: int | None,
    output: int | None,
    read: int | None,
    written: int | None,
    reasoning: int | None = None,
    cost: Any = None,
) -> Usage:
    """Return usage of a prompt in three parts: neither read from the cache nor written to it, read, written."""
    return Usage((fresh or 0) + (read or 0) + (written or 0), output, read, written, reasoning, dollars(cost))


def of_prompt(
    prompt: int,
    output: int | None,
    read: int | None,
    written: int | None,
    reasoning: int | None = None,
    cost: Any = None,
) -> Usage:
    """Return usage of a prompt that is whole, or without the cached tokens: where these are more than it."""
    cached = (read or 0) + (written or 0)
    return Usage(prompt if cached <= prompt else prompt + cached, output, read, written, reasoning, dollars(cost))


def dollars(value: Any) -> float | None:
    """Return a recorded cost in dollars; None for what is no number, and for zero: agents write it for unknown prices.

    A cost stands beside the conversation: whatever it is, it must not keep a file from being read.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if value > 0 else None
    except OverflowError:  # thousands of digits: noted where it is held against what can be
        return math.inf


def with_thoughts(prompt: int, candidates: int | None, cached: int | None, thoughts: int | None) -> Usage:
    """Return usage as Gemini counts it: its output is without thoughts."""
    return Usage(prompt, None if candidates is None else candidates + (thoughts or 0), cached, None, thoughts)
