"""Where the provider comes from: command line > scenario > what the log tells > the recorded model > defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from ctxsim.errors import InputError, unknown
from ctxsim.simulator.provider.rules import Provider
from ctxsim.simulator.provider.vendor import load_vendor
from ctxsim.transcript import Transcript

if TYPE_CHECKING:
    from ctxsim.simulator.provider.models import Entry


def _of_named(model: str, entries: tuple[Entry, ...]) -> dict[str, Any]:
    """The fields that follow from a model by today's list; none where nobody knows it."""
    # What knows models, and reads logs, is imported where one is named.
    from ctxsim.simulator.provider.models import find_model
    from ctxsim.simulator.provider.recorded import of_model

    found = find_model(model, None, entries)
    return of_model(found, model) if found else {}


def _vendors_limit(values: dict[str, Any]) -> dict[str, Any]:
    """What the vendor's rule says of a rate limit that a scenario states only in part."""
    vendor = values.get("vendor", "none")
    if vendor == "none":
        return {}
    rule = load_vendor(vendor).rate
    reserved = values.get("reserved_output", 0) if rule.reserves_max_tokens else 0
    return {
        "counts_cache_reads": rule.counts_cache_reads,
        "reserves_max_tokens": reserved,
        "failed_requests_count": rule.failed_requests_count,
    }


def resolve(
    overrides: dict[str, Any],
    scenario: tuple[str, dict[str, Any]] | None = None,
    transcript: Transcript | None = None,
    entries: tuple[Entry, ...] = (),
    accepted: tuple[int, int] = (0, 1),
) -> Provider:
    """Return the provider that holds for a scenario or a recorded transcript.

    `accepted` are the tokens of the largest request that sessions beside a recorded transcript had accepted, and how
    many had one. `overrides` are what the command line gave; its `model` brings that model's window, prices, cache and
    tokenizer. Raises UnknownName for a model that nobody knows, InputError naming a field that doesn't fit.
    """
    given = {key: value for key, value in overrides.items() if value is not None}
    origins = []
    values: dict[str, Any] = {}
    if scenario is not None:
        values, origins = dict(scenario[1]), [f"scenario {scenario[0]}"]
        named = values.get("model", "")
        if named and "prices" not in values:
            values = {**_of_named(named, entries), **values}
    elif transcript is not None and "model" not in given:
        from ctxsim.simulator.provider.recorded import of_log

        values, origins = of_log(transcript, entries, accepted)
    if "model" in given:
        found = _of_named(given["model"], entries)
        if not found:
            from ctxsim.simulator.provider.models import all_models

            raise unknown("model", given["model"], {model.id for _, model in all_models()})
        values |= found
    values |= {key: value for key, value in given.items() if key != "model"}
    origins += [f"command line: {', '.join(given)}"] if given else []
    values["origin"] = "; ".join(origins) or "default"
    if isinstance(values.get("rate_limit"), dict):
        values["rate_limit"] = {**_vendors_limit(values), **values["rate_limit"]}
    try:
        return msgspec.convert(msgspec.to_builtins(values), Provider)
    except (msgspec.ValidationError, ValueError) as error:
        raise InputError(values["origin"], f"provider: {error}") from None
