"""Gemini API contents: parts of every kind, heads, holders, JSONL, and what is no list of contents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from read_back import Json, all_of, said, write

from ctxsim.transcript import Media, Transcript


def user(*parts: Any) -> Json:
    return {"role": "user", "parts": list(parts)}


def model(*parts: Any) -> Json:
    return {"role": "model", "parts": list(parts)}


def call(name: str, call_id: str | None = None, **args: Any) -> Json:
    made = {"name": name, "args": args}
    return {"functionCall": made if call_id is None else {**made, "id": call_id}}


def answer(name: str, response: Any, call_id: str | None = None, **more: Any) -> Json:
    made = {"name": name, "response": response, **more}
    return {"functionResponse": made if call_id is None else {**made, "id": call_id}}


def text(value: str) -> Json:
    return {"text": value}


def transcripts(folder: Path, *values: Any) -> list[Transcript]:
    return all_of(write(folder / "contents.json", *values), "gemini-contents")


def one(folder: Path, *values: Any) -> Transcript:
    [transcript] = transcripts(folder, *values)
    return transcript


def test_a_list_of_contents(tmp_path: Path) -> None:
    read_back = one(
        tmp_path,
        [
            user(text("Any mail?")),
            model(
                {"text": "Hm.", "thought": True}, text("I look."), {**call("search", q="ä"), "thoughtSignature": "x"}
            ),
            user(answer("search", {"output": "2 messages"})),
            model(text("Two.")),
        ],
    )
    assert said(read_back) == [
        ("user", "Any mail?"),
        ("reasoning", "Hm."),
        ("assistant", "I look."),
        ("tool_call", '{"q":"ä"}'),
        ("tool_result", "2 messages"),
        ("assistant", "Two."),
    ]
    assert [(c.start, c.end) for c in read_back.calls] == [(1, 4), (5, 6)]
    assert not read_back.head.recorded
    assert read_back.notes == ()


def test_results_pair_by_id_or_else_by_name_and_order(tmp_path: Path) -> None:
    read_back = one(
        tmp_path,
        [
            user(text("Go.")),
            model(call("read", path="a"), call("list"), call("read", path="b")),
            user(answer("list", {"output": "l"}), answer("read", {"output": "A"}), answer("read", {"error": "B"})),
            model(call("read", "i1"), call("read", "i2")),
            {
                "role": "function",
                "parts": [answer("read", {"output": "2"}, "i2"), answer("read", {"output": "1"}, "i1")],
            },
            model(text("Done.")),
        ],
    )
    # Places: user 0, calls 1-3, results 4-6, calls 7-8, results 9-10.
    assert [(item.text, item.answers) for item in read_back.items if item.kind == "tool_result"] == [
        ("l", 2),
        ("A", 1),
        ("B", 3),
        ("2", 8),
        ("1", 7),
    ]


def test_results_that_are_no_single_text_keep_their_json(tmp_path: Path) -> None:
    picture = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
    read_back = one(
        tmp_path,
        [
            user(text("Go.")),
            model(call("a"), call("b"), call("c")),
            user(
                answer("a", {"output": "x", "code": 1}),
                answer("b", None),
                answer("c", {"result": "shot"}, parts=[picture]),
                picture,
            ),
            model(text("Done.")),
        ],
    )
    assert [(item.text, item.media) for item in read_back.items[4:8]] == [
        ('{"output":"x","code":1}', ()),
        ("", ()),
        ("shot", (Media("image", 258),)),
        ("", (Media("image", 258),)),
    ]
    assert read_back.items[7].kind == "user"


def test_parts_of_the_python_library_and_unknown_ones(tmp_path: Path) -> None:
    read_back = one(
        tmp_path,
        [
            {
                "role": "user",
                "parts": [{"text": "Go.", "inline_data": None}, {"file_data": {"mime_type": "video/mp4"}}],
            },
            {
                "role": "model",
                "parts": [
                    {"text": None, "function_call": {"id": None, "args": {}, "name": "run"}, "function_response": None},
                    {"executableCode": {"language": "PYTHON", "code": "1"}},
                ],
            },
            {"role": "user", "parts": [{"function_response": {"name": "run", "response": {"result": "ok"}}}]},
        ],
    )
    assert said(read_back) == [
        ("user", "Go."),
        ("user", ""),
        ("tool_call", "{}"),
        ("assistant", '{"executableCode":{"language":"PYTHON","code":"1"}}'),
        ("tool_result", "ok"),
    ]
    assert read_back.items[1].media == (Media("video/mp4", 258),)


def test_pieces_of_a_streamed_response_are_one(tmp_path: Path) -> None:
    read_back = one(tmp_path, [user(text("Go.")), model(text("One")), model(text("two.")), user(text("On.")), model()])
    assert [(c.start, c.end) for c in read_back.calls] == [(1, 3), (4, 4)]


@pytest.mark.parametrize("system", [{"parts": [{"text": "Be brief."}]}, "Be brief.", [{"text": "Be brief."}]])
def test_a_request_has_a_head(tmp_path: Path, system: Any) -> None:
    tools = [{"functionDeclarations": [{"name": "search"}, {"name": "read"}]}, {"googleSearch": {}}]
    read_back = one(
        tmp_path, {"systemInstruction": system, "tools": tools, "contents": [user(text("Go.")), model(text("Done."))]}
    )
    assert read_back.head.system == "Be brief."
    assert read_back.head.tools == ('{"name":"search"}', '{"name":"read"}', '{"googleSearch":{}}')
    assert read_back.head.recorded


def test_the_python_library_keeps_the_head_in_its_config(tmp_path: Path) -> None:
    config = {"system_instruction": "Be brief.", "tools": [{"function_declarations": [{"name": "search"}]}]}
    read_back = one(tmp_path, {"config": config, "contents": [user(text("Go.")), model(text("Done."))]})
    assert read_back.head.system == "Be brief."
    assert read_back.head.tools == ('{"name":"search"}',)


def test_checkpoints_and_saved_chats(tmp_path: Path) -> None:
    contents = [user(text("Go.")), model(text("Done."))]
    checkpoint = {"history": [{"type": "user", "text": "Go."}], "clientHistory": contents, "toolCall": {}}
    assert len(one(tmp_path, checkpoint).items) == 2
    assert len(one(tmp_path, {"history": contents, "authType": "x"}).items) == 2


def test_jsonl_of_turns_is_one_conversation_and_of_lists_several(tmp_path: Path) -> None:
    contents = [user(text("Go.")), model(text("Done."))]
    assert len(one(tmp_path, *contents).calls) == 1
    several = transcripts(tmp_path, contents, {"contents": contents})
    assert [t.name.rpartition("#")[2] for t in several] == ["1", "2"]


def test_what_the_agent_had_already_compacted_is_noted(tmp_path: Path) -> None:
    read_back = one(
        tmp_path,
        [
            user(text("<state_snapshot>All was well.</state_snapshot>")),
            model(call("read")),
            user(answer("read", {"output": "<tool_output_masked>…</tool_output_masked>"})),
            model(text("Done.")),
        ],
    )
    assert read_back.notes == (
        "1 result(s) had been masked by the agent",
        "1 summary(s) by the agent stand for earlier history, as user text",
    )
