"""What keeping a dead item and breaking the cache cost at each call, worked by hand."""

from __future__ import annotations

import msgspec
import pytest
from samples import ASK, TASK, basis_of, chat, conversation

from ctxsim.simulator.bounds.lossless import cache_prices
from ctxsim.simulator.bounds.schedule import KeepOrBreak
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.prices import Prices
from ctxsim.simulator.provider.rules import Other
from ctxsim.transcript import Transcript

LONG = "word " * 1_500
MADE = conversation(LONG, LONG, "c")
"""Calls 1 to 4 send 1, 3, 5 and 7 items; a request of fewer than 1,024 tokens isn't cached."""
PRICES = Prices(input=10.0, output=0.0, cache_read=1.0, cache_write=12.5)
READ, WRITE = 1e-6, 12.5e-6


def prices_at(made: Transcript = MADE, **rules: object) -> tuple[KeepOrBreak, list[int]]:
    """The prices, and by number of items the tokens of that many."""
    provider = Provider(**{"prices": PRICES, "cache": "anthropic", **rules})  # type: ignore[arg-type]
    basis = basis_of(made, provider)
    sizes = [0]
    for item in made.items:
        sizes.append(sizes[-1] + basis.counter.item(item))
    return cache_prices(basis.ledger), sizes


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


def test_a_call_to_another_model_has_that_model_s_prices() -> None:
    calls = [msgspec.structs.replace(call, model=model) for call, model in zip(MADE.calls, "aaba", strict=True)]
    made = msgspec.structs.replace(MADE, calls=tuple(calls))
    twice = Other("b", "b", Prices(input=20.0, output=0.0, cache_read=2.0, cache_write=25.0))
    found, tokens = prices_at(made, others=(twice,))
    # Call 3 finds no cache of its model, and call 4 what call 2 wrote: just over half of what was sent before.
    assert found.readable == [0, 0, 0, 0, tokens[3]]
    assert found.keep.tolist()[1:] == pytest.approx([WRITE, WRITE, 2 * WRITE, READ])
    assert list(found.break_usd)[1:] == pytest.approx([WRITE - READ, WRITE - READ, 2 * (WRITE - READ), WRITE - READ])


def test_runs_of_parallel_calls_and_their_results() -> None:
    parallel = [ASK, ASK, ("tool_result", LONG), ("tool_result", "b")]
    found, _ = prices_at(chat(("assistant", "Hi."), TASK, *parallel, ("user", "c"), ("assistant", "d")))
    assert list(found.runs) == [1, 2, 3, 3, 4, 4, 5, 6]
    # The first call is sent nothing; calls 2 and 3 end in runs 2 and 5.
    assert list(found.reach) == [0, 0 - 20, 2 - 20, 5 - 20]


@pytest.mark.parametrize(("reasoning", "counts"), [("all", True), ("never", False), ("current_turn", False)])
def test_thinking_counts_where_it_is_always_sent_again(reasoning: str, counts: bool) -> None:
    made = chat(TASK, ("reasoning", "hm hm"), ASK, ("tool_result", "a"), ("assistant", "b"))
    found, tokens = prices_at(made, reasoning=reasoning)
    thought = 0 if counts else tokens[2] - tokens[1]
    assert list(found.ends) == [tokens[1], *(upto - thought for upto in tokens[2:])]


@pytest.mark.parametrize(("first", "second", "cold"), [(1_200, 2_000, True), (2_000, 1_200, False)])
def test_a_request_of_which_less_than_half_is_read_is_cold(first: int, second: int, cold: bool) -> None:
    # The log says of the last call that the first result was read and the second one wasn't, of some 3,200 tokens.
    made = conversation(" a" * first, " a" * second, "c")
    calls = (*made.calls[:3], msgspec.structs.replace(made.calls[3], held=first + 20))
    found, tokens = prices_at(msgspec.structs.replace(made, calls=calls))
    assert found.readable == [0, 0, 0, tokens[3], tokens[4]] and found.cheaper == frozenset()
    assert found.keep[4] == pytest.approx(WRITE if cold else READ)


def test_an_edit_is_cheaper_where_less_can_be_read_or_writing_costs_less() -> None:
    last = msgspec.structs.replace(MADE.calls[3], held=0)
    lost, _ = prices_at(msgspec.structs.replace(MADE, calls=(*MADE.calls[:3], last)))
    assert (lost.readable[4], lost.cheaper) == (0, frozenset({4}))
    # Requests of 2,000 tokens and more, as the last two are, are written for less.
    found, _ = prices_at(prices=msgspec.structs.replace(PRICES, cache_write=((0, 12.5), (2_000, 5.0))))
    assert found.break_usd[1:] == pytest.approx([WRITE - READ, WRITE - READ, 4e-6, 4e-6])
    assert found.cheaper == frozenset({3})
