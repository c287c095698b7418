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
