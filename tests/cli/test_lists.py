"""The commands that list what there is."""

from __future__ import annotations

import csv
from pathlib import Path

from command_line import ctxsim


def test_lists(tmp_path: Path) -> None:
    policies = ctxsim("policies", cwd=tmp_path).stdout
    assert "token-budget:budget=40000,retain=500" in policies and "fifo:budget=<int>" in policies
    assert "Documents 000 and 001" in policies
    assert "documented-53k: The documented failure" in ctxsim("scenarios", cwd=tmp_path).stdout
    assert "o200k_base   (default)" in ctxsim("tokenizers", cwd=tmp_path).stdout


def test_sources_are_one_line_each_with_preset_version_and_date(tmp_path: Path) -> None:
    rows = csv.reader(ctxsim("policies", "--source", "--format", "csv", cwd=tmp_path).stdout.splitlines())
    said = {name: told for name, *told in rows}
    assert said["clear-tool-uses"][:3] == ["agents", "Anthropic API, context editing", "clear_tool_uses_20250919"]
    assert said["keep-all"] == ["bound", "", "", ""]
    assert {len(columns) for columns in said.values()} == {4}
