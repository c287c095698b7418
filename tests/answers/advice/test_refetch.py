"""The answer where what is lost is fetched again: ranges, the rate at which it turns, and turns that eat a saving."""

from __future__ import annotations

import random
from itertools import combinations
from pathlib import Path

import pytest
from made_runs import made_run

from ctxsim.answers.advice.advice import advise
from ctxsim.answers.advice.pooled import Pooled
from ctxsim.answers.advice.refetch import even_rate
from ctxsim.answers.advice.verdict import verdict
from ctxsim.results import Run


def rows(cost: float, again: float | None, kept: float = 1.0) -> list[dict[str, object]]:
    one = {"cost_usd": cost, "cost_refetch_usd": again, "survival": kept, "tokens_sum": 100, "tokens_refetch": 0}
    return [one] * 12


def turning(folder: Path) -> Run:
    """`cheap` is the cheapest as long as less than a quarter is fetched again: 6 + 6 r = 7 + 2 r."""
    return made_run(folder, {"keep-all": rows(10, 0), "cheap": rows(6, 6, 0.95), "steady": rows(7, 2, 0.95)})


def test_ends_turns_and_the_rate_at_which_nothing_is_saved(tmp_path: Path) -> None:
    run = made_run(tmp_path, {"keep-all": rows(10, 0), "a": rows(6, 5, 0.95)})
    found = advise(run)
    assert found is not None and found.again is not None and found.take.policy == "a"
    # 72 + 60 r = 120 at r = .8; 120 / 72 times the turns cost as much as doing nothing.
    assert found.again.even_at == pytest.approx(0.8)
    assert found.again.turns == pytest.approx(120 / 72)
    lines = verdict(found)
    assert lines[0].startswith("Take a: 72.00 to 132 USD instead of 120 (-40 %")
    assert (
        "Fetching all lost results again adds 60.00 USD. The policy saves as long as less than 80 % is fetched again; "
        "with nothing fetched again, it saves unless the agent takes 1.67 times as many turns" in lines[1]
    )
    assert "(published measurements: 0.86 to 1.20)" in lines[1]


def test_turns_that_eat_a_saving_at_every_rate_are_those_at_rate_1(tmp_path: Path) -> None:
    run = made_run(tmp_path, {"keep-all": rows(10, 0), "a": rows(6, 2, 0.95)})
    found = advise(run)
    # 12 times (6 + 2) dollars with all fetched again, beside 12 times 10.
    assert found is not None and found.again is not None and found.again.even_at is None
    assert found.again.turns == pytest.approx(10 / 8)
    assert "The policy saves even then unless the agent takes 1.25 times as many turns" in verdict(found)[1]


def test_where_the_answer_turns_within_what_was_seen_both_are_named(tmp_path: Path) -> None:
    found = advise(turning(tmp_path))
    assert found is not None and found.again is not None and found.again.instead is not None
    assert (found.take.policy, found.again.instead.policy) == ("cheap", "steady")
    # Equal at a quarter. The rule takes what is cheaper by 2 % of keep-all's bill only: a little later or earlier.
    assert found.again.instead_at == pytest.approx(0.25, abs=0.06)
    assert any(
        "take steady" in line and "after compactions, recorded agents did so with 20 to 85 %" in line
        for line in verdict(found)
    )


def test_at_a_rate_of_their_own_amounts_and_the_answer_are_those_there(tmp_path: Path) -> None:
    run = made_run(
        tmp_path, {"keep-all": rows(10, 0), "cheap": rows(6, 6, 0.95), "steady": rows(7, 2, 0.95)}, refetch=0.5
    )
    figures = Pooled(run).all["cheap"]
    assert figures.usd == pytest.approx(12 * (6 + 0.5 * 6))
    found = advise(run)
    assert found is not None and found.take.policy == "steady"
    assert "50 % of lost results are fetched again" in " ".join(verdict(found))
    # The rates at which two cost the same don't depend on it.
    assert even_rate(Pooled(run), "cheap", "steady", "usd") == pytest.approx(0.25)


def test_of_runs_that_dont_know_it_nothing_is_said(tmp_path: Path) -> None:
    found = advise(made_run(tmp_path, {"keep-all": rows(10, None), "a": rows(6, None, 0.95)}))
    assert found is not None and found.again is None
    assert not any("fetch" in line for line in verdict(found))


def test_the_rate_is_that_of_brute_force(tmp_path: Path) -> None:
    # One run with eight policies drawn by chance: each beside each other one.
    chance = random.Random(0)
    amounts = {name: (chance.uniform(1, 9), chance.uniform(1, 9)) for name in "abcdefgh"}
    policies = {name: rows(spent, more) for name, (spent, more) in amounts.items()}
    found, turned = Pooled(made_run(tmp_path, {"keep-all": rows(10, 0), **policies})), 0
    for (label, (one, more)), (another, (other, less)) in combinations(amounts.items(), 2):
        dearer = [one + rate / 100 * more > other + rate / 100 * less for rate in range(101)]
        flips = [rate / 100 for rate in range(1, 101) if dearer[rate] != dearer[rate - 1]]
        rate = even_rate(found, label, another, "usd")
        turned += bool(flips)
        assert (rate is not None and abs(rate - flips[0]) <= 0.01) if flips else (rate is None or rate in (0, 1))
    assert turned > 5
