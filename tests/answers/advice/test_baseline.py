"""Advice for sessions of known agents: beside the agent as it is set, and only what its user can set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from made_runs import made_run

from ctxsim.answers.advice.baseline import AsSetAdvice, AsSetRun, advise
from ctxsim.answers.advice.setting_names import told, who
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
        "If you build the agent: mask, 6.000 USD, keeps 95 % of what later calls used, no call refused."
    ]
    values = as_values(found)
    assert values and values["settings"] == [{"agent": "claude-code", "key": "autoCompactWindow", "value": 200_000}]


def test_where_no_setting_is_worth_it_nothing_is_to_be_changed(tmp_path: Path) -> None:
    dear = {WINDOW: [row(9.9, 0.9), row(12, 0.9), row(8, 0.9)], CUT: [row(4, 0.2), row(4, 0.2), row(4, 0.2)]}
    found = own(run_of(tmp_path / "r", **dear))
    assert found.take.policy == "as-set" and changed(found) == ()
    first = verdict(found)[0]
    assert first.startswith("Change nothing: none of 2 settings tried surely saves 2 % without losing more")
    assert (
        "losing more than 10 % (ctxsim advise tries more)" in first and "30.00 USD with the default settings" in first
    )


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


def test_what_is_set_is_the_plain_row_wherever_it_stands(tmp_path: Path) -> None:
    rows = {WINDOW: [row(6, 0.9)] * 3, "as-set": [row(10, 0.9)] * 3}
    recorders = [Recorder(f"t{n}", "claude-code", "2.1.1", "m") for n in range(3)]
    found = own(made_run(tmp_path / "r", {"keep-all": [row(20)] * 3, **rows}, recorders=recorders))
    assert found.nothing and found.nothing.policy == "as-set" and found.take.policy == WINDOW
    assert "18.00 USD instead of 30.00 USD with the default settings of Claude Code" in verdict(found)[0]


def test_an_agent_without_a_setting_that_was_tried(tmp_path: Path) -> None:
    first = verdict(own(run_of(tmp_path / "r")))[0]
    assert first.startswith("Change nothing: no other setting was tried. 30.00 USD with the default settings")


def test_one_agents_sessions_alone(tmp_path: Path) -> None:
    codex = "as-set:given=codex/model_auto_compact_token_limit=90000"
    more = {WINDOW: [row(5, 0.9), row(5, 0.9), row(8, 0.9)], codex: [row(10, 0.9), row(12, 0.9), row(1, 0.9)]}
    run = run_of(tmp_path / "r", ("claude-code", "claude-code", "codex"), **more)
    one = advise(run, "dollars", "codex")
    assert isinstance(one, AsSetAdvice) and one.take.policy == codex and one.take.usd == 1
    assert one.nothing and one.nothing.usd == 8
    other = advise(run, "dollars", "claude-code")
    assert other and other.take.policy == WINDOW and other.take.usd == 10


def test_sessions_of_unknown_agents_are_told(tmp_path: Path) -> None:
    found = own(run_of(tmp_path / "r", ("claude-code", "", ""), **{WINDOW: [row(5), row(5), row(5)]}))
    assert any("2 were recorded by an unknown agent and are replayed without edits." in line for line in verdict(found))


def test_without_any_known_agent_the_rule_answers_as_ever(tmp_path: Path) -> None:
    run = run_of(tmp_path / "r", ())
    found = advise(run)
    assert found is not None and not isinstance(found, AsSetAdvice)
    assert found.take.policy == "mask"
    assert any(line.startswith("as-set is keep-all here") for line in verdict(found))


def test_agents_and_settings_in_words() -> None:
    ones = [
        Recorder("a", "codex", "0.140.0"),
        Recorder("b", "claude-code", "2.1.9"),
        Recorder("c", "claude-code", "2.1.10"),
    ]
    assert who([*ones, Recorder("d", "pi")]) == "Codex 0.140.0, Claude Code 2.1.9 to 2.1.10, pi"
    both = (Given("pi", "compaction.enabled", False), Given("pi", "compaction.reserveTokens", 40_000))
    assert told(both) == (
        "compaction.enabled = false in ~/.pi/agent/settings.json and "
        "compaction.reserveTokens = 40000 in ~/.pi/agent/settings.json"
    )
