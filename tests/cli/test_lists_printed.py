"""`ctxsim.cli.lists`: headings and texts within the terminal, or rows."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import ctxsim

from ctxsim.cli import lists
from ctxsim.report.sheet import sheet


def test_texts_stand_below_their_headings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str, str]] = []

    def listed(kind: str, pattern: str, file: str) -> object:
        asked.append((kind, pattern, file))
        said = [("mask:keep=10", "one two three four five\nnext\x1b"), ("alone", "")]
        return sheet("t", "", ["a"], [["x"]]), said if kind == "policies" else []

    monkeypatch.setattr(lists, "listed", listed)
    monkeypatch.setenv("COLUMNS", "16")
    done = ctxsim("list", "policies", "mas", cwd=tmp_path)
    # Twelve columns for texts, four to the right; what is broken hangs no further.
    assert done.stdout == "mask:keep=10\n    one two\n    three four\n    five\n    next\\x1b\n\nalone\n\n"
    assert ctxsim("list", "policies", "--format", "csv", cwd=tmp_path).stdout == "a\nx\n"
    assert "x" in ctxsim("list", "tokenizers", cwd=tmp_path).stdout.split()
    ctxsim("list", "models", "own.toml:llama", cwd=tmp_path)
    ctxsim("list", "models", "gpt", cwd=tmp_path)
    assert asked == [
        ("policies", "mas", ""), ("policies", "*", ""), ("tokenizers", "*", ""), ("models", "llama", "own.toml"),
        ("models", "gpt", ""),
    ]  # fmt: skip


def test_a_page_of_the_site_is_markdown_of_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "page", lambda kind: "# page\n" if kind == "formats" else "")
    assert ctxsim("list", "formats", "--format", "md", cwd=tmp_path).stdout == "# page\n"
    assert ctxsim("list", "formats", "codex", "--format", "md", cwd=tmp_path).stdout.startswith("| format |")
    assert ctxsim("list", "tokenizers", "--format", "md", cwd=tmp_path).stdout.startswith("| name |")
    assert "# page" not in ctxsim("list", "formats", "--format", "csv", cwd=tmp_path).stdout
