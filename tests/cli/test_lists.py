"""The commands that list what there is."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

from command_line import ctxsim


def test_lists(tmp_path: Path) -> None:
    policies = ctxsim("list", "policies", cwd=tmp_path).stdout
    assert "token-budget:budget=40000,retain=500" in policies and "fifo:budget=<int>" in policies
    assert "Documents 000 and 001" in policies
    assert "documented-53k: The documented failure" in ctxsim("list", "scenarios", cwd=tmp_path).stdout
    assert re.search(r"^ o200k_base +yes$", ctxsim("list", "tokenizers", cwd=tmp_path).stdout, re.M)


def test_sources_are_one_line_each_with_preset_version_and_date(tmp_path: Path) -> None:
    text = ctxsim("list", "policies", "--format", "csv", cwd=tmp_path).stdout
    rows = csv.DictReader(io.StringIO(text, newline=""))
    keys = ("mark", "family", "source", "version", "read")
    said = {row["name"]: [row[key] for key in keys] for row in rows}
    preset = ["", "agents", "Anthropic API, context editing", "clear_tool_uses_20250919"]
    assert said["clear-tool-uses"][:4] == preset
    assert said["keep-all"] == ["bound", "", "", "", ""]
    assert not any("\n" in cell for cells in said.values() for cell in cells)


def test_a_pattern_lists_what_fits_it(tmp_path: Path) -> None:
    def names(*line: str) -> set[str]:
        (table,) = json.loads(ctxsim("list", *line, "--format", "json", cwd=tmp_path).stdout)["tables"]
        return {row[next(iter(row))] for row in table["rows"]}

    assert names("policies", "mask") == {"mask"}
    assert names("estimators", "chars*") == {"chars", "chars-total"}
    assert names("agents", "pi") == {"pi", "copilot-cli"} and len(names("agents")) > 5
    assert names("formats", "codex") == {"codex-rollout"} and len(names("formats")) > 20
    assert names("scenarios", "documented-53k*") == {"documented-53k", "documented-53k-cached"}
    assert names("tokenizers", "tiktoken:*") == {"tiktoken:o200k_base", "tiktoken:cl100k_base"}
    assert names("config", "window") == {"window"}
    assert names("vendors", "gemini") == {"google"}
    assert names("columns", "survival_loose") == {"summary"}
    assert names("columns", "losses.*") == {"losses"}
    assert names("columns", "table.usd*") == {"table"}
    # As Markdown all of it is a page of the documentation.
    assert ctxsim("list", "formats", "--format", "md", cwd=tmp_path).stdout.startswith("# Transcript formats\n")
    assert ctxsim("list", "formats", "codex", cwd=tmp_path).stdout.startswith("codex-rollout: Codex CLI rollout")
    assert ctxsim("list", "columns", "survival_loose", cwd=tmp_path).stdout.startswith("summary.survival_loose   (")


def test_labels_are_listed_whole(tmp_path: Path) -> None:
    for line in ctxsim("list", "scenarios", cwd=tmp_path).stdout.splitlines():
        assert not line.endswith("-"), line


def test_texts_of_settings_stand_to_the_left(tmp_path: Path) -> None:
    found = ctxsim("list", "config", "--format", "md", cwd=tmp_path).stdout
    assert found.startswith("| setting | value | what |\n|---|---|---|\n")
