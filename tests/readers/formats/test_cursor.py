"""Cursor transcripts: calls without ids, results by position, sub-agents beside their parent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from read_back import Json, kinds, only, said, taken, text, write

from ctxsim.readers import read
from ctxsim.transcript import Transcript


def line(role: str, *blocks: Json, **fields: Any) -> Json:
    return {"role": role, "message": {"content": list(blocks)}} | fields


def call(name: str, kind: str = "tool_use") -> Json:
    return {"type": kind, "name": name, "input": {"q": "mail"}}


def result(content: str, kind: str = "tool_result", **fields: Any) -> Json:
    return {"type": kind, "content": [text(content)]} | fields


def one(tmp_path: Path, *lines: Json | str) -> Transcript:
    return only(write(tmp_path / "t.jsonl", *lines), "cursor")


def test_results_answer_calls_by_position(tmp_path: Path) -> None:
    transcript = one(
        tmp_path,
        line("user", text("Any mail?")),
        line("assistant", {"type": "thinking", "thinking": "Look."}, call("search"), call("clock")),
        line("user", result("2 messages", tool_use_id="t1"), result("noon", tool_use_id="t2")),
        line("assistant", text("Two."), model="m"),
        {"type": "turn_ended", "status": "success"},
    )
    assert kinds(transcript) == [
        *("user", "reasoning", "tool_call", "tool_call", "tool_result", "tool_result", "assistant")
    ]
    assert [(item.text, item.tool) for item in transcript.items[4:6]] == [("2 messages", "search"), ("noon", "clock")]
    assert transcript.model == "m"
    assert not transcript.head.recorded
    assert transcript.notes == ("left out: 1 x turn_ended",)


def test_other_names_of_the_same_blocks(tmp_path: Path) -> None:
    lines = [
        line("user", text("Go.")),
        line("assistant", call("search", "tool_call")),
        line("user", result("2", "tool-result")),
    ]
    assert said(one(tmp_path, *lines)) == [("user", "Go."), ("tool_call", '{"q":"mail"}'), ("tool_result", "2")]


def test_a_sub_agent_names_the_transcript_beside_its_folder(tmp_path: Path) -> None:
    write(tmp_path / "s" / "parent.jsonl", line("user", text("Go.")), line("assistant", call("Agent")))
    write(tmp_path / "s" / "subagents" / "child.jsonl", line("user", text("Look.")), line("assistant", text("Seen.")))
    parent, child = read(str(tmp_path))
    assert child.parent == parent.name == str(tmp_path / "s" / "parent.jsonl")
    write(tmp_path / "s" / "other.jsonl", line("user", text("Hm.")))
    assert {transcript.parent for transcript in read(str(tmp_path))} == {None}


@pytest.mark.parametrize(("lines", "matched"), [
    ([line("user", text("Go."))], True), ([{"type": "turn_ended"}, line("user", text("Go."))], True),
    ([{"role": "x"}, line("user", text("Go."))], False), ([[], line("user", text("Go."))], False), ([{"type": "x"}],
    False),
    ([line("user", text("Go.")) | {"uuid": "u"}], False), ([line("user", text("Go.")) | {"timestamp": 1}], False),
    ([line("system", text("Go."))], False), ([{"role": "user", "message": {"content": "Go."}}], False),
])  # fmt: skip
def test_what_is_taken_for_a_transcript(lines: list[Any], matched: bool) -> None:
    assert taken("cursor", *lines, {"type": "end"}) is matched


def test_a_file_in_another_folder_has_no_parent(tmp_path: Path) -> None:
    write(tmp_path / "beside.jsonl", line("user", text("Hm.")))
    write(tmp_path / "others" / "child.jsonl", line("user", text("Look.")), line("assistant", text("Seen.")))
    assert only(tmp_path / "others" / "child.jsonl", "cursor").parent is None
