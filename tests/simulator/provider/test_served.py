"""Prices by how requests are served: as listed, times a vendor's factor, or the standard ones where none is known."""

from __future__ import annotations

from datetime import date, time
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from samples import conversation

from ctxsim.simulator.provider.listed import as_served, search_usd
from ctxsim.simulator.provider.models import find_model, read_overrides
from ctxsim.simulator.provider.prices import Hours, Prices
from ctxsim.simulator.provider.resolve import resolve
from ctxsim.simulator.provider.vendor import load_vendor
from ctxsim.transcript import Usage

NOVEMBER = date(2026, 11, 20)


def priced(model: str, served: str, on: date = NOVEMBER, **more: Any) -> Prices:
    found = find_model(model, on, recorded=True, served=served, **more)
    assert found and found.prices
    return found.prices


@pytest.mark.parametrize(("model", "served", "read", "output", "unpriced"), [
    ("claude-opus-5-5", "", 0.2, 20.0, ""), ("claude-opus-5-5", "fast", 0.4, 40.0, ""),
    ("claude-opus-5-5", "us", 0.22, 22.0, ""), ("claude-opus-5-5", "fast us", 0.44, 44.0, ""),
    ("claude-opus-5-5", "batch us", 0.11, 11.0, ""),
    # A tier that was paid for ahead has no price of its own, nor has a mode that a model lacks, nor another region.
    ("claude-opus-5-5", "priority us", 0.22, 22.0, "priority"), ("claude-haiku-4-5", "fast", 0.1, 5.0, "fast"),
    ("claude-opus-5-5", "eu", 0.2, 20.0, "eu"),
    # Additions of ours, which the list lacks; a name with a window or a router's prefix.
    ("claude-opus-4-7", "fast", 3.0, 150.0, ""), ("anthropic/claude-opus-4.7[1m]", "fast us", 3.3, 165.0, ""),
    # The name says it already.
    ("claude-opus-5-5-fast", "fast", 0.4, 40.0, ""), ("us.anthropic.claude-opus-5-5", "us", 0.22, 22.0, ""),
    ("gpt-5.1", "priority", 0.25, 20.0, ""), ("gpt-5.1", "fast", 0.25, 20.0, ""), ("gpt-5.1", "flex", 0.0625, 5.0, ""),
    ("gpt-5.1", "batch", 0.0625, 5.0, ""), ("gpt-5.1", "ultrafast", 0.125, 10.0, "ultrafast"),
    ("gpt-5.1", "us", 0.125, 10.0, "us"),
])  # fmt: skip
def test_what_a_way_of_serving_costs(model: str, served: str, read: float, output: float, unpriced: str) -> None:
    found = priced(model, served)
    assert (found.cache_read, found.output, found.unpriced) == (read, output, unpriced)
    assert (f"as no price is known of {unpriced}" in found.describe()) == bool(unpriced)


def test_no_price_is_made_up_for_days_before_the_listed_one() -> None:
    days = date(2026, 10, 11), date(2026, 10, 12)
    assert [priced("gpt-5.1", "priority", on).output for on in days] == [10.0, 20.0]
    assert priced("gpt-5.1", "priority", date(2026, 10, 11)).unpriced == "priority"
    assert priced("claude-opus-5-5", "batch us", date(2026, 10, 13)).unpriced == "batch"


def variant(when: dict[str, str], since: date | None = None, **usd: str) -> SimpleNamespace:
    prices = SimpleNamespace(**{f"{name}_mtok": Decimal(price) for name, price in usd.items()})
    return SimpleNamespace(when=when, prices=prices, constraint=since and SimpleNamespace(start_date=since))


def test_the_first_that_fits_decides_for_each_price() -> None:
    model = SimpleNamespace(id="m", price_variants=[
        variant({"service_tier": "flex"}, date(2026, 11, 1), input="3"),
        variant({"service_tier": "flex"}, input="4", output="5", cache_write_1h="6"),
        variant({"search_type": "flex"}, output="7"),
        variant({"service_tier": "flex", "processing": "batch"}, output="8"),
    ])  # fmt: skip
    standard = Prices(1.0, 2.0, 0.5, source="list")
    found = as_served(model, standard, NOVEMBER, ["flex", "slow"])
    assert found == Prices(3.0, 5.0, 0.5, cache_write_long=6.0, source="list, flex", unpriced="slow")
    assert as_served(model, standard, date(2026, 10, 31), ["flex"]).input == 4.0
    # A model of its own has its own price; without variants the standard one stands in.
    own, bare = SimpleNamespace(id="M-Flex", price_variants=None), SimpleNamespace(id="m", price_variants=None)
    assert (as_served(own, standard, NOVEMBER, ["flex"]).unpriced, as_served(bare, standard, NOVEMBER, ["flex"])) == (
        "", msgspec.structs.replace(standard, unpriced="flex"),
    )  # fmt: skip


def test_a_file_of_ones_own_may_price_a_way_of_serving(tmp_path: Path) -> None:
    file = tmp_path / "m.toml"
    prices = "prices = {input = 1, output = 7}\nweb_search = 5"
    file.write_text(f'[[model]]\nid = "claude-opus-5-5"\n{prices}\n[[model]]\nid = "m-Flex"\n{prices}\n'
                    '[[model]]\nid = "m"\nprices = {input = 1, output = 2}\n')  # fmt: skip
    own = {"overrides": read_overrides(file)}
    # Their own price is of the standard way. Whoever knows more goes before it, and the vendor's factor is on top.
    ways = ("", "fast", "us", "priority")
    assert [priced("claude-opus-5-5", served, **own).output for served in ways] == [7.0, 40.0, 7.7, 7.0]
    known = [priced("x/m", served, **own) for served in ("", "flex", "flex slow")]
    assert [(one.output, one.unpriced) for one in known] == [(2.0, ""), (7.0, ""), (7.0, "slow")]
    found = find_model("claude-opus-5-5", NOVEMBER, own["overrides"])
    assert found and found.web_search == 5


def test_all_prices_times_a_factor() -> None:
    night = Hours(time(1), time(2), Prices(1.0, 2.0))
    made = Prices(2.0, ((0, 3.0), (9, 4.0)), 0.1, None, 5.0, "s", hours=(night,)).times(1.1)
    hours = (Hours(time(1), time(2), Prices(1.1, 2.2)),)
    assert made == Prices(2.2, ((0, 3.3), (9, 4.4)), 0.11, None, 5.5, "s", hours=hours)
    assert (load_vendor("anthropic").served.us, load_vendor("openai").served.us) == (1.1, 1.0)


def test_searches_have_the_price_of_the_day() -> None:
    def entry(usd: Any, since: date | None = None) -> SimpleNamespace:
        prices = SimpleNamespace(web_searches_kcount=usd)
        return SimpleNamespace(prices=prices, constraint=since and SimpleNamespace(start_date=since))

    listed = [entry(Decimal(10)), entry(Decimal(12), NOVEMBER)]
    assert [search_usd(listed, on) for on in (date(2026, 11, 19), NOVEMBER)] == [10.0, 12.0]
    assert search_usd(listed[1:], date(2026, 1, 1)) is search_usd(SimpleNamespace(), NOVEMBER) is None
    names = ("claude-opus-5-5", "anthropic/claude-opus-4.8", "gpt-5.1", "deepseek-chat")
    assert [(one := find_model(name)) and one.web_search for name in names] == [10.0, 10.0, 10.0, None]


def test_calls_of_a_session_have_the_price_of_how_they_were_served() -> None:
    made = conversation("r", "r", "r")
    served = ("fast", "", "fast", "priority")
    calls = [msgspec.structs.replace(call, model="claude-opus-5-5", usage=Usage(300, served=one))
             for call, one in zip(made.calls, served, strict=True)]  # fmt: skip
    found = resolve({}, None, msgspec.structs.replace(made, calls=tuple(calls)), today=NOVEMBER)
    prices = [found.of(call).prices for call in calls]
    assert [one and (one.output, one.unpriced) for one in prices] == [
        (40.0, ""),
        (20.0, ""),
        (40.0, ""),
        (20.0, "priority"),
    ]
    assert (found.of(calls[0]), found.model) == (found, "claude-opus-5-5")
    assert "2 of 4 calls used claude-opus-5-5, claude-opus-5-5 priority, at its own prices" in found.origin
