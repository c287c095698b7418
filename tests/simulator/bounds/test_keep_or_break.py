"""What keeping a dead item and breaking the cache cost at each call, worked by hand."""

from __future__ import annotations

import pytest
from samples import basis_of, conversation

from ctxsim.simulator.bounds.lossless import cache_prices
from ctxsim.simulator.bounds.schedule import KeepOrBreak
from ctxsim.simulator.bounds.search import Walk
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.prices import Prices

LONG = "word " * 1_500
MADE = conversation(LONG, LONG, "c")
"""Calls 1 to 4 send 1, 3, 5 and 7 items; a request of fewer than 1,024 tokens isn't cached."""
PRICES = Prices(input=10.0, output=0.0, cache_read=1.0, cache_write=12.5)
READ, WRITE = 1e-6, 12.5e-6


def prices_at(**rules: object) -> tuple[KeepOrBreak, list[int]]:
    """The prices, and by number of items the tokens of that many."""
    provider = Provider(**{"prices": PRICES, "cache": "anthropic", **rules})  # type: ignore[arg-type]
    basis = basis_of(MADE, provider)
    sizes = [0]
    for item in MADE.items:
        sizes.append(sizes[-1] + basis.counter.item(item))
    return cache_prices(MADE, provider, basis.counter, Walk(basis.ledger).kept), sizes


def test_what_is_read_costs_reading_and_what_is_not_costs_writing() -> None:
    found, tokens = prices_at()
    # Call 3 reads what call 2 wrote, its 3 items; call 4 the 5 items of call 3. Calls 1 and 2 find nothing.
    assert found.readable == [0, 0, 0, tokens[3], tokens[5]]
    # Less than half is read at calls 1 and 2: a dead token costs what writing it costs. Index 0 is no call.
    assert found.keep.tolist()[1:] == pytest.approx([WRITE, WRITE, READ, READ])
    assert list(found.break_usd)[1:] == pytest.approx([WRITE - READ] * 4)
    assert list(found.ends) == tokens[1:]
    assert found.cheaper == frozenset(), "what can be read only grows"
    # Item 3, the call behind the first result, is edited before call 4: what stands behind it is written again, not
    # read, but for what is dead of it.
    assert found.break_at(4, 3, 0, 0) == pytest.approx((tokens[5] - tokens[4]) * (WRITE - READ))
    assert found.break_at(4, 3, 1, 0) == pytest.approx((tokens[5] - tokens[4] - 1) * (WRITE - READ))


def test_neighbouring_calls_or_results_are_one_run_and_other_items_are_one_each() -> None:
    found, _ = prices_at()
    assert list(found.runs) == [1, 2, 3, 4, 5, 6, 7, 8], "no call stands beside a call here"
    # The look back is 20 positions: the last item of call 4's request is in run 7.
    assert list(found.reach)[1:] == [1 - 20, 3 - 20, 5 - 20, 7 - 20]
    assert list(prices_at(cache="openai")[0].reach) == [0] * 5, "a prefix has no look back"


def test_a_pause_makes_an_edit_cheaper() -> None:
    # 400 seconds from call to call: an entry of five minutes has gone each time, so nothing is ever read.
    found, _ = prices_at(pace_s=400.0)
    assert found.readable == [0] * 5 and found.keep.tolist()[1:] == pytest.approx([WRITE] * 4)
