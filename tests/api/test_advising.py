"""`ctxsim.advise`, `construct` and `score`: what to set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ctxsim


def test_what_to_construct_is_tried_near_the_best_and_with_the_other_arguments_of_its_class(tmp_path: Path) -> None:
    turns: list[Any] = [{"role": "user", "content": "Go."}]
    for step in range(12):
        asked = {"id": f"c{step}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        turns.append({"role": "assistant", "content": None, "tool_calls": [asked]})
        turns.append({"role": "tool", "tool_call_id": f"c{step}", "content": f"{step}: " + "word " * 4_000})
    (tmp_path / "chat.json").write_text(json.dumps([*turns, {"role": "assistant", "content": "Done."}]))
    found = ctxsim.construct("pydantic-ai", tmp_path, goal="tokens")
    assert found.code == ("ClearToolResults(max_tokens=20000)",)
    # First two classes' budgets of 20, 40 and 80 thousand tokens, and 10 and 30 pairs of the one: 8. Then 30,000,
    # between the best and the next, and both with 10 and 30 pairs, never two budgets of one class: 1 + 2 x 2.
    assert found.tried == 8 + 5
