"""Factory Droid: session files, and the stream of `droid exec` in its older and newer words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from read_back import Json, only, said, taken, text, write

from ctxsim.transcript import Transcript

START = {"type": "session_start", "id": "s", "title": "Mail", "cwd": "/w"}


def message(role: str, *blocks: Json) -> Json:
    inner = {"role": role, "content": list(blocks)}
    return {"type": "message", "id": "m", "timestamp": "2026-01-01T12:00:00.500Z", "message": inner}


def event(kind: str, second: int, **fields: Any) -> Json:
    return {"type": kind, "session_id": "s", "timestamp": f"2026-01-01T12:00:0{second}Z"} | fields


def one(tmp_path: Path, *lines: Json) -> Transcript:
    return only(write(tmp_path / "session.jsonl", *lines), "droid")


def test_a_session_file(tmp_path: Path) -> None:
    transcript = one(
        tmp_path,
        START,
        message("user", text("Any mail?")),
        message("assistant", text("I look."), {"type": "tool_use", "id": "t1", "name": "search", "input": {"q": 1}}),
        message("user", {"type": "tool_result", "tool_use_id": "t1", "content": "2 messages"}),
        message("assistant", text("Two.")),
        {"type": "todo_state", "id": "x"},
    )
    assert said(transcript) == [
        ("user", "Any mail?"),
        ("assistant", "I look."),
        ("tool_call", '{"q":1}'),
        ("tool_result", "2 messages"),
        ("assistant", "Two."),
    ]
    # 2026-01-01 12:00:00.5 UTC
    assert [call.time_s for call in transcript.calls] == [1767268800.5] * 2
    assert not transcript.head.recorded
    assert transcript.project == "/w"
    assert transcript.notes == ("left out: 1 x todo_state",)


def test_a_stream_puts_text_and_calls_of_a_response_together(tmp_path: Path) -> None:
    transcript = one(
        tmp_path,
        event("system", 0, model="m"),
        event("message", 1, role="user", text="Any mail?"),
        event("message", 2, role="assistant", text="I look."),
        event("tool_call", 3, toolCallId="c1", toolName="search", parameters={"q": "mail"}),
        event("tool_call", 3, toolCallId="c2", toolName="clock", parameters={}),
        event("tool_result", 4, toolCallId="c2", value="noon"),
        event("tool_result", 4, toolCallId="c1", value={"stdout": "2", "exitCode": 0}),
        event("completion", 5, finalText="Two.", usage={"input_tokens": 9}),
        event("error", 6, message="offline"),
        event("message", 7, role="developer", text="Be brief."),
    )
    assert said(transcript) == [
        ("user", "Any mail?"),
        ("assistant", "I look."),
        ("tool_call", '{"q":"mail"}'),
        ("tool_call", "{}"),
        ("tool_result", "noon"),
        ("tool_result", '{"stdout":"2","exitCode":0}'),
        ("assistant", "Two."),
    ]
    assert [(call.start, call.end, call.time_s, call.model) for call in transcript.calls] == [
        (1, 4, 1767268802.0, "m"),
        (6, 7, 1767268805.0, "m"),
    ]
    assert transcript.notes == ("left out: 1 x usage of the whole run, 1 x error, 1 x message developer",)


def test_the_newer_words_and_a_last_text_that_is_repeated(tmp_path: Path) -> None:
    def newer(kind: str, **fields: Any) -> Json:
        return {"type": kind, "sessionId": "s", "timestamp": 1767268800000} | fields

    transcript = one(
        tmp_path,
        newer("message", role="user", text="Any mail?"),
        newer("tool_call", id="c1", toolId="search"),
        newer("tool_result", id="c1", toolId="search", isError=True, value="offline"),
        newer("message", role="assistant", text="None."),
        newer("completion", finalText="None."),
        newer("message", role="user", text="And post?"),
        newer("completion", finalText="None."),
    )
    assert said(transcript) == [
        ("user", "Any mail?"),
        ("tool_call", "{}"),
        ("tool_result", "offline"),
        ("assistant", "None."),
        ("user", "And post?"),
        ("assistant", "None."),
    ]
    assert transcript.items[2].tool == "search"
    assert transcript.calls[0].time_s == 1767268800.0


@pytest.mark.parametrize(("lines", "matched"), [
    ([START], True), ([START, {"type": "message", "message": {}}], True), ([START, {"type": "message"}], False),
    ([event("message", 1, text="x")], True), ([event("tool_call", 1, toolName="t")], True),
    ([event("message", 1)], False), ([event("tool_call", 1)], False), ([event("system", 1)], False),
    # All of a stream are of a known type, and name their session.
    ([event("message", 1, text="x"), event("other", 2)], False),
    ([event("message", 1, text="x"), {"type": "system"}], False), ([event("message", 1, text="x"), []], False),
    ([event("message", 1, text="x"), {"type": "system", "sessionId": "s"}], True),
])  # fmt: skip
def test_what_is_taken_for_a_session_or_a_stream(lines: list[Any], matched: bool) -> None:
    assert taken("droid", *lines, lines[0]) is matched


def test_results_are_paired_by_either_id(tmp_path: Path) -> None:
    transcript = one(
        tmp_path, event("message", 1, role="user", text="Go."), event("reasoning", 1, text="Hm."),
        event("tool_call", 2, id="c1", toolId="a", toolName="b", parameters={}), event("tool_call", 2,
        toolCallId="c2", id="c9", toolId="d", parameters={}),
        event("tool_result", 3, toolCallId="c2"), event("tool_result", 3, id="c1", value="1"),
    )  # fmt: skip
    assert [(item.kind, item.tool, item.text, item.call_id) for item in transcript.items] == [
        ("user", "", "Go.", ""), ("reasoning", "", "Hm.", ""), ("tool_call", "b", "{}", "c1"), ("tool_call", "d",
        "{}", "c2"),
        ("tool_result", "d", "", "c2"), ("tool_result", "b", "1", "c1"),
    ]  # fmt: skip


def test_lines_of_other_types_are_counted(tmp_path: Path) -> None:
    transcript = one(tmp_path, START, message("assistant", text("x")), {"type": "todo"}, {"type": "todo"}, {"x": 1})
    assert transcript.notes == ("left out: 2 x todo, 1 x line without a type",)
