"""The table of policies and bound thinking is what its command prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from evidence.thinking import table

PAGE = Path(__file__).parents[2] / "docs" / "thinking.md"


@pytest.mark.slow
def test_the_published_rows_are_what_the_command_prints() -> None:
    names = ("anthropic-compact", "claude-code", "fifo", "mask", "max-result-chars", "summary", "truncate-after-use")
    made, page = table(names).split("\n\n"), " ".join(PAGE.read_text(encoding="utf-8").split())
    rows = made[0].splitlines()
    assert [row for row in rows if row not in PAGE.read_text(encoding="utf-8")] == []
    listed = [(kind, name) for line in made[1:] for kind, _, found in [line.partition(": ")]
              for name in re.findall("`[^`]+`", found)]  # fmt: skip
    assert len(rows) - 2 + len(listed) == len(names)
    for kind, name in listed:
        assert name in page.partition(f"{kind}: ")[2].partition(".")[0], name
