"""Presets: every policy of a family runs, and the bounds stay in."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import ctxsim

from ctxsim.errors import UnknownName
from ctxsim.policies import open_policies, registered_policies
from ctxsim.results import read_run
from ctxsim.runs.presets import PRESETS, preset_policies


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


def test_a_policy_that_must_be_told_something_runs_as_in_a_bench() -> None:
    assert "fifo:budget=40000" in preset_policies("seeds")


def test_a_preset_that_is_none_is_told() -> None:
    with pytest.raises(UnknownName, match="did you mean agents"):
        preset_policies("agent")


def test_the_command_runs_a_preset_beside_a_policy(tmp_path: Path) -> None:
    done = ctxsim("bench", "--scenario", "documented-53k", "--policy", "papers", "--policy", "retry", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "results").iterdir()
    ran = read_run(folder).labels
    assert {label.split(":")[0] for label in ran} == {"keep-all", "drop-all", "oracle-lossless", "mask", "retry"}
