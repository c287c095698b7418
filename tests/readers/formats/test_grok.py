"""Grok sessions: reasoning before its response, encrypted or not, and folders of sub-agents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxsim.errors import InputError
from ctxsim.readers import read
from ctxsim.transcript import Media, Transcript, problems

Json = dict[str, Any]

SYSTEM = {"type": "system", "content": "Be brief."}
SAID = {"type": "assistant", "content": "Two.", "tool_calls": [], "model_id": "m"}


def user(*blocks: Json) -> Json:
    return {"type": "user", "content": list(blocks), "prompt_index": 0}


def text(value: str) -> Json:
    return {"type": "text", "text": value}


def asks(call_id: str) -> Json:
    call = {"id": call_id, "name": "search", "arguments": '{"q":  "mail"}'}
    return {"type": "assistant", "content": "", "tool_calls": [call], "model_id": "m"}


def reasoning(summary: str, **fields: Any) -> Json:
    return {"type": "reasoning", "summary": [{"type": "summary_text", "text": summary}]} | fields


def write(path: Path, *lines: Json) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(json.dumps, lines)))


def one(tmp_path: Path, *lines: Json) -> Transcript:
    write(tmp_path / "chat_history.jsonl", *lines)
    (transcript,) = read(str(tmp_path / "chat_history.jsonl"))
    assert problems(transcript) == []
    assert transcript.format == "grok"
    return transcript


def texts(transcript: Transcript) -> list[tuple[str, str]]:
    return [(item.kind, item.text) for item in transcript.items]


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
    assert texts(transcript) == [
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


def test_a_response_that_was_stopped_while_it_reasoned(tmp_path: Path) -> None:
    transcript = one(tmp_path, user(text("Any mail?")), reasoning("Look."), user(text("Stop.")), reasoning("Hm."))
    assert texts(transcript) == [("user", "Any mail?"), ("reasoning", "Look."), ("user", "Stop."), ("reasoning", "Hm.")]
    assert len(transcript.calls) == 2
    assert not transcript.head.recorded


def test_a_folder_is_one_source_with_its_sub_agents(tmp_path: Path) -> None:
    session = tmp_path / "session"
    for folder in (session, session / "sub"):
        write(folder / "chat_history.jsonl", SYSTEM, user(text("Any mail?")), SAID)
        (folder / "summary.json").write_text("{}")
    main, sub = read(str(tmp_path))
    assert (main.name, sub.name, sub.parent) == (str(session), f"{session}/sub", str(session))
    assert problems(main) == problems(sub) == []


def test_a_file_without_a_response_and_a_wrong_type(tmp_path: Path) -> None:
    assert one(tmp_path, SYSTEM, user(text("Hello?"))).notes == ("no response of the model is recorded",)
    with pytest.raises(InputError, match=r"chat_history.jsonl:2: .*tool_calls"):
        one(tmp_path, SYSTEM, SAID | {"tool_calls": 3})


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
    assert texts(transcript) == [
        ("user", "Go."), ("reasoning", ""), ("reasoning", ""), ("reasoning", "So."), ("user", "Stop."), ("user",
        "Be brief."),
        ("reasoning", "Late."),
    ]  # fmt: skip
    assert [(call.start, call.end) for call in transcript.calls] == [(1, 4), (6, 7)]
    (note,) = transcript.notes
    assert sorted(note.removeprefix("left out: ").split(", ")) == [
        "2 x call that the provider made itself", "2 x summary of encrypted reasoning", "whose size is not recorded",
        "without its result",
    ]  # fmt: skip
