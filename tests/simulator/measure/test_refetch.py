"""What fetching again costs, and what can't be fetched. By hand."""

from __future__ import annotations

from random import Random

import pytest
from closed_loop import MASK, ONE, PRICES, TOKENS, closed
from samples import basis_of, summarized

from ctxsim.policies import open_policy
from ctxsim.simulator.measure.refetch import draw_rows, refetched
from ctxsim.simulator.provider import Provider
from ctxsim.transcript import Item, Transcript


def test_tokens_and_dollars_of_it_by_hand() -> None:
    row = summarized(ONE, MASK, Provider(prices=PRICES))
    _, sent = closed(ONE)
    plain = basis_of(ONE, Provider(prices=PRICES))
    again = refetched(plain, open_policy(MASK))
    # Without a cache a request costs its texts; framing is none. 1 USD for a million of input, 10 of output.
    tokens = [
        sum(map(TOKENS, texts)) + TOKENS("read") * sum(text.startswith("{") for text in texts) for _, texts, _ in sent
    ]
    usd = sum(tokens) / 1e6 + sum(output for _, _, output in sent) / 1e5
    assert (again.calls, again.changed, again.tokens_sent) == (1, 0, sum(tokens))
    assert again.cost_usd == pytest.approx(usd, abs=1e-10)
    assert row.cost_usd is not None
    assert (row.calls_refetched, row.refs_lost_for_good) == (1, 0)
    assert row.tokens_refetch == sum(tokens) - row.tokens_sum
    assert row.cost_refetch_usd == pytest.approx(usd - row.cost_usd, abs=1e-10)


@pytest.mark.parametrize("tool", ["Task", "frobnicate"])
def test_what_cannot_be_fetched_is_counted_and_not_inserted(tool: str) -> None:
    items = tuple(
        Item(one.kind, one.place, one.message, one.text, tool if one.place in (1, 2) else one.tool, one.answers)
        for one in ONE.items
    )
    row = summarized(Transcript("task", ONE.head, items, ONE.calls), MASK, Provider(prices=PRICES))
    # Another agent's answer, or that of a tool with an unknown name, held both names.
    assert (row.refs_lost_for_good, row.calls_refetched, row.cost_refetch_usd) == (2, 0, 0)


def test_what_has_changed_since_is_counted_apart() -> None:
    items = list(ONE.items)
    items[3] = Item("tool_call", 3, items[3].message, '{"file_path": "a.py", "content": "x"}', "Write")
    row = summarized(Transcript("write", ONE.head, tuple(items), ONE.calls), MASK, Provider(prices=PRICES))
    assert (row.calls_refetched, row.calls_refetched_changed) == (1, 1)


def test_drawn_at_a_rate_lies_between_the_ends() -> None:
    basis = basis_of(ONE, Provider(prices=PRICES))
    drawn = [refetched(basis, open_policy(MASK), (0.5, Random(seed))).calls for seed in range(40)]
    assert set(drawn) == {0, 1}
    assert refetched(basis, open_policy(MASK), (0.5, Random(3))) == refetched(
        basis, open_policy(MASK), (0.5, Random(3))
    )


def test_a_policy_is_drawn_so_many_times_and_a_bound_never() -> None:
    basis = basis_of(ONE, Provider(prices=PRICES))
    spec = open_policy(MASK)
    dice = [refetched(basis, spec, (0.5, Random(f"{draw} {ONE.name}"))) for draw in (1, 2, 3)]
    assert [(row.draw, row.inserted, row.cost_usd, row.tokens_sent) for row in draw_rows(basis, spec, 0.5, 3)] == [
        (draw, one.calls, one.cost_usd, one.tokens_sent) for draw, one in enumerate(dice, 1)
    ]
    assert draw_rows(basis, open_policy("oracle-lossless"), 0.5, 3) == []


@pytest.mark.parametrize("label", ["keep-all", "truncate-after-use:retain=100000"])
def test_where_nothing_is_lost_nothing_is_added(label: str) -> None:
    row = summarized(ONE, label, Provider(prices=PRICES))
    assert (row.calls_refetched, row.tokens_refetch, row.cost_refetch_usd) == (0, 0, 0)
