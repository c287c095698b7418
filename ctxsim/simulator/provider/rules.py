"""What a provider enforces, as one frozen value; its rate limit is a continuous token bucket on a simulated clock."""

import math
from collections.abc import Sequence
from typing import Any, Literal, Self, TypedDict

import msgspec
import numpy as np

from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.simulator.provider.prices import Prices, Split, rate_at, rates_of
from ctxsim.simulator.provider.vendor import Binding, Breakpoints, Resend, load_vendor
from ctxsim.transcript import Call

Misses = Literal["none", "expected"]
"""Whether cache reads are all that the rules allow, or less by the share that caches missed in recordings."""

SummaryMode = Literal["extractive", "empty", "clairvoyant"]


class RateLimit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`tokens_per_minute` is both the capacity of the bucket and its refill per minute; requests likewise.

    The vendor's rule for the demand of a request: whether cache reads count, how many tokens are reserved for output,
    and whether a refused request counts towards both.
    """

    tokens_per_minute: int
    requests_per_minute: int | None = None
    counts_cache_reads: bool = True
    reserves_max_tokens: int = 0
    failed_requests_count: bool = False

    def __post_init__(self) -> None:
        limits = [self.tokens_per_minute, *([] if self.requests_per_minute is None else [self.requests_per_minute])]
        if min(limits) <= 0 or self.reserves_max_tokens < 0:
            raise ValueError("tokens_per_minute and requests_per_minute must be positive")

    def demand(self, split: Split) -> int:
        """Tokens that a request takes from the bucket: its input, or what is reserved for output if that is more."""
        return max(split.total - (0 if self.counts_cache_reads else split.read), self.reserves_max_tokens)

    def describe(self) -> str:
        """Return the limit as text for people."""
        free = "" if self.counts_cache_reads else ", cache reads free"
        return f"{self.tokens_per_minute:,} input tokens per minute{free}"


def vendors_limit(vendor: str, reserved_output: int) -> dict[str, Any]:
    """Return the fields of a rate limit that are the vendor's rule: what a request takes from it."""
    rule = load_vendor(vendor).rate
    return {
        "counts_cache_reads": rule.counts_cache_reads,
        "reserves_max_tokens": reserved_output if rule.reserves_max_tokens else 0,
        "failed_requests_count": rule.failed_requests_count,
    }


class Other(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Another model that calls of a recording went to, or another way in which they were `served` (see `Usage`): its
    name in the log, its id, and its prices.
    """

    name: str
    model: str
    prices: Prices
    served: str = ""


class ProviderFields(TypedDict, total=False):
    """The fields of `Provider` that a user can set. They override a scenario and the recorded model."""

    tokenizer: str | None
    window: int | None
    reserved_output: int | None
    model: str | None
    vendor: str | None
    framing: str | None
    cache: str | None
    breakpoints: Breakpoints | None
    long_cache: bool | None
    reasoning: Resend | None
    thinking: Binding | None
    misses: Misses | None
    rate_limit: RateLimit | None
    prices: Prices | None
    usage_factor: float | None
    pace_s: float | None
    summaries: SummaryMode | None


class Provider(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rules of one mock provider. The defaults are for an unknown model.

    `window` and `reserved_output` are in tokens. `pace_s` is the number of seconds from one request's start to the next
    if the recording has no times. If the provider's own tokenizer isn't public, `tokens_factor` is how many of the
    provider's tokens one token of `tokenizer` stands for. `size` names the source of this factor, and of the size of
    the head (system prompt and tools) where the log lacks it. `framing` and `cache` name the vendor whose rules hold,
    or `none`. Without `prices` the cost is unknown. Calls to `others` have their prices and a cache of their own, and
    otherwise the same rules. `usage_factor` is the share of the real usage that the provider
    reports to policies: 1, less than 1 if it reports usage wrongly, or 0 if it reports none.
    """

    tokenizer: str = "o200k_base"
    window: int = 200_000
    reserved_output: int = 0
    tokens_factor: float = 1.0
    size: Literal["counted", "fitted", "prior", "given"] = "counted"
    model: str = ""
    vendor: str = "none"
    framing: str = "none"
    cache: str = "none"
    breakpoints: Breakpoints = "last-two-user"
    long_cache: bool = False
    reasoning: Resend = "never"
    thinking: Binding = "none"
    misses: Misses = "none"
    rate_limit: RateLimit | None = None
    prices: Prices | None = None
    usage_factor: float = 1.0
    pace_s: float = 0.0
    summaries: SummaryMode = "extractive"
    others: tuple[Other, ...] = ()
    origin: str = "default"

    def __post_init__(self) -> None:
        if self.window >= 2**63:
            raise ValueError("window must be less than 2^63 tokens")
        others = (self.reserved_output, self.pace_s, self.usage_factor, self.tokens_factor)
        if self.window <= 0 or self.tokens_factor == 0 or not all(0 <= one < math.inf for one in others):
            least = "window and tokens_factor must be positive, reserved_output, pace_s and usage_factor not negative"
            raise ValueError(f"{least}, and all finite")
        for vendor in (self.vendor, self.framing, self.cache):
            load_vendor(vendor)

    def of(self, call: Call) -> Self:
        """Return the provider with the model and prices that hold for a call."""
        other = next((one for one in self.others if (one.name, one.served) == (call.model, call.served)), None)
        return msgspec.structs.replace(self, model=other.model, prices=other.prices) if other else self

    def counter(self, known: Counter | None = None) -> Counter:
        """Return a counter of this provider's tokens. It shares the memo of `known` if that has the same tokenizer.

        Raises UnknownName for its tokenizer.
        """
        return Counter(open_tokenizer(self.tokenizer), self.tokens_factor, known)

    def read_and_write_usd(self, input_tokens: int) -> tuple[float, float]:
        """Return USD per token of a cache read and of a write; that of input where there is no cache, and for writes
        that the vendor doesn't bill. `prices` must be known.
        """
        prices = self.prices
        assert prices is not None
        read, write, plain, _ = rates_of(prices, self.long_cache)
        read = plain if self.cache == "none" else read
        write = write if load_vendor(self.cache).cache.bills_writes else plain
        return rate_at(read, input_tokens) / 1e6, rate_at(write, input_tokens) / 1e6

    def describe(self) -> str:
        """One line for people: what was assumed and where from."""
        limit = self.rate_limit.describe() if self.rate_limit else "no rate limit"
        reserved = f" ({self.reserved_output:,} reserved for output)" if self.reserved_output else ""
        prices = self.prices.describe() if self.prices else "prices unknown"
        model = f"{self.model}, " if self.model else ""
        times = f"{self.tokens_factor:g} x " if self.tokens_factor != 1 else ""
        return (
            f"{model}window {self.window:,}{reserved}, tokenizer {times}{self.tokenizer}, framing {self.framing}, "
            f"cache {self.cache}, {limit}, {prices} [{self.origin}]"
        )


class Bucket:
    """The token bucket of a rate limit; it starts full. Times are simulated seconds and never decrease."""

    def __init__(self, per_minute: int) -> None:
        self._capacity = float(per_minute)
        self._per_second = per_minute / 60
        self.level = self._capacity, 0.0
        """The tokens in the bucket, and the time at which it held them."""

    def _at(self, at_s: float) -> float:
        level, then_s = self.level
        return min(self._capacity, level + max(0.0, at_s - then_s) * self._per_second)

    def wait_s(self, demand: int, at_s: float) -> float | None:
        """Return how long to wait until the bucket holds `demand`; None if it can never hold that many."""
        if demand > self._capacity:
            return None
        # A nanosecond is what floating point lost.
        return max(0.0, round((demand - self._at(at_s)) / self._per_second, 9))

    def take(self, demand: int, at_s: float) -> None:
        """Take `demand` tokens at `at_s`. The level may fall below 0 by the tokens that a refused request took."""
        self.level = self._at(at_s) - demand, max(self.level[1], at_s)


ROUNDS = 1_000
"""Most iterations of `smallest_quota`. A handful is usual; the limit makes it end on any recording."""


LATEST_S = 1e12
"""Later times count as this second, which is past all dates."""


def smallest_quota(requests: Sequence[tuple[float, int]]) -> int:
    """Return the smallest tokens-per-minute with which none of these requests would have waited.

    `requests` are (second, tokens demanded) in order. A bucket of q per minute lets all pass iff no stretch of
    consecutive requests demands more than its capacity and refill: q >= tokens / (1 + minutes). Dinkelbach's method for
    ratios: set q to what the worst served stretch needs, until q serves all.
    """
    if not requests:
        return 1
    # NaN and negative seconds count as second 0.
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
        # Over pauses of weeks the differences above lose digits, so stop when the quota no longer rises.
        if not better > quota * (1 + 1e-12):
            break
        quota = better
    return max(1, math.ceil(quota * (1 - 1e-12)))
