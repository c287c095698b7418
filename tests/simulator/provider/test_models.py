"""Models of one's own in an override file."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from samples import conversation

from ctxsim.errors import InputError
from ctxsim.readers.formats.ctxsim_jsonl import lines
from ctxsim.results import read_run
from ctxsim.runs.conduct import conduct
from ctxsim.runs.task import Setting
from ctxsim.simulator.provider.models import all_models, find_model, read_overrides
from ctxsim.simulator.provider.prices import Split, cost_of, rate_at
from ctxsim.simulator.provider.vendor import parsed_vendor

WORDY = "word " * 400


def test_patterns_of_an_override_may_stand_behind_a_comma_and_a_space(tmp_path: Path) -> None:
    file = tmp_path / "models.toml"
    file.write_text('[[model]]\nid = "my-model, my-other*"\nwindow = 1000\n')
    found = [find_model(name, None, read_overrides(file)) for name in ("my-model", "my-other-2")]
    assert [one and one.window for one in found] == [1_000, 1_000]


def test_override_ids_may_have_a_prefix(tmp_path: Path) -> None:
    file = tmp_path / "m.toml"
    file.write_text('[[model]]\nid = "openai/gpt-4o"\nwindow = 1234\nvendor = "none"\n')
    entries = read_overrides(file)
    for name in ("openai/gpt-4o", "gpt-4o"):
        found = find_model(name, None, entries)
        assert found and found.window == 1234 and found.vendor == "none"


def test_fast_modes_have_prices_of_their_own() -> None:
    # Recorded by Cline in August 2026: 34,334 tokens written and 741 of output for 0.46623 USD.
    found = find_model("anthropic/claude-opus-4.8-fast")
    assert found and found.prices and found.id == "claude-opus-4-8"
    assert cost_of(found.prices, Split(0, 34_334, 0), 741).total == pytest.approx(0.466225)
    for name, price in (("claude-opus-4.6-fast", 30), ("claude-opus-5-fast", 10), ("claude-opus-4.8", 5),
                        ("anthropic/claude-opus-5.5-fast", 8), ("claude-opus-5-5-fast", 8), ("claude-opus-5-5", 4),
                        ("claude-fable-5-2-fast", 16), ("grok-4-fast", 0.2)):  # fmt: skip
        known = find_model(name)
        assert known and known.window and known.prices and known.prices.input == price
    # In its first weeks, twice the price above 200,000 tokens; before them, not the ordinary price.
    first = find_model("claude-opus-4-6-fast", date(2026, 4, 6))
    assert first and first.prices and rate_at(first.prices.input, 200_000) == 30
    assert rate_at(first.prices.input, 200_001) == 60 and rate_at(first.prices.output, 200_001) == 225
    before = find_model("claude-opus-4-6-fast", date(2026, 2, 4))
    assert before and before.prices is None, "the ordinary price isn't that of a fast mode"


def test_a_model_has_its_makers_price_and_a_window_of_any_seller() -> None:
    known = find_model("glm-4.7")
    assert known and known.prices and known.window == 200_000
    assert (known.prices.input, known.prices.cache_read, known.prices.output) == (0.6, 0.11, 2.2)


@pytest.mark.parametrize(("name", "price", "output"), [
    # Names as a router writes them, which their makers' lists lack.
    ("qwen/qwen3-coder-plus", 0.65, 3.25), ("openrouter/deepseek/deepseek-v4.1-flash", 0.21, 0.84),
    ("anthropic/claude-fable-5.1", 10.0, 50.0), ("claude-fable-5.1", 10.0, 50.0),
    # Hosts take their own prices for open models.
    ("groq/openai/gpt-oss-120b", 0.15, 0.6), ("fireworks/deepseek-v4-pro", 1.74, 3.48), ("gpt-oss-120b", 0.039, 0.18),
    # LiteLLM's names of hosts, and Fireworks' own, whose prices aren't the makers'.
    ("fireworks_ai/accounts/fireworks/models/deepseek-v4-pro", 1.74, 3.48), ("fireworks_ai/gpt-oss-20b", 0.07, 0.3),
    ("accounts/fireworks/models/deepseek-v4-pro", 1.74, 3.48), ("together_ai/openai/gpt-oss-120b", 0.15, 0.6),
    ("bedrock_mantle/anthropic.claude-opus-5-5", 4.4, 22.0),
    # The maker's entry for such a name is of another model.
    ("mistralai/mistral-medium-3", 0.4, 2.0), ("deepseek/deepseek-r1-distill-qwen-1.5b", 0.18, 0.18),
])  # fmt: skip
def test_a_routers_name_has_a_price(name: str, price: float, output: float) -> None:
    known = find_model(name)
    assert known and known.prices and (known.prices.input, known.prices.output) == (price, output)


def test_a_host_writes_for_an_hour_as_the_maker_does() -> None:
    known = find_model("anthropic/claude-sonnet-4.5:beta"), find_model("claude-sonnet-4.5")
    assert all(one and one.prices and one.prices.cache_write_long == ((0, 6.0), (200_000, 12.0)) for one in known)


@pytest.mark.parametrize(("name", "read"), [
    ("anthropic/claude-3.7-sonnet", 0.3), ("openai/gpt-4o-2024-08-06", 1.25),
])  # fmt: skip
def test_a_router_sells_what_is_read_from_the_cache_as_the_maker_does(name: str, read: float) -> None:
    known = find_model(name)
    assert known and known.prices and known.prices.cache_read == read


@pytest.mark.parametrize(("prefix", "price"), [
    ("us.", 4.4), ("bedrock/eu.", 4.4), ("jp.", 4.4), ("au.", 4.4), ("global.", 4.0), ("", 4.0),
])  # fmt: skip
def test_a_region_costs_more(prefix: str, price: float) -> None:
    known = find_model(f"{prefix}anthropic.claude-opus-5-5")
    assert known and known.prices and (known.id, known.vendor, known.window) == (
        "claude-opus-5-5", "anthropic", 1_000_000
    )  # fmt: skip
    assert (known.prices.input, known.prices.output) == (price, pytest.approx(5 * price))


def test_every_name_in_the_list_of_models_is_known() -> None:
    for host, model in all_models():
        if not model.prices:
            continue
        # Bedrock's own names need no prefix. It has none that begin with "regional.": "us." and others stand for it.
        alone = host == "openrouter" or (host == "aws" and not model.id.startswith("regional."))
        for name in (f"{host}/{model.id}", model.id)[: 1 + alone]:
            known = find_model(name)
            assert known and known.prices, name


def test_the_mark_of_a_long_window_is_no_part_of_a_name() -> None:
    for name in ("claude-opus-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-fable-5-2", "claude-opus-4-8"):
        known = find_model(name)
        assert known and known.prices and known.window and find_model(f"anthropic/{name}[1m]") == known


@pytest.mark.parametrize(("field", "value", "told"), [
    ("input", "[]", "length >= 1"), ("input", "-3", ">= 0"), ("cache_read", "-1", ">= 0"), ("output", "nan", ">= 0"),
    ("cache_write", "inf", "<= 1000000"), ("input", "[[0, 3], [9, -1]]", ">= 0"), ("input", "[[-1, 3]]", ">= 0"),
])  # fmt: skip
def test_prices_that_nobody_charges_are_refused(field: str, value: str, told: str, tmp_path: Path) -> None:
    file = tmp_path / "m.toml"
    rest = "".join(f"{name} = 1.0\n" for name in ("input", "output") if name != field)
    file.write_text(f'[[model]]\nid = "x"\n[model.prices]\n{field} = {value}\n{rest}')
    with pytest.raises(InputError, match=rf"m\.toml: Expected .*{told}.* - at `\$\.model\[0\]\.prices\.{field}"):
        read_overrides(file)


@pytest.mark.parametrize("line", [
    "framing.reasoning = 1000000000000000000", "framing.schemas = nan", "framing.by_model.x.call = -10000000",
    "cache.lifetime_s = inf", "cache.step = 0", "cache.minimum_by_model.x = -1", "windows.x = 0",
])  # fmt: skip
def test_a_vendors_numbers_have_bounds(line: str) -> None:
    with pytest.raises(InputError, match=r"v\.toml: is no vendor: Expected `(int|float)` [<>]= .* - at `\$\."):
        parsed_vendor("v.toml", line.encode())


@pytest.mark.parametrize(("line", "told"), [
    ("framing.by_model.x.mesage = 3", r"unknown field `mesage` - at `\$\.framing`$"),
    ("framing.by_model.x.message = 'three'", r"Expected `int`, got `str` - at `\$\.framing\.message`$"),
    *((f"overflow.message = '{text}'", r"overflow.message takes {tokens} and {window} only$")
      for text in ("{most} at most", "{} at most", "{tokens:,} at most", "{tokens} }")),
])  # fmt: skip
def test_a_vendor_that_no_replay_could_use_is_none(line: str, told: str) -> None:
    with pytest.raises(InputError, match=rf"v\.toml: is no vendor: .*{told}"):
        parsed_vendor("v.toml", line.encode())


def test_a_cache_without_known_prices(tmp_path: Path) -> None:
    setting = Setting("a", "a", ("keep-all", "mask:keep=1"), overrides={"cache": "anthropic"})
    (tmp_path / "a.jsonl").write_bytes(b"\n".join(lines(conversation(WORDY, WORDY, "c", "d"))))
    conduct(setting, tmp_path / "out", paths=[str(tmp_path / "a.jsonl")])
    assert read_run(tmp_path / "out").summary.cost_usd.isna().all()
