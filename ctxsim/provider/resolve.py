"""Where the provider comes from: command line > scenario > the recorded model > defaults."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import msgspec

from ctxsim.errors import InputError, unknown
from ctxsim.provider.models import Entry, Model, all_models, find_model
from ctxsim.provider.rules import Provider
from ctxsim.provider.vendor import load_vendor
from ctxsim.tokenizers.models import tokenizer_of
from ctxsim.transcript import Transcript


def of_model(model: Model, name: str) -> dict[str, Any]:
    """Return the provider's fields that follow from a model. Fields of which nothing is known stay out."""
    values: dict[str, Any] = {
        "model": model.id,
        "vendor": model.vendor,
        "framing": model.vendor,
        "cache": model.vendor,
        "reasoning": load_vendor(model.vendor).reasoning.resend,
        "tokenizer": tokenizer_of(name)[0],
        "prices": model.prices,
    }
    if model.window:
        values["window"] = model.window
    return values


def recorded_day(transcript: Transcript) -> date | None:
    """The day of the first call that has a time: prices are those of that day."""
    time_s = next((call.time_s for call in transcript.calls if call.time_s), None)
    return datetime.fromtimestamp(time_s, UTC).date() if time_s else None


def resolve(
    overrides: dict[str, Any],
    scenario: tuple[str, dict[str, Any]] | None = None,
    transcript: Transcript | None = None,
    entries: tuple[Entry, ...] = (),
) -> Provider:
    """Return the provider that holds for a scenario or a recorded transcript.

    `overrides` are what the command line gave; its `model` brings that model's window, prices, cache and tokenizer.
    Raises UnknownName for a model that nobody knows, InputError naming a field that doesn't fit.
    """
    given = {key: value for key, value in overrides.items() if value is not None}
    origins = []
    values: dict[str, Any] = {}
    if scenario is not None:
        values, origins = dict(scenario[1]), [f"scenario {scenario[0]}"]
        named = values.get("model", "")
        if named and "prices" not in values and (found := find_model(named, None, entries)):
            values = {**of_model(found, named), **values}
    elif transcript is not None and "model" not in given:
        found = find_model(transcript.model, recorded_day(transcript), entries)
        if found is not None:
            values, origins = of_model(found, transcript.model), [f"recorded model {transcript.model}"]
    if "model" in given:
        found = find_model(given["model"], None, entries)
        if found is None:
            raise unknown("model", given["model"], {model.id for _, model in all_models()})
        values |= of_model(found, given["model"])
    values |= {key: value for key, value in given.items() if key != "model"}
    origins += [f"command line: {', '.join(given)}"] if given else []
    values["origin"] = "; ".join(origins) or "default"
    try:
        return msgspec.convert(msgspec.to_builtins(values), Provider)
    except (msgspec.ValidationError, ValueError) as error:
        raise InputError(values["origin"], f"provider: {error}") from None
