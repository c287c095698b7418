"""Prices and windows that the price list lacks or rounds."""

from __future__ import annotations

from datetime import date

import pytest

from ctxsim.counting.tokenizers import bare
from ctxsim.simulator.provider.models import find_model
from ctxsim.simulator.provider.prices import Split, cost_of
from ctxsim.simulator.provider.vendor import load_vendor

DAY = date(2026, 11, 29)


def cost(model: str, split: Split, output: int, on: date = DAY, served: str = "") -> float:
    known = find_model(model, on, served=served)
    assert known and known.prices and not known.prices.unpriced
    return cost_of(known.prices, split, output).total


@pytest.mark.parametrize(("read", "served", "usd"), [
    # 0.2 million read at 0.10, 0.072 written at 2.50, 0.001 of output at 10: 0.02 + 0.18 + 0.01.
    (200_000, "", 0.21), (200_000, "priority", 0.42), (200_000, "fast", 0.42),
    # One token more, and all cost twice as much, output 1.5 times: 0.0400002 + 0.36 + 0.015.
    (200_001, "", 0.4150002),
])  # fmt: skip
def test_gpt_6_2_sol_has_steps_and_a_fast_mode(read: int, served: str, usd: float) -> None:
    assert cost("gpt-6.2-sol", Split(read, 72_000, 0), 1_000, served=served) == pytest.approx(usd, rel=1e-12)
    # Astra: 4 times as much.
    assert cost("gpt-6.2-astra", Split(read, 72_000, 0), 1_000, served=served) == pytest.approx(4 * usd, rel=1e-12)


@pytest.mark.parametrize(("model", "usd"), [
    # A million read, as much uncached, 0.1 million of output: 0.10 + 2 + 1, 0.075 + 1.5 + 0.75, and so on.
    ("gemini-4-carbon", 3.1), ("gemini/gemini-4-hydrogen", 2.325), ("gemini-4-neon", 4.65), ("qwen4-max", 2.025),
    ("claude-mythos-5", 16.0), ("anthropic/claude-mythos-5.1", 15.25), ("dashscope/qwen3.7-max", 3.75),
    ("qwen3.8-max", 2.85), ("devstral-latest", 0.64), ("zai/glm-5-turbo", 1.84), ("z-ai/glm-5-turbo", 1.84),
    # Alibaba's prices above 256,000 tokens: 1.2 + 6 + 6, 0.1 + 0.5 + 0.3, and so on.
    ("qwen3-coder-plus", 13.2), ("qwen3.5-plus", 0.9), ("qwen3.6-plus", 3.0), ("qwen3.7-plus", 1.92),
    ("qwen3-max-2026-01-23", 5.1),
])  # fmt: skip
def test_models_that_the_list_lacks(model: str, usd: float) -> None:
    assert cost(model, Split(1_000_000, 0, 1_000_000), 100_000) == pytest.approx(usd, rel=1e-12)


def test_gemini_4_carbon_costs_twice_as_much_from_december_on() -> None:
    days = date(2026, 11, 30), date(2026, 12, 1)
    assert [cost("gemini-4-carbon", Split(1_000_000, 0, 0), 0, on) for on in days] == pytest.approx([0.1, 0.2])


@pytest.mark.parametrize(("model", "window"), [
    ("gpt-6.2-sol", 1_050_000), ("gpt-6-cyber", 1_050_000), ("gpt-5.6-cyber", 400_000), ("gpt-5.5", 1_050_000),
    ("gpt-4.1-mini", 1_047_576), ("gpt-5-chat-latest", 128_000), ("gpt-5", 400_000), ("gemini-4-neon", 1_048_576),
    ("gemini-3-flash-preview", 1_048_576), ("google/gemini-3.8-flash", 1_048_576), ("gemini-pro-latest", 1_048_576),
    ("google/gemini-3.1-flash-lite-image", 65_536), ("qwen3-coder-plus", 1_000_000), ("qwen3-max", 262_144),
])  # fmt: skip
def test_windows_that_the_list_lacks_or_rounds(model: str, window: int) -> None:
    known = find_model(model, DAY)
    assert known and known.window == window


def test_haiku_5_5_caches_512_tokens() -> None:
    rule = load_vendor("anthropic").cache
    assert [rule.minimum(f"claude-haiku-{version}") for version in ("5-5", "5.5", "4-5")] == [512, 512, 4_096]


def test_fireworks_writes_a_version_with_a_p() -> None:
    assert bare("fireworks_ai/accounts/fireworks/models/kimi-k2p7-code") == "kimi-k2.7-code"
    assert bare("somebody/kimi-k2p7-code") == "kimi-k2p7-code"
    known = find_model("accounts/fireworks/models/kimi-k2p7-code")
    assert known and (known.vendor, known.window) == ("moonshot", 262_144)
