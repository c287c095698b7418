"""Which models there are: window, prices, vendor; from the user's file, then genai-prices, then our own additions."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from ctxsim.errors import InputError
from ctxsim.provider.prices import Prices, Rate
from ctxsim.tokenizers.models import bare


class Model(msgspec.Struct, frozen=True):
    """What is known of a model; None is not known."""

    id: str
    vendor: str
    window: int | None
    prices: Prices | None


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One `[[model]]` of an override file: `id` may hold * and ?; `effective` is the first day it holds."""

    id: str
    vendor: str | None = None
    window: int | None = None
    prices: Prices | None = None
    effective: date | None = None
    source: str = ""


class _File(msgspec.Struct, forbid_unknown_fields=True):
    model: tuple[Entry, ...] = ()


LATEST = date(2100, 1, 1)
"""A day after every price change that is known."""

_VENDORS = {"anthropic": "anthropic", "openai": "openai", "google": "google", "deepseek": "deepseek", "azure": "openai"}


def read_overrides(path: Path) -> tuple[Entry, ...]:
    """Return the entries of a user's TOML file. Raises InputError naming the field that doesn't fit."""
    try:
        return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), _File).model
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise InputError(path, str(error)) from None


@cache
def _additions() -> tuple[Entry, ...]:
    text = files("ctxsim.provider").joinpath("models.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), _File).model


def _matching(entries: tuple[Entry, ...], model: str, on: date) -> Entry | None:
    """The entry in force on a day: of those that fit, the one that came into force last.

    An entry's id may have a router's prefix like a recorded name, or not.
    """
    names = {model.lower(), bare(model)}
    fitting = [
        entry
        for entry in entries
        if any(fnmatchcase(name, pattern) for name in names for pattern in (entry.id.lower(), bare(entry.id)))
        and (entry.effective is None or entry.effective <= on)
    ]
    return max(fitting, key=lambda entry: entry.effective or date.min, default=None)


def _rate(value: Any) -> Rate | None:
    if value is None:
        return None
    if isinstance(value, Decimal | int | float):
        return float(value)
    return ((0, float(value.base)), *((int(tier.start), float(tier.price)) for tier in value.tiers))


def _listed(name: str, on: date) -> Model | None:
    from genai_prices import data_snapshot

    try:
        provider, model = data_snapshot.get_snapshot().find_provider_model(name, None, None, None)
    except LookupError:
        return None
    return _from_listed(provider, model, on)


def _from_listed(provider: Any, model: Any, on: date) -> Model:
    now = datetime(on.year, on.month, on.day, 12, tzinfo=UTC)
    found = model.get_prices(now)
    vendor = "anthropic" if "claude" in model.id else _VENDORS.get(provider.id, "none")
    if vendor == "openai" and found.cache_write_mtok:
        vendor = "openai-paid-writes"
    prices = None
    if found.input_mtok is not None and found.output_mtok is not None:
        prices = Prices(
            input=_rate(found.input_mtok) or 0.0,
            output=_rate(found.output_mtok) or 0.0,
            cache_read=_rate(found.cache_read_mtok),
            cache_write=_rate(found.cache_write_mtok),
            cache_write_long=_rate(getattr(found, "cache_write_1h_mtok", None)),
            source=f"{'latest of ' if on == LATEST else ''}genai-prices {version('genai-prices')}",
            effective=on if on != LATEST else None,
        )
    return Model(model.id, vendor, model.context_window, prices)


def find_model(model: str, on: date | None = None, overrides: tuple[Entry, ...] = ()) -> Model | None:
    """Return what is known of a model on a day (default: by the latest prices), or None.

    Names as recorded are understood: a router's or region's prefix is left out.
    """
    name = bare(model)
    if not name:
        return None
    day = on or LATEST
    listed = _listed(name, day)
    own, added = _matching(overrides, model, day), _matching(_additions(), model, day)
    if own is None and listed is None and added is None:
        return None
    chosen = [entry for entry in (own, listed, added) if entry is not None]
    return Model(
        id=listed.id if listed else name,
        vendor=own.vendor
        if own and own.vendor
        else next((entry.vendor for entry in chosen if entry.vendor and entry.vendor != "none"), "none"),
        window=next((entry.window for entry in chosen if entry.window), None),
        prices=next((_dated(entry) for entry in chosen if entry.prices), None),
    )


def _dated(entry: Entry | Model) -> Prices | None:
    """An entry's prices, with its source and date where the prices don't say."""
    prices = entry.prices
    if prices is None or isinstance(entry, Model):
        return prices
    return msgspec.structs.replace(
        prices, source=prices.source or entry.source or "override file", effective=prices.effective or entry.effective
    )


def all_models(on: date | None = None) -> Iterator[tuple[str, Model]]:
    """Return every model of the price list with its provider, in the list's order."""
    from genai_prices import data_snapshot

    day = on or LATEST
    for provider in data_snapshot.get_snapshot().providers:
        for model in provider.models:
            yield provider.id, _from_listed(provider, model, day)
