"""Known models with window, prices and vendor, from the user's file, genai-prices and our own additions.

genai-prices gives a model's prices on a day, by hour of the day, and all that it ever listed.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date, time
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from importlib.metadata import version
from itertools import takewhile
from pathlib import Path
from typing import Any

import msgspec

from ctxsim.counting.tokenizers import MARK, REGIONS, bare
from ctxsim.errors import InputError
from ctxsim.plugins.files import small_file, toml_values
from ctxsim.simulator.provider.prices import Hours, Prices, Rate
from ctxsim.simulator.provider.vendor import Positive, load_vendor, vendor_of


class Model(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model, or a `[[model]]` of an override file, whose `id` may hold * and ?, and several patterns with commas.

    '' and None mean that a value is unknown. `effective` is the first day on which the entry holds.
    """

    id: str
    vendor: str | None = None
    window: Positive | None = None
    prices: Prices | None = None
    effective: date | None = None
    source: str = ""


class _File(msgspec.Struct, forbid_unknown_fields=True):
    model: tuple[Model, ...] = ()


def read_overrides(path: Path) -> tuple[Model, ...]:
    """Return the entries of a user's TOML file. Raises InputError naming the field that doesn't fit."""
    try:
        return msgspec.convert(toml_values(small_file(path), path), _File).model
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror}") from None
    except msgspec.ValidationError as error:
        fields = ", ".join(Model.__struct_fields__)
        raise InputError(path, f"{error}; a file of models holds [[model]] tables with {fields}") from None


@cache
def _additions() -> tuple[Model, ...]:
    return msgspec.toml.decode(Path(__file__).with_name("models.toml").read_bytes(), type=_File).model


def _fitting(entries: tuple[Model, ...], model: str) -> list[Model]:
    """The entries of a model. An entry's id, like a recorded name, may have a router's prefix."""
    names = {model.lower(), bare(model)}
    return [
        entry
        for entry in entries
        if any(
            fnmatchcase(name, of(one))
            for name in names
            for one in map(str.strip, entry.id.split(","))
            for of in (str.lower, bare)
        )
    ]


def _matching(entries: tuple[Model, ...], model: str, on: date) -> Model | None:
    """The entry in force on a day: of those that fit, the one that came into force last."""
    begun = [entry for entry in _fitting(entries, model) if _began(entry.effective, on)]
    return max(begun, key=lambda entry: entry.effective or date.min, default=None)


def _snapshot() -> Any:
    # Imported only when a model is looked up, because it is large.
    from genai_prices import data_snapshot

    return data_snapshot.get_snapshot()


@lru_cache(256)
def _entries_of(model: str) -> tuple[list[Any], list[Any]]:
    """The price list's entries for a model, and the same with the one first whose price is paid.

    First its maker's, then that of the seller whom the list's own lookup finds, then those that sell it by the name
    with its prefix. These come first in price for an inference profile of a region, for a host of others' models, and
    if the maker's entry fits a name with a prefix only by a pattern. Bedrock's price of its own names, as in
    `global.anthropic.NAME`, comes last.
    """
    snapshot, name, full = _snapshot(), bare(model), model.lower().removesuffix(MARK)
    host, prefixed, rest = full.partition("/")
    profile = full.rpartition("/")[2]
    regional = profile.startswith(REGIONS)
    maker = load_vendor(vendor_of(name)).listed_as
    made = _sold(maker, name) + _sold(maker, name.replace(".", "-"))
    with suppress(LookupError):
        made.append(snapshot.find_provider_model(name, None, None, None)[1])
    sold, hosted = _sold("aws", profile if regional else "") + _sold("openrouter", full), _sold(host, rest)
    # OpenRouter takes what the maker takes.
    others = bool(hosted) and host not in (maker, "openrouter")
    sold = hosted + sold if others else sold + hosted
    exact = made and made[0].id.lower().replace(".", "-") == name.replace(".", "-")
    own = made and not regional and not others and (exact or not prefixed)
    bedrock = _sold("aws", profile) if re.match(r"[a-z]+\.", profile) else []
    return made + sold + bedrock, (made + sold if own else sold + made) + bedrock


def _sold(seller: str, name: str) -> list[Any]:
    """A seller's entry of this id, else the one that fits this name; none if it sells no such model."""
    found = [
        next((model for model in one.models if model.id.lower() == name), None) or one.find_model(name)
        for one in _snapshot().providers
        if one.id == seller
    ]
    return [entry for entry in found if entry is not None]


def _listed(model: str, on: date) -> Model | None:
    """A model by the first of its entries, with the first known window, and the first price of those that are paid."""
    entries, paid = ([_from_listed(entry, on) for entry in each] for each in _entries_of(model))
    window = next((entry.window for entry in entries if entry.window), None)
    # The ordinary model's price, which the list gives for some fast modes, isn't theirs.
    fast = "-fast" in bare(model)
    prices = next((entry.prices for entry in paid if entry.prices and (not fast or "fast" in entry.id.lower())), None)
    # A seller's entry may lack classes of cached tokens: they cost what the maker takes if input and output do.
    for other in [entry.prices for entry in entries if entry.prices]:
        if prices is None or (other.input, other.output) != (prices.input, prices.output):
            continue
        if prices.cache_read is None:
            prices = msgspec.structs.replace(prices, cache_read=other.cache_read, cache_write=other.cache_write)
        if prices.cache_write_long is None:
            prices = msgspec.structs.replace(prices, cache_write_long=other.cache_write_long)
    since = prices.effective if prices else None
    return msgspec.structs.replace(entries[0], window=window, prices=prices, effective=since) if entries else None


def _from_listed(model: Any, on: date) -> Model:
    prices = from_list(model.prices, on)
    vendor = vendor_of(model.id)
    if vendor == "openai" and prices and prices.cache_write:
        vendor = "openai-paid-writes"
    since = load_vendor(vendor).weekdays_since
    if prices and since and since <= on:
        hours = tuple(msgspec.structs.replace(one, weekdays=True) for one in prices.hours)
        prices = msgspec.structs.replace(prices, hours=hours)
    return Model(model.id, vendor, model.context_window, prices)


def find_model(
    model: str,
    on: date | None = None,
    overrides: tuple[Model, ...] = (),
    recorded: bool = False,
    today: date | None = None,
) -> Model | None:
    """Return what is known of a model on a day, or None.

    Without a day it is the day of the run, `today` or else this day, which the prices then name.
    Recorded names are understood: the prefix of a router or a region is removed. A `recorded` name is of a model that
    existed: if it is in no list, it gets the rules of the vendor that its name shows. Of the price list and our own
    additions, the entry that came into force last holds.
    """
    name = bare(model)
    if not name:
        return None
    day = on or today or date.today()
    listed = _listed(model, day)
    own, added = _matching(overrides, model, day), _matching(_additions(), model, day)
    vendor = vendor_of(name)
    # An addition without a date only fills gaps.
    by_date = sorted(filter(None, (listed, added)), key=lambda entry: entry.effective or date.min, reverse=True)
    chosen = [*([own] if own else []), *by_date]
    if not chosen and not (recorded and vendor != "none"):
        return None
    vendors = [own.vendor if own else "", *(entry.vendor for entry in chosen if entry.vendor != "none"), vendor]
    paid = next((entry for entry in chosen if entry.prices), Model(""))
    # A user's own entry without a date holds on every day.
    by_day = on is None and (paid is not own or paid.effective is not None)
    return Model(
        id=listed.id if listed else name,
        vendor=next(filter(None, vendors)),
        window=next((entry.window for entry in chosen if entry.window), None),
        prices=_dated(paid, day if by_day else None),
    )


def candidates(model: str, overrides: tuple[Model, ...] = ()) -> list[Prices]:
    """Return every price that a model was ever listed at, each once, with its source and the day it came into force.

    From the user's file, our additions, then the price list: its maker's entry first, then those of other hosts (the
    source names them), each with all its changes. A fit to the recorded cost can tell which one held.
    """
    maker = load_vendor(vendor_of(model)).listed_as
    found = [_dated(entry) for entries in (overrides, _additions()) for entry in _fitting(entries, model)]
    listed = []
    for provider in _snapshot().providers:
        one = provider.find_model(bare(model)) or provider.find_model(model.lower())
        if one is not None:
            listed.append((provider.id != maker, provider.id, one))
    for other, host, one in sorted(listed, key=lambda entry: entry[:2]):
        found += _every_price(one.prices, host if other else "")
    return list(dict.fromkeys(prices for prices in found if prices is not None))


def _dated(entry: Model, on: date | None = None) -> Prices | None:
    """An entry's prices, with its source and date where the prices don't say, and the day of the run."""
    prices = entry.prices
    return prices and msgspec.structs.replace(
        prices,
        source=prices.source or entry.source or "override file",
        effective=prices.effective or entry.effective,
        on=on,
    )


@cache
def model_ids() -> frozenset[str]:
    """Return the names of all models of the price list. Their prices aren't read, which would take a while."""
    return frozenset(model.id for provider in _snapshot().providers for model in provider.models)


def all_models() -> Iterator[tuple[str, Model]]:
    """Return every model of the price list with its provider, in the list's order, by this day's prices."""
    for provider in _snapshot().providers:
        for model in provider.models:
            yield provider.id, _from_listed(model, date.today())


def from_list(prices: Any, on: date) -> Prices | None:
    """Return a model's prices on a day, or None without one for input and output.

    `effective` is the day from which they held, None if the list doesn't say. `hours` are the times of the day, UTC,
    with other prices, last listed first: in genai-prices the last entry that fits decides, in `Prices` the first.
    """
    entries = _entries(prices)
    # Hours belong to the dated entry before them: an hour listed before a change of price ended with it.
    dated = max((n for n, (since, hours, _) in enumerate(entries) if hours is None and _began(since, on)), default=0)
    since, _, base = entries[dated]
    if base is None:
        return None
    among = takewhile(lambda entry: entry[1] is not None, entries[dated + 1 :])
    timed = [Hours(*hours, made) for later, hours, made in among if hours and made and _began(later, on)]
    return msgspec.structs.replace(base, source=_list(), effective=since, hours=tuple(reversed(timed)))


def _every_price(prices: Any, host: str = "") -> list[Prices]:
    """Return each price that a model is listed at, in the list's order; `host`: the seller, if not the maker."""
    source = f"{_list()}{f', {host}' if host else ''}"
    found: list[Prices] = []
    began: date | None = None
    for since, hours, made in _entries(prices):
        began = since if hours is None else began
        if made:
            when = f", {hours[0]:%H:%M} to {hours[1]:%H:%M} UTC" if hours else ""
            found.append(msgspec.structs.replace(made, source=source + when, effective=began))
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
        since = getattr(rule, "start_date", None)
        start, end = getattr(rule, "start_time", None), getattr(rule, "end_time", None)
        hours = None if start is None or end is None else (start.replace(tzinfo=None), end.replace(tzinfo=None))
        found.append((since, hours, _prices(getattr(entry, "prices", entry))))
    return found


def _began(since: date | None, on: date) -> bool:
    return since is None or since <= on


def _prices(found: Any) -> Prices | None:
    classes = ("input", "output", "cache_read", "cache_write", "cache_write_1h")
    plain, output, read, write, long = (_rate(getattr(found, f"{name}_mtok", None)) for name in classes)
    return None if plain is None or output is None else Prices(plain, output, read, write, long)


def _rate(value: Any) -> Rate | None:
    if value is None:
        return None
    if isinstance(value, Decimal | int | float):
        return float(value)
    return ((0, float(value.base)), *((int(tier.start), float(tier.price)) for tier in value.tiers))
