"""The table of policies and bound thinking is what its command prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from evidence.thinking import table

PAGE = Path(__file__).parents[2] / "docs" / "thinking.md"


@pytest.mark.slow
def test_the_published_rows_are_what_the_command_prints() -> None:
    names = ("anthropic-compact", "claude-code", "fifo", "mask", "max-result-chars", "summary", "truncate-after-use")
    made, page = table(names).splitlines(), PAGE.read_text(encoding="utf-8")
    assert len(made) == 2 + len(names)
    assert [row for row in made if row not in page] == []
