"""The table of policies and bound thinking is what its command prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from evidence.thinking import table

PAGE = Path(__file__).parents[2] / "evidence" / "thinking.md"


def by_call(text: str) -> dict[str, str]:
    """Each policy with the thinking that it loses, and the first call at which it is refused."""
    lines = re.findall(r"^- ([\d, ]+|never): ((?:.|\n  )+)", text, re.MULTILINE)
    return {one: call for call, found in lines for one in re.findall(r"`[^`]+` \([\d,]+\)", found)}


@pytest.mark.slow
def test_the_published_rows_are_what_the_command_prints() -> None:
    names = ("anthropic-compact", "claude-code", "fifo", "mask", "max-result-chars", "summary", "truncate-after-use")
    made, text = table(names), PAGE.read_text(encoding="utf-8")
    rows, page = by_call(made), " ".join(text.split())
    assert rows.items() <= by_call(text).items() and len(by_call(text)) > 30
    listed = [(kind, name) for line in made.split("\n\n")[1:] for kind, _, found in [line.partition(": ")]
              for name in re.findall("`[^`]+`", found)]  # fmt: skip
    assert len(rows) + len(listed) == len(names)
    for kind, name in listed:
        assert name in page.partition(f"{kind}: ")[2].partition(".")[0], name
