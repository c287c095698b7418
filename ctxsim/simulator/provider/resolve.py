"""Where the provider comes from: what is given > scenario > what the log states > the recorded model > defaults.

A log shows the cache's lifetime and the window. The end of one session doesn't show the window: sessions that were
compacted and sessions that weren't have the same one.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import msgspec

from ctxsim.counting.tokenizers import MARK, tokenizer_of
from ctxsim.errors import InputError, unknown
from ctxsim.simulator.provider.rules import Other, Provider, vendors_limit
from ctxsim.simulator.provider.vendor import first_fit, load_vendor
from ctxsim.transcript import Transcript

if TYPE_CHECKING:
    from ctxsim.simulator.provider.models import Model

WINDOWS = (200_000, 256_000, 400_000, 1_000_000, 2_000_000)
"""Windows of models: if an accepted request exceeds the model's own window, the smallest that holds it is taken."""


def _of_named(model: str, entries: tuple[Model, ...], today: date | None) -> dict[str, Any]:
    """The fields that follow from a model by the list on that day; none for an unknown model."""
    # Imported only if a model is named.
    from ctxsim.simulator.provider.models import find_model

    found = find_model(model, None, entries, today=today)
    return of_model(found, model) if found else {}


def of_model(model: Model, name: str) -> dict[str, Any]:
    """Return the provider's fields that follow from a model. Unknown fields are left out."""
    vendor = load_vendor(model.vendor or "none")
    return {
        "model": model.id,
        **dict.fromkeys(("vendor", "framing", "cache"), model.vendor),
        "reasoning": vendor.reasoning.of(model.id),
        "thinking": vendor.thinking.of(model.id),
        "tokenizer": tokenizer_of(name)[0],
        "prices": model.prices,
        **({"window": model.window} if model.window else {}),
    }


def _of_recorded(transcript: Transcript, entries: tuple[Model, ...], today: date | None) -> dict[str, Any] | None:
    """The fields that follow from a transcript's model; None for an unknown model."""
    # Prices are those of the day of the first call that has a time, and of its hours.
    began_s = next((call.time_s for call in transcript.calls if call.time_s), None)
    day = datetime.fromtimestamp(began_s, UTC).date() if began_s else None
    kinds = _kinds(transcript)
    if not kinds:
        return None
    from ctxsim.simulator.provider.models import find_model

    models = {kind: found for kind in kinds if (found := find_model(kind[0], day, entries, True, today, kind[1]))}
    if kinds[0] not in models:
        return None
    first, own = kinds[0], models[kinds[0]]
    prices = {
        kind: msgspec.structs.replace(model.prices, zero_s=began_s) if model.prices.hours else model.prices
        for kind, model in models.items()
        if model.prices
    }
    others = [kind for kind in prices if own.prices and (models[kind].id, kind[1]) != (own.id, first[1])]
    return {
        **of_model(own, transcript.model),
        "prices": prices.get(first),
        "others": tuple(Other(kind[0], models[kind].id, prices[kind], kind[1]) for kind in others),
    }


def _kinds(transcript: Transcript) -> list[tuple[str, str]]:
    """The models of the calls with how they were served, each once: their prices differ. The first is the session's."""
    return [*dict.fromkeys((call.model, call.served) for call in transcript.calls if call.model)]


def no_cache(transcript: Transcript) -> bool:
    """Return whether all stated cache reads and writes are 0, in at least three calls, or one if writes are stated."""
    usages = [call.usage for call in transcript.calls if call.usage and call.usage.cache_read_tokens is not None]
    enough = 1 if any(usage.cache_write_tokens is not None for usage in usages) else 3
    return len(usages) >= enough and not any(usage.cache_read_tokens or usage.cache_write_tokens for usage in usages)


def written_long(transcript: Transcript) -> float | None:
    """Return the share of written tokens that the log states for the longer lifetime; None if it states none."""
    usages = [call.usage for call in transcript.calls if call.usage and call.usage.cache_write_long_tokens is not None]
    written = sum(usage.cache_write_tokens or 0 for usage in usages)
    return sum(usage.cache_write_long_tokens or 0 for usage in usages) / written if written else None


SLACK_S = 30.0
"""Seconds added to a cache lifetime, because logs state when a response began, not when it was requested."""


def long_cache(transcript: Transcript, vendor: str, model: str) -> bool:
    """Return whether the longer of a vendor's two cache lifetimes holds: as the log states of most written tokens, else
    as recorded reads show.

    A read after a pause longer than the short one is only possible under the long one; more such pauses must have been
    read across than not.
    """
    stated = written_long(transcript)
    if stated is not None:
        return stated > 0.5
    rule = load_vendor(vendor).cache
    short_s, long_s = rule.lifetime(model, False), rule.lifetime(model, True)
    votes = 0
    for last, this in pairwise(transcript.calls):
        usage = this.usage
        if last.time_s is None or this.time_s is None or usage is None or usage.cache_read_tokens is None:
            continue
        if last.usage and last.comparable and short_s + SLACK_S < this.time_s - last.time_s <= long_s:
            votes += 1 if usage.cache_read_tokens > last.usage.input_tokens / 2 else -1
    return votes > 0


def recorded_window(
    transcript: Transcript, own: int | None, vendor: str, accepted: tuple[int, int] = (0, 1)
) -> tuple[int, str] | None:
    """Return the window that held, and how it is known; None if only the model's `own` window is known.

    `accepted`: the tokens of the largest request that the project's sessions had accepted, and how many sessions had
    one. If the model is used with a smaller window too, and that holds this request, it is returned.
    """
    stated = [call.window for call in transcript.calls if call.window]
    if stated:
        return max(stated), f"window {max(stated):,} stated by the log"
    if transcript.model.endswith(MARK):
        return 1_000_000, "window 1,000,000 stated by the model's name"
    largest = max((call.usage.input_tokens for call in transcript.calls if call.usage), default=0)
    others, sessions = accepted
    largest = max(largest, others)
    among = "this session" if sessions == 1 else f"{sessions} sessions of this project with this model"
    if own is None or largest > own:
        window = next((window for window in WINDOWS if window >= largest), None)
        if not largest or window is None:
            return None
        return window, f"window {window:,} inferred: {largest:,} tokens were accepted in {among}"
    smaller = first_fit(transcript.model, load_vendor(vendor).windows, own)
    if not largest <= smaller < own:
        return None
    held = f"holds all of {among}, up to {largest:,} tokens" if largest else "assumed, as no usage is recorded"
    return smaller, f"window {smaller:,} of {smaller:,} and {own:,}: {held}"


def _of_log(
    transcript: Transcript, entries: tuple[Model, ...], accepted: tuple[int, int], today: date | None
) -> tuple[dict[str, Any], list[str]]:
    """Return the provider's fields that a recording shows, and how each is known.

    `accepted`: see `recorded_window`.
    """
    values: dict[str, Any] = {}
    origins: list[str] = []
    recorded = _of_recorded(transcript, entries, today)
    if recorded is not None:
        values, origins = recorded, [f"recorded model {transcript.model}"]
        priced = {(other.name, other.served) for other in values["others"]}
        first = _kinds(transcript)[0]
        used = [kind for call in transcript.calls if call.model and (kind := (call.model, call.served)) != first]
        if with_own := sum(kind in priced for kind in used):
            named = ", ".join(sorted(" ".join(filter(None, kind)) for kind in priced))
            origins.append(f"{with_own} of {len(transcript.calls)} calls used {named}, at its own prices")
        if rest := len(used) - with_own:
            origins.append(f"{rest} of {len(transcript.calls)} calls used other models and are priced as this one")
    if values.get("cache", "none") != "none" and no_cache(transcript):
        values["cache"] = "none"
        origins.append("the log shows no cache")
    if long_cache(transcript, values.get("cache", "none"), values.get("model", "")):
        values["long_cache"] = True
        stated = written_long(transcript) is not None
        how = "the log states" if stated else "reads after longer pauses show"
        origins.append(f"{how} the long cache lifetime")
    if told := recorded_window(transcript, values.get("window"), values.get("vendor", "none"), accepted):
        values["window"], how = told
        origins.append(how)
    return values, origins


def said(overrides: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that are set. None means not set, except for `rate_limit`: no rate limit."""
    return {key: value for key, value in overrides.items() if value is not None or key == "rate_limit"}


def resolve(
    overrides: dict[str, Any],
    scenario: tuple[str, dict[str, Any]] | None = None,
    transcript: Transcript | None = None,
    entries: tuple[Model, ...] = (),
    accepted: tuple[int, int] = (0, 1),
    today: date | None = None,
) -> Provider:
    """Return the provider that holds for a scenario or a recorded transcript.

    `accepted`: see `recorded_window`. `today`: the day whose prices hold where no recording says the day; None: this
    day. `overrides` are the fields given by options, arguments or a project's file; their
    `model` sets the window, prices, cache and tokenizer of that model. Raises UnknownName for an unknown model or
    field, InputError naming a field with a wrong value.
    """
    given = said(overrides)
    if strange := given.keys() - Provider.__struct_fields__:
        raise unknown("provider field", min(strange), Provider.__struct_fields__)
    origins = []
    values: dict[str, Any] = {}
    if scenario is not None:
        values, origins = dict(scenario[1]), [f"scenario {scenario[0]}"]
        named = values.get("model", "")
        if named and "prices" not in values:
            values = {**_of_named(named, entries, today), **values}
    elif transcript is not None and "model" not in given:
        values, origins = _of_log(transcript, entries, accepted, today)
    if "model" in given:
        found = _of_named(str(given["model"]), entries, today)
        if not found:
            from ctxsim.simulator.provider.models import model_ids

            raise unknown("model", str(given["model"]), model_ids())
        values |= found
    values |= {key: value for key, value in given.items() if key != "model"}
    if "prices" in given:
        # They are those of all calls.
        values.pop("others", None)
    origins += [f"given: {', '.join(given)}"] if given else []
    values["origin"] = "; ".join(origins) or "default"
    if isinstance(values.get("rate_limit"), dict):
        rule = vendors_limit(values.get("vendor", "none"), values.get("reserved_output", 0))
        values["rate_limit"] = {**rule, **values["rate_limit"]}
    try:
        return msgspec.convert(msgspec.to_builtins(values), Provider)
    except (msgspec.ValidationError, ValueError) as error:
        raise InputError(values["origin"], f"provider: {error}") from None
