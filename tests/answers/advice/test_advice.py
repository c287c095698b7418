"""Which policy to take, by hand: every rule of docs/advice.md."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis.strategies import data, floats, integers, lists
from made_runs import made_run
from project import ROOT

from ctxsim.answers.advice import advice as rules
from ctxsim.answers.advice import rule
from ctxsim.answers.advice.advice import GOALS, Advice, advise
from ctxsim.answers.advice.pooled import Pooled
from ctxsim.answers.advice.verdict import verdict


def rows(*costs: float, kept: float = 1.0, **more: Any) -> list[dict[str, Any]]:
    """One transcript for each cost."""
    return [{"cost_usd": cost, "survival": kept, **more} for cost in costs]


def advised(folder: Path, policies: dict[str, Sequence[dict[str, Any]]], goal: str = "dollars") -> Advice:
    found = advise(made_run(folder, policies), goal)
    assert found is not None
    return found


def test_a_transcript_is_priced_where_it_can_be_compared_with_keep_all(tmp_path: Path) -> None:
    # The second costs 4, but keep-all's price isn't known there; the third costs nobody knows what.
    unlike = {"cost_usd": 4, "cost_vs_keep_all": None}
    unknown = {"cost_usd": None, "cost_vs_keep_all": None}
    table = {"keep-all": [*rows(2), unlike, unknown], "a": [*rows(1), unlike, unknown]}
    figures = Pooled(made_run(tmp_path, table)).all["a"]
    assert (figures.transcripts, figures.priced, figures.usd) == (3, 1, 1.0)


@pytest.mark.parametrize(("cost", "named"), [(6.9, False), (6.85, False), (6.75, True), (6.5, True)])
def test_what_is_cheaper_by_two_per_cent_of_keep_all_is_named(cost: float, named: bool, tmp_path: Path) -> None:
    # 70 % of the bill are taken: 69 and 68.5 % aren't noticeably less, 67.5 and 65 % are.
    table = {"keep-all": rows(10, 10), "light": rows(7, 7, kept=0.96), "heavy": rows(cost, cost, kept=0.5)}
    found = advised(tmp_path, table)
    assert found.take.policy == "light"
    assert (found.cheaper is not None) == named


def test_bounds_are_no_candidates(tmp_path: Path) -> None:
    table = {"keep-all": rows(10, 10), "oracle": rows(1, 1), "a": rows(9, 9)}
    run = made_run(tmp_path, table, bounds=("keep-all", "oracle"))
    found = advise(run)
    assert found is not None and found.take.policy == "a"
    assert advise(made_run(tmp_path / "b", {"keep-all": rows(1)})) is None


def test_overlap_is_said(tmp_path: Path) -> None:
    # Cheaper by turns: the difference of a and b has 0 in its interval, and both keep the same. c keeps less, always.
    table = {
        "keep-all": rows(10, 10, 10),
        "a": rows(5, 8, 5, kept=0.95),
        "b": rows(8, 5, 6, kept=0.95),
        "c": rows(8, 5, 6, kept=0.94),
    }
    found = advised(tmp_path, table)
    assert found.take.policy == "a" and found.alike == ("b",)
    assert any("These may be as good: b (intervals overlap)" in line for line in verdict(found))


def test_the_share_beside_the_answer_is_how_often_it_wins(tmp_path: Path) -> None:
    # a saves in each of twelve sessions and loses nothing: it always wins. Nothing has to be said of others.
    found = advised(tmp_path / "sure", {"keep-all": rows(*[10] * 12), "a": rows(*[5] * 12)})
    assert found.wins == {"a": 1.0} and not found.open
    assert "This stays the answer in 100 % of resamples of these sessions." in verdict(found)[-1]
    assert "With 90 % probability, a range contains the next 12 sessions' figure." in verdict(found)[-1]
    # It loses a twentieth in each: in some ways that no session shows more than a tenth, and then it isn't taken.
    less = advised(tmp_path / "less", {"keep-all": rows(*[10] * 12), "a": rows(*[5] * 12, kept=0.95)})
    assert set(less.wins) == {"a", "keep-all"} and 0.85 < less.wins["a"] < 0.95


def test_an_answer_that_wins_in_few_ways_is_open(tmp_path: Path) -> None:
    # a and b are cheaper by turns, and keep the same: which one wins hangs on which sessions come more often.
    table = {
        "keep-all": rows(10, 11, 12, 13, 14, 15, 16),
        "a": rows(1, 9, 2, 10, 3, 11, 8),
        "b": rows(9, 1, 10, 2, 11, 3, 7),
    }
    found = advised(tmp_path, table)
    assert {found.take.policy, *(one.policy for one in found.open)} == {"a", "b"}
    assert max(found.wins.values()) < 0.6 and found.more is not None
    lines = verdict(found)
    assert lines[0].startswith("Open between ") and "may tell them apart" in lines[-1]


@settings(max_examples=12)
@given(data())
def test_no_headline_saves_less_than_two_per_cent_or_by_chance(tmp_path_factory: Any, drawn: Any) -> None:
    sessions = drawn.draw(integers(2, 12))
    costs = lists(floats(1, 20), min_size=sessions, max_size=sessions)
    kept = floats(0.5, 1)
    policies = {name: rows(*drawn.draw(costs), kept=drawn.draw(kept)) for name in ("a", "b", "c")}
    run = made_run(tmp_path_factory.mktemp("run"), {"keep-all": rows(*[10] * sessions), **policies})
    found = advise(run)
    assert found is not None
    pooled = Pooled(run)
    for one in (found.take, *found.open):
        if one.policy != "keep-all":
            interval = pooled.interval(one.policy, "usd")
            assert one.usd_share is not None and one.usd_share.value <= 0.98 + 1e-9
            assert interval is not None and interval[1] < 1


def test_an_agent_that_ended_early_is_no_candidate_and_beside_its_own_calls(tmp_path: Path) -> None:
    early = rows(3, calls=6, tokens_sum=300, tokens_full_sum=300)
    early[0]["cost_vs_keep_all"] = 1.0
    table = {"keep-all": rows(10), "a": rows(8), "observed:x": early, "observed:y": rows(9)}
    run = made_run(tmp_path, table)
    found = advise(run)
    assert found is not None and found.take.policy == "a"
    assert verdict(found)[-1] == ("observed:x ended after 6 of 10 calls: its figures are of these, it is no candidate.")
    share = Pooled(run).all["observed:x"].usd_share
    assert share is not None and share.value == 1.0


def test_the_page_states_the_rules_numbers() -> None:
    text = " ".join((ROOT / "docs" / "advice.md").read_text().split())
    for value in (rule.HARDLY, rule.RISK, rule.CHANCE, rules.FAR, rules.SETTLED, rules.NAMED, *rules.MAY_LOSE.values()):
        assert re.search(rf"\b{round(100 * value)} (?:%|points?)(?!\w)", text), value
    assert all(f"`{goal}`" in text for goal in GOALS)
