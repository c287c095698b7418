"""Schedules of clearings: what they cost, what they cost at least, and how far is looked for a cheaper one. By hand."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from samples import basis_of, conversation

from ctxsim.simulator.bounds import lossless, programme
from ctxsim.simulator.bounds.programme import Goal, Keeping, Programme, cheapest_alone
from ctxsim.simulator.bounds.schedule import Dead
from ctxsim.simulator.bounds.search import Search, _least
from ctxsim.simulator.ledger import Ledger
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.prices import Prices

LONG = "word " * 1_500
MADE = conversation(LONG, LONG, "c")
"""Calls 1 to 4 send 1, 3, 5 and 7 items."""
FLAT = Prices(input=1.0, output=0.0)
CACHED = Prices(input=10.0, output=0.0, cache_read=1.0, cache_write=12.5)


def walk(prices: Prices, cache: str = "none") -> tuple[Ledger, list[int], int]:
    """A ledger, the tokens of each request, and those of the first result."""
    basis = basis_of(MADE, Provider(prices=prices, cache=cache))
    return basis.ledger, list(basis.keep_all.calls["tokens_sent"]), basis.counter.item(MADE.items[2])


def test_an_offer_is_taken_if_it_is_cheaper() -> None:
    # Without a cache a token costs 1 USD in a million with each call that sends it.
    walked, tokens, result = walk(FLAT)
    search = Search(walked, [Dead(2, result, 3)], "", 0)
    assert (search.best, search.usd) == ({}, pytest.approx(sum(tokens) / 1e6))
    search.offer({2: 5})
    assert search.best == {}, "after the last call nothing is sent"
    search.offer({2: 4})
    assert (search.best, search.usd) == ({2: 4}, pytest.approx((sum(tokens) - result) / 1e6))
    search.offer({2: 3})
    assert (search.best, search.usd) == ({2: 3}, pytest.approx((sum(tokens) - 2 * result) / 1e6))
    search.offer({2: 4})
    assert search.best == {2: 3}


@pytest.mark.parametrize(("limit", "found"), [(0, {}), (40, {2: 3})])
def test_no_more_requests_are_walked_than_allowed(limit: int, found: dict[int, int]) -> None:
    walked, _, result = walk(FLAT)
    search = Search(walked, [Dead(2, result, 3)], "", limit)
    search.run()
    assert search.best == found


def test_how_much_of_each_request_is_read_whole() -> None:
    # Requests of 300, 398 and 498 tokens; the results stand at 2 and 4. Without a cache nothing is read, not even the
    # first item. In units of 64 tokens: 256 to 319 of the second request, 384 to 447 of the third.
    made = conversation(" a" * 96, " a" * 98, system=" a" * 296)
    # All was read of a request that others had sent.
    sent_before = msgspec.structs.replace(
        made, calls=(msgspec.structs.replace(made.calls[0], held=300), *made.calls[1:])
    )
    for transcript, cache, unread in (
        (made, "none", [0, 0, 0]),
        (made, "deepseek", [0, 2, 4]),
        (sent_before, "deepseek", [6, 2, 4]),
    ):
        kept = basis_of(transcript, Provider(cache=cache)).ledger.kept
        assert ([step.split.total for step in kept], [step.unread for step in kept]) == ([300, 398, 498], unread)


def test_the_least_of_each_call() -> None:
    walked, tokens, result = walk(CACHED, "anthropic")
    assert [step.split.total for step in walked.kept] == tokens
    # Call 1 is too short for a cache, call 2 writes all, calls 3 and 4 read what the one before had.
    read = [0, 0, tokens[1], tokens[2]]
    now = [tokens[0] * 10, tokens[1] * 12.5, *(read[n] + (tokens[n] - read[n]) * 12.5 for n in (2, 3))]
    dead = [Dead(2, result, 3)]
    assert least(walked, []) == pytest.approx(now)
    # From call 3 on the first result is neither sent nor read.
    assert least(walked, dead) == pytest.approx([*now[:2], now[2] - result, now[3] - result])


def least(walked: Ledger, dead: Sequence[Dead]) -> list[float]:
    return [usd * 1e6 for usd in _least(dead, walked)]


@pytest.mark.parametrize(("dies", "calls", "requests"), [
    # 4 calls, of which each of six results has the last or none: 4 x 2^6.
    ([4] * 6, 4, 40_000), ([2, 2], 40, 500), ([2, 2], 41, 0),
    # 40 calls x 10 x 10 x 10; or 11 for the last.
    ([32] * 3, 40, 40_000), ([32, 32, 31], 40, 500),
])  # fmt: skip
def test_how_many_requests_may_be_walked(dies: list[int], calls: int, requests: int) -> None:
    assert lossless._limit([Dead(n, 1, one) for n, one in enumerate(dies)], calls) == requests


def test_the_heaviest_goals_are_met_first_and_the_last_in_part() -> None:
    goals = [Goal(1, weight, (0,)) for weight in (0.2, 0.5, 0.3)]
    for survival, paid in ((0.0, 0.0), (0.5, 2.0), (0.65, 3.0), (1.0, 6.0)):
        assert cheapest_alone(goals, 2.0, survival).bound == pytest.approx(paid, abs=1e-4)


def test_the_relaxed_programme_pays_a_whole_step_for_a_whole_goal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programme, "FEW", 0)
    # Either source meets the goal: the cheaper one, of which half meets half of it. Its second step isn't needed.
    keepings = [Keeping(0, ((3, 6.0), (5, 1.0))), Keeping(1, ((3, 10.0),))]
    either = Programme(keepings, [Goal(3, 1.0, (0, 1))])
    assert either.least(1.0).bound == pytest.approx(6.0, abs=1e-4)
    assert either.least(1.0).kept == {0: 3} and either.least(1.0).found == 6.0
    assert either.least(0.5).bound == pytest.approx(3.0, abs=1e-4)
    # The later step needs the one before it.
    later = Programme(keepings, [Goal(5, 1.0, (0,))])
    assert (later.least(1.0).bound, later.least(1.0).kept) == (pytest.approx(7.0, abs=1e-4), {0: 5})
