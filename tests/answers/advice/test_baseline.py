"""Advice for sessions of known agents: beside the agent as it is set, and only what its user can set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from made_runs import made_run

from ctxsim.answers.advice.baseline import AsSetAdvice, AsSetRun, advise
from ctxsim.answers.advice.verdict import as_values, changed, verdict
from ctxsim.policies.agents.given import Given
from ctxsim.results import Run
from ctxsim.results.run_info import Recorder

WINDOW = "as-set:given=claude-code/autoCompactWindow=200000"
CUT = "as-set:given=claude-code/bashOutputMaxChars=4000"


def row(cost: float, kept: float = 1.0) -> dict[str, object]:
    return {"cost_usd": cost, "survival": kept, "tokens_sum": int(cost * 1000)}


def run_of(folder: Path, agents: Sequence[str] = ("claude-code",) * 3, **more: list[dict[str, object]]) -> Run:
    rows = {
        "keep-all": [row(20), row(20), row(20)],
        "as-set": [row(10, 0.9), row(12, 0.9), row(8, 0.9)],
        "mask": [row(2, 0.95), row(2, 0.95), row(2, 0.95)],
        **more,
    }
    recorders = [Recorder(f"t{n}", agent, f"2.1.{n}", "m") for n, agent in enumerate(agents) if agent]
    return made_run(folder, rows, recorders=recorders)


def own(run: Run) -> AsSetAdvice:
    found = advise(run)
    assert isinstance(found, AsSetAdvice)
    return found


def test_the_answer_is_a_setting_beside_what_is_set_though_a_policy_is_cheaper(tmp_path: Path) -> None:
    found = own(run_of(tmp_path / "r", **{WINDOW: [row(6, 0.9), row(6, 0.9), row(6, 0.9)]}))
    assert found.take.policy == WINDOW and found.nothing and found.nothing.policy == "as-set"
    # 18 dollars instead of the 30 as set; keep-all's 60 don't count.
    share = found.take.usd_share
    assert share and share.value == pytest.approx(18 / 30)
    assert changed(found) == (Given("claude-code", "autoCompactWindow", 200_000),)
    lines = verdict(found)
    assert lines[0].startswith("Set autoCompactWindow = 200000 in ~/.claude/settings.json: 18.00 USD instead of 30.00")
    assert "30.00 USD with the default settings of Claude Code 2.1.0 to 2.1.2 (-40 %" in lines[0]
    assert "Replayed with default settings; --settings reads yours." in lines[-1]
    assert [line for line in lines if "mask" in line] == [
        "If you build the agent: mask, 6.00 USD, keeps 95 % of what later calls used, no call refused."
    ]
    values = as_values(found)
    assert values and values["settings"] == [{"agent": "claude-code", "key": "autoCompactWindow", "value": 200_000}]


def test_where_no_setting_was_tried_nothing_is_said_of_fetching_again(tmp_path: Path) -> None:
    again = {"cost_refetch_usd": 1.0, "tokens_refetch": 100, "calls_refetched": 2}
    rows = {"keep-all": [row(10)] * 3, "as-set": [row(10, 0.9) | again] * 3}
    (alone, beside) = (own(run_of(tmp_path / name, **rows, **more))
                       for name, more in (("a", {}), ("b", {WINDOW: [row(12, 0.8) | again] * 3})))  # fmt: skip
    assert (alone.tried, alone.again) == ((), None) and beside.again is not None
    assert not any("again adds" in line for line in verdict(alone))


def test_nothing_is_compared_with_a_bill_of_nothing(tmp_path: Path) -> None:
    found = AsSetRun(run_of(tmp_path / "r", **{"as-set": [row(0), row(1), row(4)]}), "as-set")
    assert found.of("mask").cost_vs_keep_all.dropna().tolist() == [2.0, 0.5]


@pytest.mark.parametrize(("versions", "stand"), [(["2.1.7"], "CL"), (["2.1.330"], "C"), (["2.1.7", "2.1.330"], "CL")])
def test_two_names_of_a_setting_are_one_where_they_mean_the_same(
    versions: list[str], stand: str, tmp_path: Path
) -> None:
    # An old version doesn't know the newer name: alone it changes nothing, beside another version something else.
    labels = {"C": CUT, "L": "as-set:given=claude-code/BASH_MAX_OUTPUT_LENGTH=4000"}
    rows = {label: [row(6)] * len(versions) for label in ("keep-all", "as-set", *labels.values())}
    recorders = [Recorder(f"t{n}", "claude-code", version, "m") for n, version in enumerate(versions)]
    found = AsSetRun(made_run(tmp_path / "r", rows, recorders=recorders), "as-set")
    assert found.labels == ["as-set", *(labels[one] for one in stand)]


@pytest.mark.parametrize(("cost", "better"), [(98.0, None), (97.9, "mask")])
def test_what_users_cannot_set_is_told_if_it_saves_more_than_a_fiftieth(
    cost: float, better: str | None, tmp_path: Path
) -> None:
    # Thrice 98 dollars are hardly less than thrice 100.
    rows = {"keep-all": [row(400)] * 3, "as-set": [row(100, 0.9)] * 3, "mask": [row(cost)] * 3}
    found = own(run_of(tmp_path / "r", **rows))
    assert (found.builders and found.builders.policy) == better


def test_without_any_known_agent_the_rule_answers_as_ever(tmp_path: Path) -> None:
    run = run_of(tmp_path / "r", ())
    found = advise(run)
    assert found is not None and not isinstance(found, AsSetAdvice)
    assert found.take.policy == "mask"
    assert any(line.startswith("as-set is keep-all here") for line in verdict(found))
