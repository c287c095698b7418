"""Which prices give the recorded cost: listed, without a discount, or fitted; and what writes have to do with it."""

from __future__ import annotations

import msgspec
import pytest

from ctxsim.readers.assembly import Assembly, Part
from ctxsim.recorded.price_fit import (
    cache_that_held,
    charged,
    cost_beside,
    cost_by,
    prices_that_held,
    with_reads_by_cost,
)
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.prices import Prices
from ctxsim.transcript import Call, Transcript, Usage

PAID_WRITES = Prices(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75, zero_s=1_700_000_000.0)
FREE_WRITES = Prices(input=3.0, output=15.0, cache_read=0.3)

# 10,000 in: 6,000 read, 3,000 written, 1,000 neither; 100 out. In millionths of a dollar:
#   writes paid: 6,000 * 0.3 + 3,000 * 3.75 + 1,000 * 3 + 100 * 15 = 1,800 + 11,250 + 3,000 + 1,500 = 17,550
#   writes as input: 1,800 + 4,000 * 3 + 1,500 = 15,300
#   nothing discounted: 10,000 * 3 + 1,500 = 31,500
TOKENS = Usage(10_000, 100, 6_000, 3_000)


def paid(*usages: Usage) -> Transcript:
    """A conversation with these usages."""
    assembly = Assembly("paid")
    assembly.user("go")
    for usage in usages:
        assembly.response([Part("assistant", "ok")], usage)
        assembly.user("on")
    return assembly.transcript()


def test_what_another_model_cost_is_not_its_own() -> None:
    made = paid(costing(0.01755), costing(9.0))
    calls = [msgspec.structs.replace(call, model=model) for call, model in zip(made.calls, ("a", "b"), strict=True)]
    assert charged(msgspec.structs.replace(made, calls=tuple(calls))) == [costing(0.01755)]


def costing(usd: float, usage: Usage = TOKENS) -> Usage:
    return msgspec.structs.replace(usage, cost_usd=usd)


@pytest.mark.parametrize(("writes", "usd"), [(True, 0.01755), (False, 0.0153)])
def test_writes_cost_their_price_or_what_input_does(writes: bool, usd: float) -> None:
    assert cost_by(PAID_WRITES, TOKENS, writes) == pytest.approx(usd)


def test_what_isnt_told_is_nothing() -> None:
    # 10,000 in at 3 and 100 out at 15; then 10,000 in alone.
    assert cost_by(PAID_WRITES, Usage(10_000, 100), True) == pytest.approx(0.0315, abs=1e-9)
    assert cost_by(PAID_WRITES, Usage(10_000), True) == pytest.approx(0.03, abs=1e-9)
    # More read and written than was sent: nothing is left for the price of input. 6,000 * 0.3 + 3,000 * 3.75.
    assert cost_by(PAID_WRITES, Usage(8_000, 0, 6_000, 3_000), True) == pytest.approx(0.01305, abs=1e-9)


def test_writes_for_long_cost_the_price_of_their_lifetime() -> None:
    # A third of 3,000 is written at 6 rather than 3.75. Of an unfinished response, 100 are known.
    long = Usage(10_000, None, 6_000, 3_000, cache_write_long_tokens=1_000, output_begun_tokens=100)
    prices = msgspec.structs.replace(PAID_WRITES, cache_write_long=6.0)
    assert cost_by(prices, long, True) == pytest.approx(0.01755 + 0.00225)
    assert cost_by(PAID_WRITES, long, True) == pytest.approx(0.01755)
    assert cost_by(prices, Usage(1, 0, 0, 1, cache_write_long_tokens=1), True) == pytest.approx(6e-6, abs=1e-12)


def test_what_lies_outside_the_conversation_costs_what_is_recorded_or_listed() -> None:
    stated, listed, unknown = (Usage(1_000_000, 0), Usage(2_000_000, 0), Usage(3_000_000, 0))
    calls = [
        Call(0, 0, usage=costing(4.0, stated), model="claude-haiku-4-5"), Call(0, 0, usage=unknown, model="nobodys"),
        Call(0, 0, usage=listed, model="claude-haiku-4-5", time_s=1_770_000_000.0), Call(0, 0),
    ]  # fmt: skip
    assert cost_beside(msgspec.structs.replace(paid(), beside=tuple(calls))) == pytest.approx(4.0 + 2.0)
    written = Call(0, 0, usage=Usage(1_000_000, 0, 0, 1_000_000), model="claude-haiku-4-5", time_s=1_770_000_000.0)
    # A total of the conversation's own calls is not beside it.
    total = msgspec.structs.replace(written, end=1)
    assert cost_beside(msgspec.structs.replace(paid(), beside=(written, total))) == pytest.approx(1.25)


@pytest.mark.parametrize(("prices", "usd"), [(PAID_WRITES, 0.01755), (FREE_WRITES, 0.0153)])
def test_prices_that_give_the_recorded_cost_stay(prices: Prices, usd: float) -> None:
    provider = Provider(prices=prices)
    # Writes are paid where the list has a price for them, and only there.
    assert prices_that_held(paid(costing(usd)), provider) is provider
    # Within 2 % nothing better is looked for; 2 % of 17,550 is 351.
    assert prices_that_held(paid(costing(usd * 1.019)), provider) is provider
    assert prices_that_held(paid(costing(usd * 0.981)), provider) is provider
    # Beyond, one call is too few to fit anything: it stays too, as nothing else fits.
    assert prices_that_held(paid(costing(usd * 1.03)), provider) is provider


def test_a_proxy_that_gives_no_discount_is_found_out() -> None:
    found = prices_that_held(paid(costing(0.0315)), Provider(prices=PAID_WRITES)).prices
    assert found is not None
    assert (found.input, found.output, found.cache_read, found.cache_write) == (3.0, 15.0, None, None)
    assert found.source == "listed, cached tokens at the full price: gives the recorded cost"


SIX = [(1_000, 10, 0), (2_000, 50, 900), (4_000, 20, 1_800), (5_000, 90, 3_000), (9_000, 30, 4_500), (12_000, 70, 100)]
"""Input, output and what was read."""


def six(writes: int) -> list[Usage]:
    """Six calls at 2 a million of input, 0.5 of what is read, 8 of output; what is written costs what input does."""
    return [
        costing(
            ((total - read) * 2 + read * 0.5 + output * 8) / 1e6, Usage(total, output, read, min(writes, total - read))
        )
        for total, output, read in SIX
    ]


@pytest.mark.parametrize("writes", [0, 800])
def test_rates_are_fitted_to_six_calls_whatever_was_written(writes: int) -> None:
    found = prices_that_held(paid(*six(writes)), Provider(prices=PAID_WRITES)).prices
    assert found is not None
    assert (found.input, found.cache_read, found.output, found.cache_write) == (2.0, 0.5, 8.0, 2.0)
    assert found.source == "fitted to 6 recorded costs: gives the recorded cost"
    third = [msgspec.structs.replace(one, cost_usd=(one.cost_usd or 0.0) / 6) for one in six(writes)]
    found = prices_that_held(paid(*third), Provider(prices=PAID_WRITES)).prices
    assert found is not None and (found.input, found.cache_read, found.output) == (0.3333, 0.0833, 1.3333)
    # When the clock began is no price: it stays.
    assert found.zero_s == 1_700_000_000.0
    five = Provider(prices=PAID_WRITES)
    assert prices_that_held(paid(*six(writes)[:5]), five) is five
    # Of an unknown model nobody knows what other requests would read from its cache.
    unknown = Provider()
    assert prices_that_held(paid(*six(writes)), unknown) is unknown
    plain = [Usage(1_000 * n, 10 * n * n, 0, cost_usd=0.002 * n + 0.00008 * n * n) for n in range(1, 7)]
    assert (made := prices_that_held(paid(*plain), unknown).prices) and (made.input, made.output) == (2.0, 8.0)


def test_recorded_costs_with_paid_writes_are_no_reason_to_fit_others() -> None:
    # Six calls like the one above, twice to seven times as large: all of them cost what the list says. Were writes
    # billed as input, each would be 13 % too cheap, and rates that fit better would be found.
    calls = [Usage(10_000 * n, 100 * n, 6_000 * n, 3_000 * n, cost_usd=0.01755 * n) for n in range(2, 8)]
    provider = Provider(prices=PAID_WRITES)
    assert prices_that_held(paid(*calls), provider) is provider


def test_calls_without_a_cost_or_without_what_was_read_say_nothing() -> None:
    provider = Provider(prices=PAID_WRITES)
    silent = [Usage(10_000, 100, 6_000), Usage(10_000, 100, cost_usd=0.5), Usage(10_000, 100, 6_000, cost_usd=0.0)]
    assert prices_that_held(paid(*silent), provider) is provider
    # Beside one that says something they don't count.
    assert prices_that_held(paid(*silent, costing(0.0315)), provider) is not provider


def test_a_cost_without_discounts_shows_that_nothing_was_cached() -> None:
    known = Provider(cache="anthropic", prices=PAID_WRITES)
    # 10,000 x 3 + 100 x 15 = 31,500 millionths: the full price of all input.
    plain = Usage(10_000, 100, cost_usd=0.0315)
    held = cache_that_held(paid(plain, plain), known)
    assert held.cache == "none" and "recorded cost shows no cache" in held.origin
    # A tenth less can't be told from a cache that is read now and then; a read that is recorded is one.
    assert cache_that_held(paid(costing(0.028, plain)), known) is known
    assert cache_that_held(paid(plain, costing(0.0315)), known) is known
    assert cache_that_held(paid(Usage(10_000, 100)), known) is known, "no cost says nothing"
    assert cache_that_held(paid(plain), known) is known, "the first call has nothing to read"
    assert cache_that_held(paid(Usage(9_000, 100), plain), known).cache == "none", "the second has"


@pytest.mark.parametrize(("read", "changed"), [(300, True), (200, False)])
def test_two_per_cent_off_are_near_enough(read: int, changed: bool) -> None:
    # At full price 10,000 x 3 + 1,500 = 31,500 millionths; with 300 read at 0.3 it would be 30,690, 2.6 % less, with
    # 200 it would be 30,960, 1.7 % less.
    provider = Provider(prices=FREE_WRITES)
    found = prices_that_held(paid(Usage(10_000, 100, read, cost_usd=0.0315)), provider)
    assert (found is not provider) is changed


def test_what_was_written_costs_what_input_does_where_nothing_was_cached() -> None:
    known = Provider(cache="anthropic", prices=PAID_WRITES)
    assert cache_that_held(paid(*[Usage(10_000, 100, 0, 3_000, cost_usd=0.0315)] * 2), known).cache == "none"
    assert cache_that_held(paid(*[Usage(10_000, 100, cost_usd=0.0322)] * 2), known) is known, "2.2 % more"
    assert cache_that_held(paid(*[Usage(10_000, 100, cost_usd=0.032)] * 2), known).cache == "none", "1.6 % more"
    for other in (Provider(cache="none", prices=PAID_WRITES), Provider(cache="anthropic")):
        assert cache_that_held(paid(*[Usage(10_000, 100, cost_usd=0.0315)] * 2), other) is other


def test_a_cost_shows_what_was_read() -> None:
    # Of 10,000 in, 6,016 read: 3,984 * 3 + 6,016 * 0.3 + 100 * 15 = 15,256.8 millionths; none read: 31,500.
    read, none = costing(0.0152568, Usage(10_000, 100)), costing(0.0315, Usage(10_000, 100))

    def reads(*usages: Usage, prices: Prices | None = FREE_WRITES) -> list[int | None]:
        found = with_reads_by_cost(paid(*usages), Provider(prices=prices))
        return [call.usage.cache_read_tokens if call.usage else None for call in found.calls]

    assert reads(read, none, Usage(10_000, 100)) == [6_016, 0, None]
    # By other prices it would be no whole number, or none that can be; and what the log states is right.
    assert reads(read, none, costing(0.0152571, Usage(10_000, 100))) == [None] * 3
    assert reads(costing(0.0315027, Usage(10_000, 100))) == [None] == reads(costing(0.0044973, Usage(10_000, 100)))
    assert reads(read, costing(0.0315, Usage(10_000, 100, 0))) == [None, 0]
    # Writes may be in it too; without a discount it shows nothing, nor without a price.
    flat = Prices(input=3.0, output=15.0, cache_read=3.0)
    for prices in (PAID_WRITES, flat, Prices(input=3.0, output=15.0), None):
        assert reads(read, none, prices=prices) == [None, None]
