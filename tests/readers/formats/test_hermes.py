"""Hermes sessions: reasoning in two fields, the tool's name in a third, marks of the session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from read_back import only, said, write

from ctxsim.transcript import Transcript

CALLS = [{"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"q":  1}'}}]


def one(tmp_path: Path, *messages: Any, **fields: Any) -> Transcript:
    value = {"session_id": "s", "model": "m", "platform": "cli", "session_start": "2026-01-01T12:00:00"}
    return only(write(tmp_path / "session.json", value | {"messages": messages} | fields), "hermes")


def test_a_session(tmp_path: Path) -> None:
    transcript = one(
        tmp_path,
        {"role": "user", "content": "Any mail?"},
        {"role": "assistant", "content": "I look.", "reasoning": "Look.", "reasoning_content": "Look.",
         "tool_calls": CALLS},
        {"role": "tool", "content": "2 messages", "tool_name": "search"},
        {"role": "assistant", "content": "Two.", "reasoning": "Say it."},
        {"role": "session_meta"},
        {"role": []},
        system_prompt="Be brief.",
        tools=[{"name": "search"}],
    )  # fmt: skip
    assert said(transcript) == [
        ("user", "Any mail?"),
        ("reasoning", "Look."),
        ("assistant", "I look."),
        ("tool_call", '{"q":  1}'),
        ("tool_result", "2 messages"),
        ("reasoning", "Say it."),
        ("assistant", "Two."),
    ]
    assert (transcript.head.system, transcript.head.tools) == ("Be brief.", ('{"name":"search"}',))
    assert [call.model for call in transcript.calls] == ["m", "m"]
    assert transcript.notes == ("left out: 1 x session_meta, 1 x entry without a role",)


def test_results_are_paired_by_the_tools_name_and_a_system_message_may_come_first(tmp_path: Path) -> None:
    calls = [{"function": {"name": name, "arguments": "{}"}} for name in ("search", "read", "list")]
    transcript = one(
        tmp_path,
        {"role": "system", "content": "Be brief."},
        {"role": "assistant", "tool_calls": calls},
        {"role": "tool", "content": "of list", "name": "list", "tool_name": "search"},
        {"role": "tool", "content": "of read", "tool_name": "read"},
        {"role": "tool", "content": "of search"},
        {"role": "system", "content": "Be kind."},
        system_prompt="You help.",
    )
    assert transcript.head.system == "You help.\n\nBe brief."
    assert [(item.text, item.answers) for item in transcript.items[3:]] == [
        ("of list", 2), ("of read", 1), ("of search", 0), ("Be kind.", None)
    ]  # fmt: skip
    assert transcript.notes == ("1 system message(s) in mid-conversation kept as user text",)
