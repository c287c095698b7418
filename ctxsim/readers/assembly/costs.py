"""What logs say that requests cost."""

from __future__ import annotations

import math
from typing import Any


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
