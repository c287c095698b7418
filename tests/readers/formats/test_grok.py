"""Grok sessions: reasoning before its response, encrypted or not, and folders of sub-agents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from read_back import Json, all_of, only, said, text, write

from ctxsim.transcript import Media, Transcript

SYSTEM = {"type": "system", "content": "Be brief."}
SAID = {"type": "assistant", "content": "Two.", "tool_calls": [], "model_id": "m"}


def user(*blocks: Json) -> Json:
    return {"type": "user", "content": list(blocks), "prompt_index": 0}


def asks(call_id: str) -> Json:
    call = {"id": call_id, "name": "search", "arguments": '{"q":  "mail"}'}
    return {"type": "assistant", "content": "", "tool_calls": [call], "model_id": "m"}


def reasoning(summary: str, **fields: Any) -> Json:
    return {"type": "reasoning", "summary": [{"type": "summary_text", "text": summary}]} | fields


def one(tmp_path: Path, *lines: Json) -> Transcript:
    return only(write(tmp_path / "chat_history.jsonl", *lines), "grok")


def test_a_session(tmp_path: Path) -> None:
    transcript = one(
        tmp_path,
        SYSTEM,
        user(text("Any mail?"), {"type": "image", "url": "data:image/png;base64," + "A" * 5000}),
        reasoning("Look.", encrypted_content="gAAA"),
        asks("c1"),
        {"type": "tool_result", "tool_call_id": "c1", "content": "2 messages"},
        {"type": "backend_tool_call", "kind": {"tool_type": "web_search"}},
        reasoning("Say it."),
        SAID,
    )
    assert transcript.head.system == "Be brief."
    assert said(transcript) == [
        ("user", "Any mail?"),
        ("reasoning", ""),
        ("tool_call", '{"q":  "mail"}'),
        ("tool_result", "2 messages"),
        ("reasoning", "Say it."),
        ("assistant", "Two."),
    ]
    assert transcript.items[0].media == (Media("image", 765),)
    assert [(call.start, call.end, call.model) for call in transcript.calls] == [(1, 3, "m"), (4, 6, "m")]
    assert transcript.notes == (
        "left out: 1 x summary of encrypted reasoning, whose size is not recorded, "
        "1 x call that the provider made itself, without its result",
    )


def test_a_folder_is_one_source_with_its_sub_agents(tmp_path: Path) -> None:
    session = tmp_path / "session"
    for folder in (session, session / "sub"):
        write(folder / "chat_history.jsonl", SYSTEM, user(text("Any mail?")), SAID)
        (folder / "summary.json").write_text("{}")
    main, sub = all_of(tmp_path, "grok")
    assert (main.name, sub.name, sub.parent) == (str(session), f"{session}/sub", str(session))


def test_lines_of_later_types_are_counted(tmp_path: Path) -> None:
    transcript = one(tmp_path, *[user(text("Go."))] * 40, {"type": "new"}, {"type": "new"}, SAID)
    assert transcript.notes == ("left out: 2 x new",)


def test_encrypted_reasoning_and_what_was_stopped_before_it_said_anything(tmp_path: Path) -> None:
    hidden = reasoning("Look.", encrypted_content="gAAA")
    transcript = one(
        tmp_path, user(text("Go.")), hidden, hidden, reasoning("So."), user(text("Stop.")),
        {"type": "backend_tool_call"},
        {"type": "backend_tool_call"}, SYSTEM, reasoning("Late."),
    )  # fmt: skip
    assert said(transcript) == [
        ("user", "Go."), ("reasoning", ""), ("reasoning", ""), ("reasoning", "So."), ("user", "Stop."), ("user",
        "Be brief."),
        ("reasoning", "Late."),
    ]  # fmt: skip
    assert [(call.start, call.end) for call in transcript.calls] == [(1, 4), (6, 7)]
    assert not transcript.head.recorded
    assert transcript.notes == (
        "1 system message(s) in mid-conversation kept as user text",
        "left out: 2 x summary of encrypted reasoning, whose size is not recorded, "
        "2 x call that the provider made itself, without its result",
    )
