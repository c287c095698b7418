"""Instruction files of three levels."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxsim.errors import InputError
from evidence.claims.instructions import LIMIT_BYTES, load_instructions, project_root


class TestInstructions:
    @pytest.fixture
    def levels(self, tmp_path: Path) -> tuple[Path, Path]:
        home, project = tmp_path / "home", tmp_path / "project"
        work = project / "a" / "b"
        for place, text in ((home / ".adk-code", "global"), (project, "project"), (work, "here")):
            place.mkdir(parents=True)
            (place / "AGENTS.md").write_text(text + "\n")
        return home, work

    @pytest.mark.parametrize("sign", [".git", ".hg", "go.mod", "package.json"])
    def test_three_levels_in_order(self, levels: tuple[Path, Path], sign: str) -> None:
        home, work = levels
        (work.parents[1] / sign).mkdir()
        assert project_root(work) == work.parents[1]
        loaded = load_instructions(work, home)
        assert loaded.merged == "global\n\nproject\n\nhere"
        assert (len(loaded.sources), loaded.bytes, loaded.truncated) == (3, 21, False)

    def test_a_file_that_is_two_levels_counts_once(self, levels: tuple[Path, Path]) -> None:
        home, work = levels
        (work / ".git").mkdir()
        assert load_instructions(work, home).merged == "global\n\nhere"

    def test_limit_in_bytes_between_characters(self, levels: tuple[Path, Path]) -> None:
        home, work = levels
        (work / "AGENTS.md").write_text("é" * LIMIT_BYTES)
        loaded = load_instructions(work, home)
        assert loaded.truncated and LIMIT_BYTES - 1 <= loaded.bytes <= LIMIT_BYTES

    def test_nothing_to_load_and_what_is_no_text(self, tmp_path: Path) -> None:
        assert load_instructions(tmp_path, tmp_path).merged == ""
        (tmp_path / "AGENTS.md").write_bytes(b"\xff\xfe")
        with pytest.raises(InputError, match="not UTF-8"):
            load_instructions(tmp_path, tmp_path)
        with pytest.raises(InputError, match="no folder"):
            load_instructions(tmp_path / "none")
