"""Cursor transcripts: calls without ids, results by position, sub-agents beside their parent.

And its database, made as others describe its rows: bubbles to responses, tools, old forms, children, damage.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from read_back import Json, all_of, called, kinds, only, said, taken, text, write

from ctxsim.errors import InputError
from ctxsim.readers import read
from ctxsim.transcript import Media, Transcript, Usage


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


def tool(name: str, result: str | None, call_id: str = "", **fields: Any) -> Json:
    called = {"name": name, "rawArgs": '{"q": "mail"}', "toolCallId": call_id, "status": "completed"} | fields
    return {"type": 2, "text": "", "toolFormerData": called | ({} if result is None else {"result": result})}


def store(folder: Path, composers: dict[str, Any], bubbles: dict[str, Json]) -> Path:
    path = folder / "state.vscdb"
    with closing(sqlite3.connect(path)) as made:
        for table in ("ItemTable", "cursorDiskKV"):
            made.execute(f"CREATE TABLE {table} (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
        for key, value in composers.items():
            row = (f"composerData:{key}", None if value is None else json.dumps({"composerId": key} | value))
            made.execute("INSERT INTO cursorDiskKV VALUES (?, ?)", row)
        for key, bubble in bubbles.items():
            # As text and as bytes: both are there.
            value = json.dumps(bubble) if len(key) % 2 else json.dumps(bubble).encode()
            made.execute("INSERT INTO cursorDiskKV VALUES (?, ?)", (f"bubbleId:{key}", value))
        made.commit()
    return path


def headers(*ids: str) -> Json:
    return {"fullConversationHeadersOnly": [{"bubbleId": one, "type": 1} for one in ids]}


def test_bubbles_become_responses_in_the_order_of_the_headers(tmp_path: Path) -> None:
    bubbles: dict[str, Json] = {
        "c1:b1": {"type": 1, "text": "Any mail?", "images": [{}]},
        "c1:b2": {"type": 2, "text": "", "thinking": {"text": "Where?"}, "createdAt": "2026-01-01T00:00:02Z",
                  "tokenCount": {"inputTokens": 400, "outputTokens": 20}},
        "c1:b3": {"type": 2, "text": "I look.", "tokenCount": {"inputTokens": 0, "outputTokens": 0}},
        "c1:b4": tool("search", '{"found": 2}', "t1"),
        "c1:a5": tool("search", None, "t2"),
        "c1:a6": {"type": 2, "text": "Two.", "modelInfo": {"modelName": "other"}},
    }  # fmt: skip
    told = headers("b1", "b2", "b3", "b4", "a5", "a6", "gone") | {
        "modelConfig": {"modelName": "m"}, "contextTokenLimit": 9000, "latestConversationSummary": {"summary": {}},
    }  # fmt: skip
    transcript = only(store(tmp_path, {"c1": told}, bubbles), "cursor")
    assert said(transcript) == [
        ("user", "Any mail?"),
        ("reasoning", "Where?"),
        ("assistant", "I look."),
        ("tool_call", '{"q": "mail"}'),
        ("tool_result", '{"found": 2}'),
        ("tool_call", '{"q": "mail"}'),
        ("tool_result", "[no result recorded]"),
        ("assistant", "Two."),
    ]
    assert transcript.name.endswith("state.vscdb#c1")
    assert transcript.items[0].media == (Media("image", 1600),)
    assert [made.usage for made in transcript.calls] == [Usage(400, 20), None, None]
    assert [(made.model, made.window) for made in transcript.calls] == [("m", 9000), ("m", 9000), ("other", 9000)]
    assert transcript.calls[0].time_s == 1767225602
    assert "1 bubble(s) of this conversation are not in the database" in transcript.notes
    assert any("was summarized" in note for note in transcript.notes)


def test_calls_that_say_so_are_one_response(tmp_path: Path) -> None:
    bubbles = {
        "c:1": {"type": 1, "text": "Any mail?"},
        "c:2": tool("search", "2 messages", "t1", modelCallId="r1"),
        "c:3": tool("search", "none", "t2", modelCallId="r1"),
        "c:4": tool("search", "one", "t3", modelCallId="r2"),
        "c:5": tool("search", "one", "t4", modelCallId=""),
        "c:6": tool("search", "one", "t5", modelCallId=""),
    }
    transcript = only(store(tmp_path, {"c": headers("1", "2", "3", "4", "5", "6")}, bubbles), "cursor")
    assert [made.end - made.start for made in transcript.calls] == [2, 1, 1, 1]


def test_older_forms_hold_the_bubbles_themselves(tmp_path: Path) -> None:
    talk = [{"type": 1, "text": "Any mail?"}, {"type": 2, "text": "Two."}]
    composers = {
        "inside": {"conversation": talk},
        "map": headers("u", "a") | {"conversationMap": dict(zip("ua", talk, strict=True))},
        "child": {"conversation": talk},
        "agent": {"conversation": talk},
        "parent": {"conversation": talk, "subComposerIds": ["child"], "subagentComposerIds": ["agent"]},
        "draft": headers(),
        "gone": None,
    }
    transcripts = {one.name.partition("#")[2]: one for one in all_of(store(tmp_path, composers, {}), "cursor")}
    assert set(transcripts) == {"inside", "map", "child", "agent", "parent"}
    assert {tuple(said(one)) for one in transcripts.values()} == {(("user", "Any mail?"), ("assistant", "Two."))}
    assert {transcripts[child].parent for child in ("child", "agent")} == {transcripts["parent"].name}
    assert transcripts["parent"].notes[-1] == "left out: 2 session(s) without messages"


def test_what_cannot_be_read_is_told_and_the_others_are_read(tmp_path: Path) -> None:
    talk = [{"type": 1, "text": "Any mail?"}, {"type": 2, "text": "Two."}]
    bubbles: dict[str, Json] = {"bad:b": {"type": "?"}}
    path = store(tmp_path, {"bad": headers("b"), "good": {"conversation": talk}, "wrong": {"createdAt": 1,
                 "conversation": "x"}}, bubbles)  # fmt: skip
    transcript = only(path, "cursor")
    assert transcript.name.endswith("#good")
    assert [note.partition("#")[2].partition(":")[0] for note in transcript.notes] == ["bad bubbleId", "wrong"]


def test_a_database_of_another_editor(tmp_path: Path) -> None:
    path = tmp_path / "state.vscdb"
    with closing(sqlite3.connect(path)) as made:
        made.execute("CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
        made.commit()
    with pytest.raises(InputError, match="an SQLite database with tables ItemTable"):
        list(read(str(path)))


def test_bubbles_that_say_nothing_and_models_that_are_named(tmp_path: Path) -> None:
    empty = {"type": 2, "text": ""}
    talk = [
        {"type": 1, "text": "", "images": []}, {"type": 1, "text": "Go."}, empty, empty, {"type": 3, "text": "x"},
        {"type": 3, "text": "y"}, {"type": 1, "text": "And?"}, {"type": 2, "text": "One.",
        "tokenCount": {"inputTokens": 7}},
        {"type": 2, "text": "Two.", "tokenCount": {"inputTokens": 9, "outputTokens": 2}}, {"type": 2,
        "toolFormerData": {"name": ""}},
    ]  # fmt: skip
    for model, named in (({"modelConfig": {"modelName": "m"}}, "m"), ({}, "")):
        folder = tmp_path / f"of-{named}"
        folder.mkdir()
        transcript = only(store(folder, {"c": {"conversation": talk} | model}, {}), "cursor")
        assert said(transcript) == [("user", "Go."), ("user", "And?"), ("assistant", "One."), ("assistant", "Two.")]
        # The last that is known of a response's tokens.
        assert [(call.model, call.usage) for call in transcript.calls] == [(named, Usage(9, 2))]
        assert transcript.notes == ("left out: 2 x empty bubble of the model, 2 x bubble of type 3",)


def test_arguments_and_results_in_their_other_fields(tmp_path: Path) -> None:
    failed = tool("read", None, "t1", rawArgs="", params='{"p": 1}', error="no")
    plain = tool("list", "", "t2", rawArgs=None, error={"message": "denied"})
    talk = [{"type": 1, "text": "Go."}, failed, plain, {"type": 2, "text": "Done."}]
    transcript = only(store(tmp_path, {"c": {"conversation": talk}}, {}), "cursor")
    assert called(transcript) == [
        ("user", "", "Go."), ("tool_call", "read", '{"p": 1}'), ("tool_result", "read", "no"), ("tool_call", "list",
        ""),
        ("tool_result", "list", '{"message":"denied"}'), ("assistant", "", "Done."),
    ]  # fmt: skip
