"""Prices: steps, days, models, vendors."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from cached_replay import sent_of
from samples import conversation

from ctxsim.errors import InputError, UnknownName
from ctxsim.simulator.provider.models import all_models, find_model, read_overrides
from ctxsim.simulator.provider.prices import Cost, Prices, Split, cost_of
from ctxsim.simulator.provider.resolve import resolve


class TestPrices:
    @pytest.mark.parametrize("model", ["claude-sonnet-4-5", "gpt-5.4", "gemini-2.5-pro", "deepseek-v4-pro", "gpt-4.1"])
    @pytest.mark.parametrize("tokens", [1_000, 250_000])
    def test_equal_to_genai_prices_own_arithmetic(self, model: str, tokens: int) -> None:
        from datetime import UTC, datetime

        from genai_prices import Usage, calc_price

        found = find_model(model, date(2026, 11, 1))
        assert found and found.prices
        split = Split(read=tokens // 2, write=0, uncached=tokens - tokens // 2)
        ours = cost_of(found.prices, split, 700)
        usage = Usage(input_tokens=tokens, cache_read_tokens=tokens // 2, output_tokens=700)
        noon = datetime(2026, 11, 1, 12, tzinfo=UTC)
        theirs = calc_price(usage, model, genai_request_timestamp=noon)
        assert ours.total == pytest.approx(float(theirs.total_price), rel=1e-9)

    def test_each_class_is_billed_at_its_own_price(self) -> None:
        prices = Prices(input=2.0, output=8.0, cache_read=0.5, cache_write=2.5, cache_write_long=4.0)
        found = cost_of(prices, Split(read=2_000_000, write=3_000_000, uncached=500_000), 1_000_000, True)
        assert (found.read, found.write, found.uncached, found.output, found.total) == (1, 12, 1, 8, 22)
        assert cost_of(prices, Split(0, 3_000_000, 0), 0).total == 7.5
        assert Cost(read=1.0).total == 1 and Cost(write=1.0, uncached=2.0).total == 3, "what isn't said is nothing"

    def test_unknown_price_is_unknown(self) -> None:
        assert {one.cost_usd for one in sent_of(conversation("a"), prices=None)} == {None}

    def test_bad_override_files_name_the_field(self, tmp_path: Path) -> None:
        file = tmp_path / "models.toml"
        file.write_text('[[model]]\nid = "x"\nwindw = 3\n')
        with pytest.raises(InputError, match="windw"):
            read_overrides(file)

    def test_recorded_names_are_understood(self) -> None:
        for name in ("litellm_proxy/claude-sonnet-4-5", "anthropic/claude-sonnet-4-5", "claude-sonnet-4-5-20250929"):
            found = find_model(name)
            assert found and found.vendor == "anthropic", name
        assert find_model("no-such-model-anywhere") is None
        with pytest.raises(UnknownName, match="unknown model"):
            resolve({"model": "no-such-model-anywhere"})

    def test_every_listed_model_opens(self) -> None:
        assert sum(1 for _ in all_models()) > 300
