"""Dollars: what each class of token costs under one model's dated prices; and how often caches miss.

The replay stays deterministic: it bills what the vendor's rule lets a cache read. A table gives the share of those
reads that caches missed in recordings, by vendor and pause. A bill's 95 % interval comes from it. The table is measured
by `python -m evidence.priors FOLDER`.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from functools import cache
from pathlib import Path
from typing import Annotated

import msgspec

Usd = Annotated[float, msgspec.Meta(ge=0, le=1_000_000)]
"""USD per million tokens. The bounds hold for files; infinity and what is no number are outside."""

Rate = Usd | Annotated[tuple[tuple[Annotated[int, msgspec.Meta(ge=0)], Usd], ...], msgspec.Meta(min_length=1)]
"""USD per million tokens; or steps `(from input tokens, price)`, by which the whole request is charged."""


DAY_S = 86_400
"""Only day of the week and time decide a price: long waiting may lead to times past all valid dates."""


class Split(msgspec.Struct, frozen=True, gc=False):
    """The input tokens of one request by price class."""

    read: int
    write: int
    uncached: int

    @property
    def total(self) -> int:
        """All input tokens."""
        return self.read + self.write + self.uncached


class Prices(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """List prices. A class without a price of its own costs what input costs.

    `effective` is the day from which they hold, None if unknown. `on` is the day of the run if they were looked up for
    it, as there is no day of a recording. `hours` are the times of the day with other prices,
    of which the first that fits holds; `zero_s` is when the simulated clock began, seconds since 1970 UTC. `unpriced`
    is how requests were served (as in `Usage.served`) where no price of that is known: these are the standard ones.
    """

    input: Rate
    output: Rate
    cache_read: Rate | None = None
    cache_write: Rate | None = None
    cache_write_long: Rate | None = None
    source: str = ""
    effective: date | None = None
    hours: tuple[Hours, ...] = ()
    zero_s: float | None = None
    on: date | None = None
    unpriced: str = ""

    def at(self, now_s: float) -> Prices:
        """Return the prices at a simulated second; if `zero_s` is unknown, those outside all `hours`."""
        if not self.hours or self.zero_s is None:
            return self
        days, second = divmod(self.zero_s + now_s, DAY_S)
        clock = datetime.fromtimestamp(second, UTC).time()
        # The first day of 1970 was a Thursday.
        weekend = (int(days) + 3) % 7 > 4
        return next((one.prices for one in self.hours if one.hold(clock) and not (one.weekdays and weekend)), self)

    def times(self, factor: float) -> Prices:
        """Return all prices times a factor."""

        def made(rate: Rate | None) -> Rate | None:
            if isinstance(rate, tuple):
                return tuple((start, round(price * factor, 9)) for start, price in rate)
            return None if rate is None else round(rate * factor, 9)

        names = ("input", "output", "cache_read", "cache_write", "cache_write_long")
        hours = tuple(msgspec.structs.replace(one, prices=one.prices.times(factor)) for one in self.hours)
        return msgspec.structs.replace(self, hours=hours, **{name: made(getattr(self, name)) for name in names})

    def describe(self) -> str:
        """For people: source, the day of the run if they are of that day, and the day from which they hold."""
        day = f" on {self.on}" if self.on else ""
        dated = f", since {self.effective}" if self.effective else ""
        timed = ", others by hour of the day" if self.hours else ""
        standard = f", as no price is known of {self.unpriced}" if self.unpriced else ""
        return f"prices: {self.source or 'stated'}{day}{dated}{timed}{standard}"


class Hours(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Prices that hold each day, or with `weekdays` from Monday to Friday, from `start` until `end`, UTC; an interval
    may pass midnight.
    """

    start: time
    end: time
    prices: Prices
    weekdays: bool = False

    def hold(self, clock: time) -> bool:
        """Whether they hold at a time of the day."""
        if self.end < self.start:
            return clock >= self.start or clock < self.end
        return self.start <= clock < self.end


class Cost(msgspec.Struct, frozen=True, gc=False):
    """USD of one request by class."""

    read: float = 0.0
    write: float = 0.0
    uncached: float = 0.0
    output: float = 0.0

    @property
    def total(self) -> float:
        """All classes."""
        return self.read + self.write + self.uncached + self.output


def rate_at(rate: Rate, input_tokens: int) -> float:
    """Return USD per million tokens for a request of `input_tokens` tokens."""
    if not isinstance(rate, tuple):
        return rate
    chosen = rate[0][1]
    for start, price in rate:
        # genai-prices charges a tier from the first token above its start.
        if input_tokens > start:
            chosen = price
    return chosen


def cost_of(prices: Prices, split: Split, output_tokens: int, long_lifetime: bool = False) -> Cost:
    """Return the cost of a request. Price steps go by all its input tokens, cached ones too."""
    total = split.total
    amounts = (split.read, split.write, split.uncached, output_tokens)
    rates = rates_of(prices, long_lifetime)
    return Cost(*(tokens * rate_at(rate, total) / 1e6 for tokens, rate in zip(amounts, rates, strict=True)))


def rates_of(prices: Prices, long_lifetime: bool) -> tuple[Rate, Rate, Rate, Rate]:
    """Return the prices of tokens read, written and uncached, and of output."""
    plain, listed = prices.input, prices.cache_write
    if long_lifetime and prices.cache_write_long is not None:
        listed = prices.cache_write_long
    read, write = (plain if rate is None else rate for rate in (prices.cache_read, listed))
    return read, write, plain, prices.output


class Loss(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Share of expected reads that is lost: mean and 95 % interval; measured on `calls` calls of `sessions` sessions.

    It holds for pauses since the last call of up to `gap_s` seconds.
    """

    vendor: str
    gap_s: float
    mean: float
    low: float
    high: float
    calls: int
    sessions: int


@cache
def load_losses() -> tuple[Loss, ...]:
    """Return the fitted table, ordered by vendor and pause."""
    table = msgspec.toml.decode(Path(__file__).with_name("misses.toml").read_bytes())
    return msgspec.convert(table["loss"], tuple[Loss, ...])


def expected_loss(vendor: str, gap_s: float) -> Loss | None:
    """Return the share of expected reads that a vendor's cache loses after a pause; None where it wasn't measured.

    A second set of rules of a vendor (`openai-paid-writes`) has no share until it is measured.
    """
    # A pause is a difference of sums: 10 seconds may be 10.00000000000003.
    return next((loss for loss in load_losses() if loss.vendor == vendor and round(gap_s, 6) <= loss.gap_s), None)
