"""Known models with window, prices and vendor, from the user's file, genai-prices and our own additions.

genai-prices gives a model's prices on a day, by hour of the day, and all that it ever listed.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import msgspec

from ctxsim.counting.tokenizers import FIREWORKS, MARK, REGIONS, bare
from ctxsim.errors import InputError
from ctxsim.plugins.files import small_file, toml_values
from ctxsim.simulator.provider.listed import as_served, began, every_price, from_list, search_usd
from ctxsim.simulator.provider.prices import Prices, Usd
from ctxsim.simulator.provider.vendor import Positive, load_vendor, vendor_of


class Model(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model, or a `[[model]]` of an override file, whose `id` may hold * and ?, and several patterns with commas.

    '' and None mean that a value is unknown. `effective` is the first day on which the entry holds. `web_search` is USD
    for 1,000 searches of the provider. An id `NAME-WORD` is of requests to NAME that are served so, as in `NAME-fast`.
    """

    id: str
    vendor: str | None = None
    window: Positive | None = None
    prices: Prices | None = None
    effective: date | None = None
    source: str = ""
    web_search: Usd | None = None


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
    begun = [entry for entry in _fitting(entries, model) if began(entry.effective, on)]
    return max(begun, key=lambda entry: entry.effective or date.min, default=None)


def _in_force(entries: tuple[Model, ...], model: str, on: date, words: Sequence[str]) -> Model | None:
    """The entry in force for requests served as the words say, else the model's own, with the words that it lacks."""
    for word in words:
        named = tuple(entry for entry in entries if f"-{word}" in entry.id.lower())
        if found := _matching(named, f"{bare(model)}-{word}", on):
            return _lacking(found, [other for other in words if other != word])
    found = _matching(entries, model, on)
    return found and _lacking(found, words)


def _lacking(entry: Model, words: Sequence[str]) -> Model:
    prices = entry.prices and msgspec.structs.replace(entry.prices, unpriced=" ".join(words))
    return msgspec.structs.replace(entry, prices=prices)


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
    host = _seller(host) if prefixed else ""
    if FIREWORKS in full:
        host, rest = "fireworks", full[full.index(FIREWORKS) :]
    profile = full.rpartition("/")[2]
    regional = profile.startswith(REGIONS)
    maker = load_vendor(vendor_of(name)).listed_as
    same = dict.fromkeys(one.replace(".", dot) for one in (name, name.removesuffix("-fast")) for dot in (".", "-"))
    made = [entry for one in same for entry in _sold(maker, one)]
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


def _seller(prefix: str) -> str:
    """What the list calls the seller of a name's prefix; the prefix if it has none. LiteLLM appends `_ai` to some."""
    with suppress(LookupError):
        return str(_snapshot().find_provider(None, prefix.removesuffix("_ai"), None).id)
    return prefix


def _sold(seller: str, name: str) -> list[Any]:
    """A seller's entry of this id, else the one that fits this name; none if it sells no such model."""
    found = [
        next((model for model in one.models if model.id.lower() == name), None) or one.find_model(name)
        for one in _snapshot().providers
        if one.id == seller
    ]
    return [entry for entry in found if entry is not None]


def _listed(model: str, on: date, words: Sequence[str]) -> Model | None:
    """A model by the first of its entries, with the first known window, and the first price of those that are paid."""
    fast = ["fast"] * ("-fast" in bare(model))
    entries, paid = ([_from_listed(entry, on, [*words, *fast]) for entry in each] for each in _entries_of(model))
    window = next((entry.window for entry in entries if entry.window), None)
    # The standard price of a model isn't that of a model of its own.
    known = (entry.prices for entry in paid if entry.prices)
    prices = next((one for one in known if not (fast and "fast" in one.unpriced.split())), None)
    # A seller's entry may lack classes of cached tokens: they cost what the maker takes if input and output do.
    for other in [entry.prices for entry in entries if entry.prices]:
        if prices is None or (other.input, other.output) != (prices.input, prices.output):
            continue
        if prices.cache_read is None:
            prices = msgspec.structs.replace(prices, cache_read=other.cache_read, cache_write=other.cache_write)
        if prices.cache_write_long is None:
            prices = msgspec.structs.replace(prices, cache_write_long=other.cache_write_long)
    since = prices.effective if prices else None
    search = next((entry.web_search for entry in paid if entry.web_search is not None), None)
    more = {"window": window, "prices": prices, "effective": since, "web_search": search}
    return msgspec.structs.replace(entries[0], **more) if entries else None


def _from_listed(model: Any, on: date, words: Sequence[str] = ()) -> Model:
    """An entry of the list on a day, with its prices for requests that are served as the words say."""
    prices = from_list(model.prices, on)
    if prices and words:
        prices = as_served(model, prices, on, words)
    vendor = vendor_of(model.id)
    if vendor == "openai" and prices and prices.cache_write:
        vendor = "openai-paid-writes"
    since = load_vendor(vendor).weekdays_since
    if prices and since and since <= on:
        hours = tuple(msgspec.structs.replace(one, weekdays=True) for one in prices.hours)
        prices = msgspec.structs.replace(prices, hours=hours)
    return Model(model.id, vendor, model.context_window, prices, web_search=search_usd(model.prices, on))


def find_model(
    model: str,
    on: date | None = None,
    overrides: tuple[Model, ...] = (),
    recorded: bool = False,
    today: date | None = None,
    served: str = "",
) -> Model | None:
    """Return what is known of a model on a day, or None.

    Without a day it is the day of the run, `today` or else this day, which the prices then name.
    Recorded names are understood: the prefix of a router or a region is removed. A `recorded` name is of a model that
    existed: if it is in no list, it gets the rules of the vendor that its name shows. Of the price list and our own
    additions, the entry that came into force last holds. The prices are those of requests `served` so (see `Usage`), as
    far as an entry has them; the vendor's factors are on top, and `Prices.unpriced` is the rest.
    """
    name = bare(model)
    if not name:
        return None
    day = on or today or date.today()
    # The name may say it: us.anthropic.NAME, NAME-fast.
    words = [one for one in served.split() if f".{one}." not in f".{model.lower()}" and not name.endswith(f"-{one}")]
    listed = _listed(model, day, words)
    own, added = (_in_force(entries, model, day, words) for entries in (overrides, _additions()))
    vendor = vendor_of(name)
    # An addition without a date only fills gaps.
    by_date = sorted(filter(None, (listed, added)), key=lambda entry: entry.effective or date.min, reverse=True)
    chosen = [*([own] if own else []), *by_date]
    if not chosen and not (recorded and vendor != "none"):
        return None
    # The list's days are those of prices: an addition with a day states its window too.
    stated = [own, added if added and added.effective else None, *chosen]
    vendors = [own.vendor if own else "", *(entry.vendor for entry in chosen if entry.vendor != "none"), vendor]
    # An entry with the price of how they are served goes before one with the standard price.
    priced = sorted((len(entry.prices.unpriced.split()), n) for n, entry in enumerate(chosen) if entry.prices)
    paid = chosen[priced[0][1]] if priced else Model("")
    # A user's own entry without a date holds on every day.
    by_day = on is None and (paid is not own or paid.effective is not None)
    prices, maker = _dated(paid, day if by_day else None), next(filter(None, vendors))
    return Model(
        id=listed.id if listed else name,
        vendor=maker,
        window=next((entry.window for entry in stated if entry and entry.window), None),
        prices=prices and _in_region(prices, load_vendor(maker).served.us),
        web_search=next((entry.web_search for entry in chosen if entry.web_search is not None), None),
    )


def _in_region(prices: Prices, factor: float) -> Prices:
    """Prices times what the vendor takes for inference in the United States only, if that is what they lack."""
    words = prices.unpriced.split()
    if factor == 1 or "us" not in words:
        return prices
    unpriced = " ".join(word for word in words if word != "us")
    return msgspec.structs.replace(
        prices.times(factor), source=f"{prices.source}, us {factor:g} times", unpriced=unpriced
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
        found += every_price(one.prices, host if other else "")
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
