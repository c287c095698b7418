"""Presets: every policy of a family runs, and the bounds stay in."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import ctxsim

from ctxsim.errors import UnknownName
from ctxsim.policies import open_policies, registered_policies
from ctxsim.policies.agents.given import Given
from ctxsim.policies.agents.search import label_of, usual
from ctxsim.results import read_run
from ctxsim.runs.presets import (
    DEFAULT_POLICIES,
    PRESETS,
    as_given,
    expanded,
    is_preset,
    of_agents,
    preset_policies,
)


def test_a_preset_runs_its_family_and_the_bounds_and_nothing_else() -> None:
    for preset in PRESETS:
        specs = open_policies(preset_policies(preset))
        families = {cls.family for spec in specs for cls, _, _ in spec.links if not spec.bound}
        assert families <= {preset}
        named = {name for spec in specs for _, name, _ in spec.links}
        assert named >= {name for name, cls in registered_policies().items() if cls.family == preset}
        assert named >= {"keep-all", "drop-all", "oracle-lossless"}


def test_two_presets_hold_what_each_holds_once() -> None:
    both = preset_policies("seeds, papers")
    assert set(both) == {*preset_policies("seeds"), *preset_policies("papers")} and len(both) == len(set(both))


def test_a_preset_that_is_none_is_told() -> None:
    with pytest.raises(UnknownName, match="did you mean agents"):
        preset_policies("agent")


def test_the_command_runs_a_preset_beside_a_policy(tmp_path: Path) -> None:
    done = ctxsim("bench", "--scenario", "documented-53k", "--policy", "papers", "--policy", "retry", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "results").iterdir()
    ran = read_run(folder).labels
    assert {label.split(":")[0] for label in ran} == {"keep-all", "drop-all", "oracle-lossless", "mask", "retry"}


def test_a_bench_of_recordings_runs_these() -> None:
    assert DEFAULT_POLICIES == (
        "keep-all", "drop-all", "oracle-lossless", "oracle-lossless:aim=dollars", "token-budget", "truncate-after-use",
        "max-result-chars:chars=20000", "max-messages:n=41", "head-tail", "fifo:budget=40000", "summary",
        "head-tail+summary", "mask:keep=10", "retry",
    )  # fmt: skip
    assert PRESETS == ("agents", "frameworks", "seeds", "papers")


def test_a_label_is_a_preset_by_its_first_name() -> None:
    assert is_preset("agents") and is_preset("papers,seeds") and not is_preset("mask") and not is_preset("agentsx")
    bounds = ("keep-all", "drop-all", "oracle-lossless", "oracle-lossless:aim=dollars")
    assert preset_policies("papers") == (*bounds, "mask")
    assert expanded(["fifo:budget=9", "papers", "mask", "keep-all"]) == ("fifo:budget=9", *bounds, "mask")


def test_agents_bring_how_they_are_set_and_values_of_what_matters_most() -> None:
    assert of_agents([]) == of_agents(["openai-chat"]) == []
    codex = of_agents(["openai-chat", "codex-rollout", "codex-rollout"])
    assert codex[0] == "as-set" and len(codex) == 1 + len(usual("codex")) > 1
    assert codex[1:] == [label_of((), [one]) for one in usual("codex")]
    both = of_agents(["codex-rollout", "claude-code"])
    assert len(both) == len(codex) + len(usual("claude-code"))
    given = [Given("codex", "model_auto_compact_token_limit", 90_000)]
    assert of_agents(["codex-rollout"], given)[0] == label_of(given) != "as-set"
    assert as_given("as-set", given) == label_of(given) and as_given("mask", given) == "mask"
    assert as_given("as-set", ()) == "as-set"
