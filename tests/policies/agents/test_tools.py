"""What is known of a tool by its name and its arguments."""

from __future__ import annotations

import json

import pytest

from ctxsim.policies.agents.shared.tools import path_read
from ctxsim.transcript import Item


@pytest.mark.parametrize(
    ("tool", "arguments", "path", "by_cat"),
    [
        ("Read", {"file_path": "src/a.py", "limit": 3}, "src/a.py", "src/a.py"),
        ("read_file", {"absolute_path": "/a.py"}, "/a.py", "/a.py"),
        ("Bash", {"command": " cat src/a.py "}, "", "src/a.py"),
        ("Bash", {"command": "cat a.py | head"}, "", ""),
        ("Bash", {"path": "a.py"}, "", ""),
        ("Read", ["a.py"], "", ""),
    ],
)
def test_the_path_that_a_call_reads(tool: str, arguments: object, path: str, by_cat: str) -> None:
    call = Item("tool_call", 0, 0, json.dumps(arguments), tool)
    assert (path_read(call), path_read(call, by_cat=True)) == (path, by_cat)
