"""Responses API items: lists, requests, responses, JSONL, and what is no list of items."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from read_back import Json, all_of, said, write

from ctxsim.transcript import Compaction, Media, Transcript, Usage

ASK: Json = {"role": "user", "content": "Any mail?"}
CALL: Json = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "search", "arguments": '{"q": 1}'}
OUTPUT: Json = {"type": "function_call_output", "call_id": "c1", "output": "2 messages"}
ANSWER: Json = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "Two.", "annotations": []}],
}
USAGE = {
    "input_tokens": 50,
    "input_tokens_details": {"cached_tokens": 32},
    "output_tokens": 9,
    "output_tokens_details": {"reasoning_tokens": 4},
}


def transcripts(folder: Path, *values: Any) -> list[Transcript]:
    return all_of(write(folder / "items.json", *values), "openai-responses")


def one(folder: Path, *values: Any) -> Transcript:
    [transcript] = transcripts(folder, *values)
    return transcript


def test_a_list_of_items(tmp_path: Path) -> None:
    hidden = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm"}]}
    read_back = one(tmp_path, [ASK, hidden, CALL, OUTPUT, ANSWER])
    assert said(read_back) == [
        ("user", "Any mail?"),
        ("reasoning", ""),
        ("tool_call", '{"q": 1}'),
        ("tool_result", "2 messages"),
        ("assistant", "Two."),
    ]
    assert [(c.start, c.end) for c in read_back.calls] == [(1, 3), (4, 5)]
    assert not read_back.head.recorded
    assert read_back.notes == ("1 response(s) with reasoning of unknown size, counted as 0 tokens",)


def test_a_response_object_with_its_request(tmp_path: Path) -> None:
    read_back = one(
        tmp_path,
        {
            "object": "response",
            "instructions": "Be brief.",
            "tools": [{"type": "function", "name": "search"}],
            "model": "gpt-x",
            "created_at": 1767603600.0,
            "input": [ASK, {"role": "assistant", "content": "Wait."}],
            "output": [{"type": "reasoning", "summary": [], "encrypted_content": "gAA"}, CALL],
            "usage": USAGE,
        },
    )
    assert read_back.head.system == "Be brief."
    assert read_back.head.tools == ('{"type":"function","name":"search"}',)
    assert read_back.head.recorded
    # The output is a response of its own, though no input stands between.
    assert [c.usage for c in read_back.calls] == [None, Usage(50, 9, 32, None, 4)]
    assert read_back.calls[1].time_s == 1767603600.0
    assert read_back.items[2].media == (Media("encrypted_reasoning", 4),)


def test_the_input_may_be_a_text(tmp_path: Path) -> None:
    assert said(one(tmp_path, {"input": "Any mail?", "output": [ANSWER]})) == [
        ("user", "Any mail?"),
        ("assistant", "Two."),
    ]


def test_jsonl_of_items_is_one_conversation_and_of_lists_several(tmp_path: Path) -> None:
    assert len(one(tmp_path, ASK, CALL, OUTPUT, ANSWER).calls) == 2
    several = transcripts(tmp_path, [ASK, ANSWER], {"input": "Go.", "output": [CALL]})
    assert [t.name.rpartition("#")[2] for t in several] == ["1", "2"]


def test_hosted_tools_carry_their_results_within_the_response(tmp_path: Path) -> None:
    listed = {"type": "mcp_list_tools", "id": "l", "server_label": "mail", "tools": []}
    mcp = {"type": "mcp_call", "id": "m1", "server_label": "mail", "name": "find", "arguments": "{}", "output": "none"}
    code = {"type": "code_interpreter_call", "id": "i1", "code": "1+1", "outputs": [{"type": "logs", "logs": "2"}]}
    drawn = {"type": "image_generation_call", "id": "g1", "revised_prompt": "A cat", "result": "aGk="}
    shell = {"type": "local_shell_call", "id": "s1", "action": {"command": ["ls"]}}
    shown = {"type": "local_shell_call_output", "id": "s1", "output": "a.txt"}
    read_back = one(tmp_path, [ASK, listed, mcp, code, drawn, shell, shown, ANSWER])
    assert [(c.start, c.end) for c in read_back.calls] == [(1, 5), (9, 10)]
    results = {item.tool: (item.text, item.media) for item in read_back.items if item.kind == "tool_result"}
    assert results == {
        "find": ("none", ()),
        "code_interpreter": ('{"type":"logs","logs":"2"}', ()),
        "image_generation": ("", (Media("image", 765),)),
        "local_shell": ("a.txt", ()),
    }
    assert read_back.notes == ("left out: 1 x mcp_list_tools",)


def test_a_compaction_item_marks_what_follows(tmp_path: Path) -> None:
    compaction = {"type": "compaction", "encrypted_content": "gAA"}
    read_back = one(tmp_path, [ASK, CALL, OUTPUT, ANSWER, compaction, {"role": "user", "content": "On."}, ANSWER])
    assert [c.comparable for c in read_back.calls] == [True, True, True]
    assert read_back.compactions == (Compaction(3, 4),)
    assert "recorded compaction before call 3" in read_back.notes


def test_system_messages_and_added_tools_are_the_head(tmp_path: Path) -> None:
    added = {"type": "additional_tools", "role": "developer", "tools": [{"name": "late"}]}
    read_back = one(tmp_path, [{"role": "system", "content": "Be brief."}, ASK, added, CALL, OUTPUT, ANSWER])
    assert read_back.head.system == "Be brief."
    assert read_back.head.tools == ('{"name":"late"}',)
