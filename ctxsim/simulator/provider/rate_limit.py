"""The rate limit: a continuous token bucket on a simulated clock."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from ctxsim.simulator.provider.prices import Split


class RateLimit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`tokens_per_minute` is both what the bucket holds when full and what flows in per minute; requests likewise.

    What a request demands is the vendor's rule: cached tokens count or not, `max_tokens` is reserved or not, a refused
    request takes its tokens or not.
    """

    tokens_per_minute: int
    requests_per_minute: int | None = None
    counts_cache_reads: bool = True
    reserves_max_tokens: int = 0
    failed_requests_count: bool = False

    def __post_init__(self) -> None:
        if self.tokens_per_minute <= 0 or (self.requests_per_minute or 1) <= 0 or self.reserves_max_tokens < 0:
            raise ValueError("tokens_per_minute and requests_per_minute must be positive")

    def demand(self, split: Split) -> int:
        """Tokens that a request takes from the bucket."""
        read = split.read if self.counts_cache_reads else 0
        return split.write + split.uncached + read + self.reserves_max_tokens

    def describe(self) -> str:
        """For people."""
        free = "" if self.counts_cache_reads else ", cache reads free"
        return f"{self.tokens_per_minute:,} input tokens per minute{free}"


class Bucket:
    """Starts full. Times are simulated seconds and never go back."""

    def __init__(self, per_minute: int) -> None:
        self._capacity = float(per_minute)
        self._per_second = per_minute / 60
        self._level = self._capacity
        self._at_s = 0.0

    def wait_s(self, demand: int, at_s: float) -> float | None:
        """Return how long to wait until the bucket holds `demand`; None if it can never hold that many."""
        if demand > self._capacity:
            return None
        level = min(self._capacity, self._level + max(0.0, at_s - self._at_s) * self._per_second)
        return max(0.0, (demand - level) / self._per_second)

    def take(self, demand: int, at_s: float) -> None:
        """Take `demand` tokens at a time; the level may go below 0 by what a refused request took."""
        self._level = min(self._capacity, self._level + max(0.0, at_s - self._at_s) * self._per_second) - demand
        self._at_s = max(self._at_s, at_s)

    def level(self) -> tuple[float, float]:
        """Return the tokens in the bucket, and when it held them."""
        return self._level, self._at_s

    def set_level(self, level: tuple[float, float]) -> None:
        """Hold so many tokens since then."""
        self._level, self._at_s = level


ROUNDS = 1_000
"""More than any recording needs, where a handful is usual: a loop over what others recorded has a bound."""


LATEST_S = 1e12
"""Beyond all dates."""


def smallest_quota(requests: Sequence[tuple[float, int]]) -> int:
    """Return the smallest tokens-per-minute with which none of these requests would have waited.

    `requests` are (second, tokens demanded) in order. A bucket of q a minute lets all pass iff no stretch of them,
    first to last, demands more than it holds and gains meanwhile: q >= tokens / (1 + minutes). Found by Dinkelbach's
    method for ratios: from the stretch that q serves worst to the q that just serves it, until q serves all.
    """
    if not requests:
        return 1
    # What isn't a number is the beginning.
    seconds = np.minimum(np.fmax(np.array([at_s for at_s, _ in requests], dtype=float), 0.0), LATEST_S)
    minutes = np.maximum.accumulate(seconds) / 60
    demands = np.array([demand for _, demand in requests], dtype=float)
    through = np.cumsum(demands)
    before = through - demands
    quota = float(demands.max())
    for _ in range(ROUNDS):
        gained = quota * minutes
        level = before - gained
        last = int(np.argmax(through - gained - np.minimum.accumulate(level)))
        first = int(np.argmin(level[: last + 1]))
        better = float((through[last] - before[first]) / (1 + minutes[last] - minutes[first]))
        # Over pauses of weeks the differences above lose digits: what counts is whether the quota still rises.
        if not better > quota * (1 + 1e-12):
            break
        quota = better
    return max(1, math.ceil(quota * (1 - 1e-12)))
