"""The rate limit: a continuous token bucket on a simulated clock."""

from __future__ import annotations

import msgspec


class RateLimit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`tokens_per_minute` is both what the bucket holds when full and what flows in per minute."""

    tokens_per_minute: int

    def __post_init__(self) -> None:
        if self.tokens_per_minute <= 0:
            raise ValueError("tokens_per_minute must be positive")

    def describe(self) -> str:
        """For people."""
        return f"{self.tokens_per_minute:,} input tokens per minute"


class Bucket:
    """Starts full. Times are simulated seconds and never go back."""

    def __init__(self, limit: RateLimit) -> None:
        self._capacity = float(limit.tokens_per_minute)
        self._per_second = limit.tokens_per_minute / 60
        self._level = self._capacity
        self._at_s = 0.0

    def take(self, need: int, at_s: float) -> float | None:
        """Take `need` tokens and return the seconds to wait for them; None if the bucket can never hold that many.

        Nothing is taken then. A wait means that one request was refused with status 429 and sent again later.
        """
        if need > self._capacity:
            return None
        self._level = min(self._capacity, self._level + max(0.0, at_s - self._at_s) * self._per_second)
        self._at_s = max(self._at_s, at_s)
        wait_s = max(0.0, (need - self._level) / self._per_second)
        self._level += wait_s * self._per_second - need
        self._at_s += wait_s
        return wait_s
