"""genai-prices as our prices: what it lists for a model on a day, by hour of the day, and ever."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, time
from decimal import Decimal
from functools import cache
from importlib.metadata import version
from typing import Any

import msgspec

from ctxsim.simulator.provider.prices import Hours, Prices, Rate


def from_list(prices: Any, on: date, latest: bool = False) -> Prices | None:
    """Return a model's prices on a day, or None without one for input and output.

    `effective` is the day from which they held, None if the list doesn't say. `hours` are the times of the day, UTC,
    at which others hold: a list in which the last entry that fits decides, as genai-prices reads it.
    """
    entries = _entries(prices)
    # Hours belong to the dated entry before them: an hour listed before a change of price ended with it.
    dated = max((n for n, (since, hours, _) in enumerate(entries) if hours is None and _began(since, on)), default=0)
    since, _, base = entries[dated]
    timed = []
    for later, hours, found in entries[dated + 1 :]:
        if hours is None:
            break
        if _began(later, on) and (made := _prices(found)):
            timed.append(Hours(hours[0], hours[1], made))
    made = _prices(base)
    if made is None:
        return None
    source = f"{'latest of ' if latest else ''}{_list()}"
    return msgspec.structs.replace(made, source=source, effective=since, hours=tuple(reversed(timed)))


def every_price(prices: Any, host: str = "") -> list[Prices]:
    """Return each price that a model is listed at, in the list's order; `host` names who sells it, if not its maker."""
    source = f"{_list()}{f', {host}' if host else ''}"
    found: list[Prices] = []
    began: date | None = None
    for since, hours, one in _entries(prices):
        began = since if hours is None else began
        if made := _prices(one):
            when = f", {hours[0]:%H:%M} to {hours[1]:%H:%M} UTC" if hours else ""
            found.append(msgspec.structs.replace(made, source=source + when, effective=began))
    return found


@cache
def _list() -> str:
    return f"genai-prices {version('genai-prices')}"


def _entries(prices: Any) -> list[tuple[date | None, tuple[time, time] | None, Any]]:
    """Each listed price with its first day and its hours of the day, where it has any."""
    listed = prices if isinstance(prices, Sequence) else [prices]
    found = []
    for entry in listed:
        rule = getattr(entry, "constraint", None)
        since = getattr(rule, "start_date", None)
        start, end = getattr(rule, "start_time", None), getattr(rule, "end_time", None)
        hours = None if start is None or end is None else (start.replace(tzinfo=None), end.replace(tzinfo=None))
        found.append((since, hours, getattr(entry, "prices", entry)))
    return found


def _began(since: date | None, on: date) -> bool:
    return since is None or since <= on


def _prices(found: Any) -> Prices | None:
    if found.input_mtok is None or found.output_mtok is None:
        return None
    return Prices(
        input=_rate(found.input_mtok) or 0.0,
        output=_rate(found.output_mtok) or 0.0,
        cache_read=_rate(found.cache_read_mtok),
        cache_write=_rate(found.cache_write_mtok),
        cache_write_long=_rate(getattr(found, "cache_write_1h_mtok", None)),
    )


def _rate(value: Any) -> Rate | None:
    if value is None:
        return None
    if isinstance(value, Decimal | int | float):
        return float(value)
    return ((0, float(value.base)), *((int(tier.start), float(tier.price)) for tier in value.tiers))
