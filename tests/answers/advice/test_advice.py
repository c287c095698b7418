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
from ctxsim.answers.advice.verdict import kept_percent, verdict
from ctxsim.errors import UnknownName


def rows(*costs: float, kept: float = 1.0, **more: Any) -> list[dict[str, Any]]:
    """One transcript for each cost."""
    return [{"cost_usd": cost, "survival": kept, **more} for cost in costs]


def advised(folder: Path, policies: dict[str, Sequence[dict[str, Any]]], goal: str = "dollars") -> Advice:
    found = advise(made_run(folder, policies), goal)
    assert found is not None
    return found


def test_amounts_are_pooled_and_kept_is_a_mean_over_transcripts(tmp_path: Path) -> None:
    # 1 of 2 and 9 of 18 USD and so on: ratios 0.5 and 0.9, their mean 0.7; together 1 + 16.2 of 2 + 18 = 0.86.
    run = made_run(tmp_path, {"keep-all": rows(2, 18), "a": [*rows(1, kept=0.5), *rows(16.2, kept=1.0)]})
    figures = Pooled(run).all["a"]
    assert figures.usd == pytest.approx(17.2) and figures.usd_share is not None and figures.kept is not None
    assert figures.usd_share.value == pytest.approx(0.86) and figures.kept.value == 0.75


def test_transcripts_without_prices_or_needs_are_left_out_of_their_figure_only(tmp_path: Path) -> None:
    table = {
        "keep-all": [*rows(2, 4), {"tokens_sum": 500}],
        "a": [*rows(1, 2), {"tokens_sum": 100, "survival": None}],
    }
    figures = Pooled(made_run(tmp_path, table)).all["a"]
    assert (figures.transcripts, figures.priced, figures.usd) == (3, 2, 3.0)
    assert figures.tokens == 2100 and figures.tokens_share.value == pytest.approx(2100 / 2500)
    assert figures.kept is not None and figures.kept.value == 1.0


def test_a_transcript_is_priced_where_it_can_be_compared_with_keep_all(tmp_path: Path) -> None:
    # The second costs 4, but keep-all's price isn't known there; the third costs nobody knows what.
    unlike = {"cost_usd": 4, "cost_vs_keep_all": None}
    unknown = {"cost_usd": None, "cost_vs_keep_all": None}
    table = {"keep-all": [*rows(2), unlike, unknown], "a": [*rows(1), unlike, unknown]}
    figures = Pooled(made_run(tmp_path, table)).all["a"]
    assert (figures.transcripts, figures.priced, figures.usd) == (3, 1, 1.0)


def test_of_one_session_there_is_no_interval(tmp_path: Path) -> None:
    table = {"keep-all": rows(2, 4, root="one"), "a": rows(1, 1, root="one")}
    run = made_run(tmp_path, table)
    share = Pooled(run).all["a"].usd_share
    assert share is not None and (share.value, share.low, share.high) == (pytest.approx(1 / 3), None, None)
    found = advise(run)
    assert found is not None and not found.wins and found.ahead is None
    assert any("From one session; the answer may not hold for others." in line for line in verdict(found))


def test_refused_calls_rule_out(tmp_path: Path) -> None:
    table = {"keep-all": rows(10, 10), "cheap": rows(1, 1, overflows=1), "sound": rows(8, 8, kept=0.95)}
    assert advised(tmp_path, table).take.policy == "sound"


def test_where_all_are_refused_the_fewest_count(tmp_path: Path) -> None:
    table = {"keep-all": rows(10, 10, overflows=5), "a": rows(9, 9, overflows=2), "b": rows(5, 5, overflows=3)}
    found = advised(tmp_path, table)
    assert found.take.policy == "a" and "4 of 20 calls refused (counted as if answered)" in verdict(found)[0]


def test_what_loses_more_than_a_tenth_is_no_answer_but_is_named(tmp_path: Path) -> None:
    table = {
        "keep-all": rows(10, 10),
        "heavy": rows(2, 2, kept=0.5),
        "light": rows(7, 7, kept=0.96),
        "careful": rows(9, 9, kept=0.99),
    }
    found = advised(tmp_path, table)
    assert found.take.policy == "light"
    assert found.cheaper is not None and found.cheaper.policy == "heavy"
    assert found.losing_less is not None and found.losing_less.policy == "careful"
    lines = verdict(found)
    assert re.fullmatch(
        r"Take light: 14.00 USD instead of 20.00 \(-30 %, -\d+ to -\d+\), keeps 96 % of what later calls used, no call "
        "refused.", lines[0]
    )  # fmt: skip
    assert lines[1] == "Losing less: careful (-10 %, keeps 99 %). Cheaper: heavy (-80 %, keeps 50 %)."
    assert 3 <= len(lines) <= 5


@pytest.mark.parametrize(("cost", "named"), [(6.9, False), (6.85, False), (6.75, True), (6.5, True)])
def test_what_is_cheaper_by_two_per_cent_of_keep_all_is_named(cost: float, named: bool, tmp_path: Path) -> None:
    # 70 % of the bill are taken: 69 and 68.5 % aren't noticeably less, 67.5 and 65 % are.
    table = {"keep-all": rows(10, 10), "light": rows(7, 7, kept=0.95), "heavy": rows(cost, cost, kept=0.5)}
    found = advised(tmp_path, table)
    assert found.take.policy == "light"
    assert (found.cheaper is not None) == named


def test_of_those_hardly_dearer_the_one_that_loses_least(tmp_path: Path) -> None:
    # 70 % and 71 % of keep-all's bill: a hundredth is hardly anything, 7 points of loss are something.
    table = {"keep-all": rows(10, 10), "a": rows(7, 7, kept=0.91), "b": rows(7.1, 7.1, kept=0.98)}
    assert advised(tmp_path, table).take.policy == "b"


def test_keep_all_is_a_candidate(tmp_path: Path) -> None:
    found = advised(tmp_path, {"keep-all": rows(10, 10), "a": rows(9.9, 9.9, kept=0.95), "b": rows(1, 1, kept=0.1)})
    assert found.take.policy == "keep-all"
    assert verdict(found)[0].startswith("Change nothing: no policy") and "saves 2 % of the bill" in verdict(found)[0]
    # With 3 % to save it is worth it.
    found = advised(tmp_path / "b", {"keep-all": rows(10, 10), "a": rows(9.7, 9.7, kept=0.95)})
    assert found.take.policy == "a"


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


def test_a_saving_that_may_be_chance_is_no_answer(tmp_path: Path) -> None:
    # 4 of 10 on average, but in half of the sessions nothing is saved, and in more than one draw of twenty nothing.
    found = advised(tmp_path, {"keep-all": rows(*[10] * 4), "a": rows(1, 14, 12, 10, kept=0.95)})
    assert found.take.policy == "keep-all"
    assert found.cheaper is not None and found.cheaper.policy == "a"


def test_beside_change_nothing_a_cheaper_policy_says_what_is_unsure_of_it(tmp_path: Path) -> None:
    chance = {"keep-all": rows(10, 10, 10, 10), "a": rows(2, 11, 12, 2)}
    lines = verdict(advised(tmp_path / "chance", chance))
    # 27 of 40 dollars.
    assert re.fullmatch(r"Cheaper: a \(-32 %, keeps 100 %\), with a range of -\d+ to \d+ %\.", lines[1]), lines
    loses = {"keep-all": rows(*[10] * 8), "a": [*rows(*[5] * 4, kept=0.5), *rows(*[5] * 4)]}
    lines = verdict(advised(tmp_path / "loses", loses))
    assert re.fullmatch(r"Cheaper: a \(-50 %, keeps 75 %\), but may keep only \d+ %\.", lines[1]), lines


def test_the_share_beside_the_answer_is_how_often_it_wins(tmp_path: Path) -> None:
    # a saves in each of twelve sessions: it always wins. Nothing has to be said of others.
    found = advised(tmp_path / "sure", {"keep-all": rows(*[10] * 12), "a": rows(*[5] * 12, kept=0.95)})
    assert found.wins == {"a": 1.0} and not found.open
    assert "This stays the answer in 100 % of resamples of these sessions." in verdict(found)[-1]
    assert "With 90 % probability, a range contains the next 12 sessions' figure." in verdict(found)[-1]


def test_an_answer_that_wins_in_few_ways_is_open(tmp_path: Path) -> None:
    # a and b are cheaper by turns, and keep the same: which one wins hangs on which sessions come more often.
    table = {
        "keep-all": rows(10, 11, 12, 13, 14, 15, 16),
        "a": rows(1, 9, 2, 10, 3, 11, 8, kept=0.95),
        "b": rows(9, 1, 10, 2, 11, 3, 7, kept=0.95),
    }
    found = advised(tmp_path, table)
    assert {found.take.policy, *(one.policy for one in found.open)} == {"a", "b"}
    assert max(found.wins.values()) < 0.6 and found.more is not None
    lines = verdict(found)
    assert lines[0].startswith("Open between ") and "may tell them apart" in lines[-1]


def test_of_few_sessions_ranges_are_priors(tmp_path: Path) -> None:
    found = advised(tmp_path, {"keep-all": rows(10, 10), "a": rows(5, 5, kept=0.95)})
    assert "2 sessions are too few for intervals: the ranges' width comes from other projects." in verdict(found)[-1]


@pytest.mark.parametrize("left", [0.0, 0.1, 1.9, 5.0])
def test_no_range_saves_more_than_all(left: float, tmp_path: Path) -> None:
    share = Pooled(made_run(tmp_path, {"keep-all": rows(10, 10), "a": rows(left, left)})).all["a"].usd_share
    assert share is not None and share.low is not None and share.high is not None
    assert 0 <= share.low <= share.value <= share.high < 1


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.8955, "89.5"), (0.89999, "89.9"), (0.9, "90"), (0.8949, "89"), (0.9851, "98.5"), (0.99, "99"), (1.0, "100")],
)
def test_what_keeps_less_than_a_bar_is_not_rounded_up_to_it(value: float, said: str, tmp_path: Path) -> None:
    assert kept_percent(value) == said
    found = advised(tmp_path, {"keep-all": rows(10, 10, 10), "a": rows(5, 5, 5, kept=value)})
    assert f"keeps {said} %" in " ".join(verdict(found))


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


def test_where_keep_all_is_far_from_recorded_advice_is_weak(tmp_path: Path) -> None:
    far = {"calls_recorded": 10, "tokens_recorded_sum": 1000, "tokens_full_recorded": 1120}
    near = {"calls_recorded": 10, "tokens_recorded_sum": 1000, "tokens_full_recorded": 960}
    for name, recorded, weak in (("far", far, True), ("near", near, False)):
        table = {"keep-all": rows(10, 10, **recorded), "a": rows(5, 5, **recorded)}
        lines = verdict(advised(tmp_path / name, table))
        assert (lines[-1] == "Weak: keep-all is +12 % off what was recorded, so all figures may be off.") == weak


def test_goals(tmp_path: Path) -> None:
    table = {
        "keep-all": rows(10, tokens_sum=1000, tokens_peak=100),
        "bill": rows(5, kept=0.92, tokens_sum=900, tokens_peak=90),
        "all": rows(9, kept=1.0, tokens_sum=950, tokens_peak=95),
        "short": rows(9.5, kept=0.93, tokens_sum=400, tokens_peak=80),
        "flat": rows(9.6, kept=0.94, tokens_sum=800, tokens_peak=30),
    }
    taken = {goal: advised(tmp_path / goal, table, goal).take.policy for goal in GOALS}
    assert taken == {"dollars": "bill", "kept": "all", "tokens": "short", "window": "flat"}
    assert "30 tokens in the largest request instead of 100 (-70 %)" in verdict(advised(tmp_path, table, "window"))[0]
    with pytest.raises(UnknownName, match="dollars"):
        advise(made_run(tmp_path / "no", table), "dollar")


def test_without_prices_tokens_count(tmp_path: Path) -> None:
    table = {"keep-all": [{"tokens_sum": 1000}] * 2, "a": [{"tokens_sum": 600, "survival": None}] * 2}
    lines = verdict(advised(tmp_path, table))
    assert lines[0].startswith("No policy is sure enough to take. The best of those")
    assert "a: 1,200 tokens instead of 2,000 (-40 %" in lines[0]
    assert "no later call used an old result" in lines[0] and "no price is known, so tokens are compared" in lines[-1]


def test_where_some_prices_are_known_the_line_says_of_how_many(tmp_path: Path) -> None:
    table = {
        "keep-all": [{"cost_usd": 2.0}, {}, {}],
        "a": [{"cost_usd": 1.0, "tokens_sum": 600}, {"tokens_sum": 600}, {"tokens_sum": 600}],
    }
    assert "prices are known for 1 of them, so tokens are compared" in verdict(advised(tmp_path, table))[-1]


def test_sizes_and_their_change_belong_together(tmp_path: Path) -> None:
    # 100 + 900 against 90 + 400: 490 of 1,000, on average 245 of 500. The largest of all are 400 and 900.
    whole = [{"tokens_sum": 1000, "tokens_peak": 100}, {"tokens_sum": 9000, "tokens_peak": 900}]
    small = [{"tokens_sum": 900, "tokens_peak": 90}, {"tokens_sum": 4000, "tokens_peak": 400}]
    said = verdict(advised(tmp_path, {"keep-all": whole, "a": small}, "window"))[0]
    assert said.startswith(
        "Take a: 245 tokens in the largest request of a transcript on average instead of 500 (-51 %,"
    )


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


def test_where_nothing_gets_through_nobody_is_taken(tmp_path: Path) -> None:
    failed = {"first_failure": "overflow", "calls_until_first_failure": 2}
    table = {"keep-all": rows(10, 10, overflows=9, **failed), "a": rows(5, 5, overflows=8, **failed)}
    said = verdict(advised(tmp_path / "all", table))[0]
    assert said.startswith(
        "No policy tried gets through without refusals. The closest is a: 10.00 USD instead of 20.00 (-50 %"
    )
    # In one of two transcripts it does.
    table["a"] = [*rows(5, overflows=8, **failed), *rows(5)]
    assert verdict(advised(tmp_path / "one", table))[0].startswith("Take a: ")
    # Doing nothing is refused least, and is no answer either.
    table["a"] = rows(5, 5, overflows=10, **failed)
    said = verdict(advised(tmp_path / "nothing", table))[0]
    assert said.startswith(
        "No policy tried gets through without refusals. The closest is doing nothing: 20.00 USD, keeps 100 %"
    )


def test_what_loses_too_much_or_nobody_knows_how_much_is_not_to_be_taken(tmp_path: Path) -> None:
    table = {"keep-all": rows(10, 10, overflows=1), "a": rows(5, 5, kept=0.0)}
    said = verdict(advised(tmp_path / "much", table))[0]
    assert said.startswith("No policy to take: the best of those with the fewest refusals keeps less than 90 % of what")
    assert "It is a: 10.00 USD instead of 20.00 (-50 %" in said and "keeps 0 %" in said
    table["a"] = rows(5, 5, survival=None)
    said = verdict(advised(tmp_path / "unknown", table))[0]
    assert said.startswith(
        "No policy is sure enough to take. The best of those with the fewest refusals is a: 10.00 USD"
    )
    assert "so what it loses is unknown" in said


def test_the_page_states_the_rules_numbers() -> None:
    text = " ".join((ROOT / "docs" / "advice.md").read_text().split())
    for value in (rule.HARDLY, rule.RISK, rule.CHANCE, rules.FAR, rules.SETTLED, rules.NAMED, *rules.MAY_LOSE.values()):
        assert re.search(rf"\b{round(100 * value)} (?:%|points?)(?!\w)", text), value
    assert all(f"`{goal}`" in text for goal in GOALS)
