"""The table of policies and bound thinking is what its command prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from evidence.thinking import table

PAGE = Path(__file__).parents[2] / "evidence" / "thinking.md"
DOCS = Path(__file__).parents[2] / "docs" / "thinking.md"


def by_call(text: str) -> dict[str, str]:
    """Each policy with the thinking that it loses, and the first call at which it is refused."""
    lines = re.findall(r"^- ([\d, ]+|never): ((?:.|\n  )+)", text, re.MULTILINE)
    return {one: call for call, found in lines for one in re.findall(r"`[^`]+` \([\d,]+\)", found)}


@pytest.mark.slow
def test_the_published_rows_are_what_the_command_prints() -> None:
    names = (
        "anthropic-compact", "claude-code", "fifo", "langchain-summarize", "mask", "max-result-chars", "pydantic-clear",
        "summary", "token-budget", "truncate-after-use",
    )  # fmt: skip
    made, text = table(names), PAGE.read_text(encoding="utf-8")
    rows, page = by_call(made), " ".join(text.split())
    assert rows.items() <= by_call(text).items() and len(by_call(text)) > 30
    listed = [(kind, name) for line in made.split("\n\n")[1:] for kind, _, found in [line.partition(": ")]
              for name in re.findall("`[^`]+`", found)]  # fmt: skip
    assert len(rows) + len(listed) == len(names)
    for kind, name in listed:
        assert name in page.partition(f"{kind}: ")[2].partition(".")[0], name


def test_the_docs_name_policies_in_the_rows_of_their_first_refused_calls() -> None:
    first = {one.partition("`")[2].partition("`")[0].partition(":")[0]: call
             for one, call in by_call(PAGE.read_text(encoding="utf-8")).items()}  # fmt: skip
    rows = re.findall(r"^\| (\d+) to (\d+) \| (.*) \|$", DOCS.read_text(encoding="utf-8"), re.MULTILINE)
    named = [(name, int(low), int(high)) for low, high, text in rows for name in re.findall("`([^`]+)`", text)]
    assert len(rows) == 3 and len(named) > 15
    assert not [name for name, low, high in named if not low <= int(first[name]) <= high]
    refused = sorted(int(call) for call in first.values() if call != "never")
    assert refused[0] == int(rows[0][0]) and refused[-1] == int(rows[-1][1])
