"""What a provider enforces, as one frozen value, and where that value came from."""

from __future__ import annotations

from typing import Literal, TypedDict

import msgspec

from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.simulator.provider.prices import Prices, rate_at
from ctxsim.simulator.provider.rate_limit import RateLimit
from ctxsim.simulator.provider.vendor import Binding, Breakpoints, Resend, load_vendor

Misses = Literal["none", "expected"]
"""Whether reads are as the cache's rules let them be, or less by what caches miss on recordings."""

SummaryMode = Literal["extractive", "empty", "clairvoyant"]


class ProviderFields(TypedDict, total=False):
    """The fields of `Provider` that anybody may say; they go before what a scenario or a recorded model says."""

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
    or `none`. Without `prices` the cost is unknown. `usage_factor` is the share of the real usage that the provider
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
    origin: str = "default"

    def __post_init__(self) -> None:
        if self.window >= 2**63:
            raise ValueError("window must be less than 2^63 tokens")
        if self.window <= 0 or self.reserved_output < 0 or self.pace_s < 0 or self.tokens_factor <= 0:
            raise ValueError("window and tokens_factor must be positive, reserved_output and pace_s not negative")
        if self.usage_factor < 0:
            raise ValueError("usage_factor must not be negative")
        for vendor in (self.vendor, self.framing, self.cache):
            load_vendor(vendor)

    def counter(self, known: Counter | None = None) -> Counter:
        """Return a memo that counts as this provider does, empty but for what another one knows already.

        Raises UnknownName for its tokenizer.
        """
        return Counter(open_tokenizer(self.tokenizer), self.tokens_factor, known)

    def read_and_write_usd(self, input_tokens: int) -> tuple[float, float]:
        """USD per token to read and to write again, for a request of so many tokens; `prices` must be known."""
        prices = self.prices
        assert prices is not None
        plain = rate_at(prices.input, input_tokens)
        if self.cache == "none":
            return plain / 1e6, plain / 1e6
        read = plain if prices.cache_read is None else rate_at(prices.cache_read, input_tokens)
        listed = prices.cache_write_long if self.long_cache and prices.cache_write_long else prices.cache_write
        write = plain if listed is None else rate_at(listed, input_tokens)
        return read / 1e6, write / 1e6

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
