"""Prices as genai-prices lists them: of a day, by hour of the day, by how requests are served, and all of a model."""

from collections.abc import Sequence
from datetime import date, time
from decimal import Decimal
from functools import cache
from importlib.metadata import version
from itertools import takewhile
from typing import Any

import msgspec

from ctxsim.simulator.provider.prices import Hours, Prices, Rate


def from_list(prices: Any, on: date) -> Prices | None:
    """Return a model's prices on a day, or None without one for input and output.

    `effective` is the day from which they held, None if the list doesn't say. `hours` are the times of the day, UTC,
    with other prices, last listed first: in genai-prices the last entry that fits decides, in `Prices` the first.
    """
    entries = _entries(prices)
    # Hours belong to the dated entry before them: an hour listed before a change of price ended with it.
    dated = max((n for n, (since, hours, _) in enumerate(entries) if hours is None and began(since, on)), default=0)
    since, _, base = entries[dated]
    if base is None:
        return None
    among = takewhile(lambda entry: entry[1] is not None, entries[dated + 1 :])
    timed = [Hours(*hours, made) for later, hours, made in among if hours and made and began(later, on)]
    return msgspec.structs.replace(base, source=_list(), effective=since, hours=tuple(reversed(timed)))


def every_price(prices: Any, host: str = "") -> list[Prices]:
    """Return each price that a model is listed at, in the list's order; `host`: the seller, if not the maker."""
    source = f"{_list()}{f', {host}' if host else ''}"
    found: list[Prices] = []
    first: date | None = None
    for since, hours, made in _entries(prices):
        first = since if hours is None else first
        if made:
            when = f", {hours[0]:%H:%M} to {hours[1]:%H:%M} UTC" if hours else ""
            found.append(msgspec.structs.replace(made, source=source + when, effective=first))
    return found


@cache
def _list() -> str:
    return f"genai-prices {version('genai-prices')}"


def _entries(prices: Any) -> list[tuple[date | None, tuple[time, time] | None, Prices | None]]:
    """Each listed price with its first day and its hours of the day, where it has any."""
    listed = prices if isinstance(prices, Sequence) else [prices]
    found = []
    for entry in listed:
        rule = getattr(entry, "constraint", None)
        since = _since(entry)
        start, end = getattr(rule, "start_time", None), getattr(rule, "end_time", None)
        hours = None if start is None or end is None else (start.replace(tzinfo=None), end.replace(tzinfo=None))
        found.append((since, hours, _prices(getattr(entry, "prices", entry))))
    return found


def search_usd(prices: Any, on: date) -> float | None:
    """Return USD for 1,000 searches of the provider on a day; None if the list doesn't say."""
    listed = prices if isinstance(prices, Sequence) else [prices]
    held = [getattr(entry, "prices", entry) for entry in listed if began(_since(entry), on)]
    usd = getattr(held[-1], "web_searches_kcount", None) if held else None
    return float(usd) if isinstance(usd, Decimal | int | float) else None


def _since(entry: Any) -> date | None:
    return getattr(getattr(entry, "constraint", None), "start_date", None)


def began(since: date | None, on: date) -> bool:
    """Return whether what has begun on a day, None for a day before all, holds on another."""
    return since is None or since <= on


def _prices(found: Any) -> Prices | None:
    rates = _rates(found)
    return Prices(**rates) if rates.keys() >= {"input", "output"} else None


def _rates(found: Any) -> dict[str, Any]:
    """The prices that an entry has, by our names."""
    names = {name: name for name in ("input", "output", "cache_read", "cache_write")}
    listed = {**names, "cache_write_long": "cache_write_1h"}
    rates = {name: _rate(getattr(found, f"{theirs}_mtok", None)) for name, theirs in listed.items()}
    return {name: rate for name, rate in rates.items() if rate is not None}


def _rate(value: Any) -> Rate | None:
    if value is None:
        return None
    if isinstance(value, Decimal | int | float):
        return float(value)
    return ((0, float(value.base)), *((int(tier.start), float(tier.price)) for tier in value.tiers))


_CONTEXT = {"speed", "service_tier", "processing"}
"""What the list calls the ways of serving a request: fast mode, OpenAI's and Google's tiers, batches."""


def as_served(model: Any, prices: Prices, on: date, words: Sequence[str]) -> Prices:
    """Return a model's prices with what the list has for requests served as the words say, and in `unpriced` the words
    for which it has nothing. For each price the first variant that fits decides.
    """
    unpriced = []
    for word in words:
        listed = [
            one for one in model.price_variants or ()
            if one.when.keys() <= _CONTEXT and {*one.when.values()} == {word} and began(_since(one), on)
        ]  # fmt: skip
        if listed:
            rates = {name: rate for one in reversed(listed) for name, rate in _rates(one.prices).items()}
            prices = msgspec.structs.replace(prices, source=f"{prices.source}, {word}", **rates)
        elif f"-{word}" not in model.id.lower():
            unpriced.append(word)
    return msgspec.structs.replace(prices, unpriced=" ".join(unpriced))
