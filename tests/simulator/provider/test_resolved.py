"""Providers as they come out whole: what was said, what a scenario, a model and a log say, and what is told of it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from samples import conversation

from ctxsim.errors import InputError, UnknownName
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.models import Model
from ctxsim.simulator.provider.prices import Prices
from ctxsim.simulator.provider.resolve import recorded_window, resolve
from ctxsim.transcript import Transcript, Usage

HOUSE = (
    Model("house-7b", vendor="anthropic", window=5_000, prices=Prices(1.0, 2.0), source="mine"),
    Model("claude-opus-4-6*", vendor="anthropic", window=1_000_000, prices=Prices(1.0, 2.0), source="mine"),
)
PRICES = Prices(1.0, 2.0, source="mine")
ANTHROPIC: dict[str, Any] = {
    "vendor": "anthropic",
    "framing": "anthropic",
    "cache": "anthropic",
    "reasoning": "all",
}
HOUSE_7B = Provider(model="house-7b", window=5_000, prices=PRICES, **ANTHROPIC)


def changed(one: Provider, **fields: Any) -> Provider:
    return msgspec.structs.replace(one, **fields)


def recorded(model: str, *usages: Usage) -> Transcript:
    made = conversation(*["r"] * (len(usages) - 1))
    calls = [
        msgspec.structs.replace(call, usage=one, model=model) for call, one in zip(made.calls, usages, strict=True)
    ]
    return msgspec.structs.replace(made, calls=tuple(calls))


@pytest.mark.parametrize(("overrides", "scenario", "found"), [
    ({}, None, Provider()), ({"window": None}, None, Provider()),
    ({"window": 10, "pace_s": 2.5}, None, Provider(window=10, pace_s=2.5, origin="given: window, pace_s")),
    ({}, ("x", {"window": 10, "cache": "openai"}), Provider(window=10, cache="openai", origin="scenario x")),
    ({"window": 20}, ("x", {"window": 10}), Provider(window=20, origin="scenario x; given: window")),
    # A model's own fields, but for those that the scenario states; none where it states prices.
    ({}, ("x", {"model": "house-7b", "window": 10}), changed(HOUSE_7B, window=10, origin="scenario x")),
    ({}, ("x", {"model": "house-7b", "prices": {"input": 3.0, "output": 4.0}}),
     Provider(model="house-7b", prices=Prices(3.0, 4.0), origin="scenario x")),
    ({"model": "house-7b", "cache": "none"}, ("x", {"window": 10, "pace_s": 3.0}),
     changed(HOUSE_7B, cache="none", pace_s=3.0, origin="scenario x; given: model, cache")),
])  # fmt: skip
def test_what_is_said_goes_before_the_scenario(
    overrides: dict[str, Any], scenario: tuple[str, dict[str, Any]] | None, found: Provider
) -> None:
    assert resolve(overrides, scenario, None, HOUSE) == found


def test_what_a_log_says() -> None:
    none, wrote = Usage(300, 5, 0, 0), Usage(300, 5, 0, 9, cache_write_long_tokens=9)
    assert resolve({}, None, recorded("nobody's", none), HOUSE) == Provider(
        window=200_000, origin="window 200,000 inferred: 300 tokens were accepted in this session"
    )
    assert resolve({}, None, recorded("", Usage(0)), HOUSE) == Provider()
    assert resolve({}, None, recorded("house-7b", none), HOUSE) == changed(
        HOUSE_7B, cache="none", origin="recorded model house-7b; the log shows no cache"
    )
    assert resolve({}, None, recorded("house-7b", wrote), HOUSE) == changed(
        HOUSE_7B, long_cache=True, origin="recorded model house-7b; the log states the long cache lifetime"
    )
    # More was accepted than the model is listed with.
    assert resolve({}, None, recorded("house-7b", Usage(5_001)), HOUSE).window == 200_000
    # A model that is named takes the place of the recorded one, with all that the log says.
    assert resolve({"model": "house-7b"}, None, recorded("nobody's", none), HOUSE) == changed(
        HOUSE_7B, origin="given: model"
    )


SMALLER = "window 200,000 of 200,000 and 1,000,000: holds all of"


@pytest.mark.parametrize(("own", "accepted", "found"), [
    # 300 tokens were accepted in the session itself.
    (300, (0, 1), None), (299, (0, 1), (200_000, "window 200,000 inferred: 300 tokens were accepted in this session")),
    (None, (300_000, 3),
     (400_000, "window 400,000 inferred: 300,000 tokens were accepted in 3 sessions of this project with this model")),
    (1_000_000, (200_000, 2),
     (200_000, f"{SMALLER} 2 sessions of this project with this model, up to 200,000 tokens")),
    (1_000_000, (0, 1), (200_000, f"{SMALLER} this session, up to 300 tokens")),
    (1_000_000, (200_001, 2), None), (200_000, (5, 1), None),
])  # fmt: skip
def test_the_window_that_held(own: int | None, accepted: tuple[int, int], found: tuple[int, str] | None) -> None:
    assert recorded_window(recorded("claude-opus-4-6", Usage(300), Usage(200)), own, "anthropic", accepted) == found


def test_without_usage_a_window_is_assumed() -> None:
    told = "window 200,000 of 200,000 and 1,000,000: assumed, as no usage is recorded"
    assert recorded_window(recorded("claude-opus-4-6", Usage(0)), 1_000_000, "anthropic") == (200_000, told)


def test_calls_of_other_models_are_told() -> None:
    made = recorded("house-7b", Usage(300), Usage(300), Usage(300))
    models = zip(made.calls, ("house-7b", "x", ""), strict=True)
    named = [msgspec.structs.replace(call, model=model) for call, model in models]
    told = "recorded model house-7b; 1 of 3 calls used other models and are priced as this one"
    assert resolve({}, None, msgspec.structs.replace(made, calls=tuple(named)), HOUSE).origin == told


def test_calls_of_other_models_have_their_prices() -> None:
    made = recorded("claude-opus-4-5-20251101", Usage(300), Usage(300), Usage(300))
    models = zip(made.calls, ("claude-opus-4-5-20251101", "claude-haiku-4-5-20251001", "claude-opus-4-5"), strict=True)
    made = msgspec.structs.replace(
        made, calls=tuple(msgspec.structs.replace(call, model=name) for call, name in models)
    )
    found = resolve({}, None, made)
    # The last name is that of the first model without its date.
    assert [(one.name, one.model, one.prices.input) for one in found.others] == [
        ("claude-haiku-4-5-20251001", "claude-haiku-4-5", 1.0)
    ]
    assert "; 1 of 3 calls used claude-haiku-4-5-20251001, at its own prices; " in found.origin
    assert [found.of(call).model for call in made.calls] == ["claude-opus-4-5", "claude-haiku-4-5", "claude-opus-4-5"]
    assert not resolve({"model": "claude-sonnet-4-5"}, None, made).others, "all go to the model that is asked for"
    given = resolve({"prices": Prices(7.0, 8.0)}, None, made)
    assert (given.prices and given.prices.input, given.others) == (7.0, ())


def test_a_name_may_ask_for_a_window_of_a_million() -> None:
    made = recorded("claude-opus-4-6[1m]", Usage(300))
    assert recorded_window(made, 200_000, "anthropic") == (1_000_000, "window 1,000,000 stated by the model's name")
    assert resolve({}, None, made, HOUSE, (5, 2)).window == 1_000_000


def test_strange_fields_and_models_are_refused() -> None:
    with pytest.raises(UnknownName, match="unknown provider field 'windw'; did you mean window"):
        resolve({"windw": 3})
    with pytest.raises(UnknownName, match="unknown model 'house-8b'"):
        resolve({"model": "house-8b"}, None, None, HOUSE)
    with pytest.raises(InputError, match="scenario x: provider: "):
        resolve({}, ("x", {"window": "wide"}))
    with pytest.raises(InputError, match=r"given: window: provider: .*window"):
        resolve({"window": 0})
