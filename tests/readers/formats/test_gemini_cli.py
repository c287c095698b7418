"""Gemini CLI sessions: documents, JSONL with updates and rewinds, stragglers, masking, and token counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from read_back import Json, kinds, only, said, write

from ctxsim.transcript import NO_RESULT, Compaction, Media, Transcript, Usage

HEADER: Json = {"sessionId": "s-1", "projectHash": "h", "startTime": "2026-01-05T09:00:00.000Z", "kind": "main"}
TIME = "2026-01-05T09:00:00.000Z"


def message(number: int, kind: str, content: Any = "", **fields: Any) -> Json:
    return {"id": f"m{number}", "timestamp": TIME, "type": kind, "content": content, **fields}


def tokens(input: int, output: int = 5, thoughts: int = 0, cached: int = 0) -> Json:
    total = input + output + thoughts
    return {"input": input, "output": output, "cached": cached, "thoughts": thoughts, "tool": 0, "total": total}


def response(call_id: str, output: str, name: str = "read") -> Json:
    return {"functionResponse": {"id": call_id, "name": name, "response": {"output": output}}}


def call(call_id: str, *result: Json, name: str = "read", **fields: Any) -> Json:
    made = {"id": call_id, "name": name, "args": {"path": call_id}, "status": "success", "resultDisplay": "shown"}
    return {**made, "result": list(result), **fields}


def document(folder: Path, *messages: Json) -> Transcript:
    return only(write(folder / "session.json", {**HEADER, "messages": list(messages)}), "gemini-cli")


def lines(folder: Path, *records: Any) -> Transcript:
    return only(write(folder / "session.jsonl", HEADER, *records), "gemini-cli")


def test_results_stand_in_the_message_of_their_calls(tmp_path: Path) -> None:
    read_back = document(
        tmp_path,
        message(1, "user", "Go."),
        message(
            2,
            "gemini",
            "I read.",
            model="gemini-x",
            thoughts=[{"subject": "Plan", "description": "read"}],
            tokens=tokens(900, 20, thoughts=30, cached=100),
            toolCalls=[call("c1", response("c1", "A")), call("c2", response("c2", "B"))],
        ),
        message(3, "gemini", [{"text": "Done."}], tokens=tokens(1000)),
    )
    assert said(read_back) == [
        ("user", "Go."),
        ("reasoning", ""),
        ("assistant", "I read."),
        ("tool_call", '{"path":"c1"}'),
        ("tool_call", '{"path":"c2"}'),
        ("tool_result", "A"),
        ("tool_result", "B"),
        ("assistant", "Done."),
    ]
    first, second = read_back.calls
    # Thoughts are billed with the output: 20 + 30.
    assert first.usage == Usage(900, 50, 100, None, 30)
    assert second.usage == Usage(1000, 5, 0, None, 0)
    assert (first.model, first.time_s) == ("gemini-x", 1767603600.0)
    assert read_back.items[1].media == (Media("encrypted_reasoning", 30),)
    assert not read_back.head.recorded


def test_missing_results_and_strange_ones(tmp_path: Path) -> None:
    picture = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
    read_back = document(
        tmp_path,
        message(1, "user", "Go."),
        message(
            2,
            "gemini",
            toolCalls=[
                call("c1", status="cancelled"),
                call("c2", result="plain"),
                call("c3", response("c3", "C"), picture, {"text": "see above"}),
                # A rewritten history holds the results of all calls in each.
                call("c4", response("c3", "C"), response("c4", "D")),
            ],
        ),
        message(3, "gemini", "Done."),
    )
    results = {item.call_id: (item.text, item.media) for item in read_back.items if item.kind == "tool_result"}
    assert results == {
        "c1": (NO_RESULT, ()),
        "c2": ("plain", ()),
        "c3": ("C\nsee above", (Media("image", 258),)),
        "c4": ("D", ()),
    }


def test_notices_are_left_out_and_thoughts_without_a_count_noted(tmp_path: Path) -> None:
    read_back = document(
        tmp_path,
        message(1, "user", "Go."),
        message(2, "gemini", "Done.", thoughts=[{"description": "hm"}]),
        message(3, "info", "Update!"),
        message(4, "error", "Oh."),
    )
    assert said(read_back) == [("user", "Go."), ("reasoning", ""), ("assistant", "Done.")]
    assert read_back.notes == (
        "1 response(s) with reasoning of unknown size, counted as 0 tokens",
        "left out: 1 x message of type info, 1 x message of type error",
    )


def test_calls_cut_off_by_a_notice_belong_to_the_response_before(tmp_path: Path) -> None:
    late = message(4, "gemini", "", tokens=tokens(0, 0), toolCalls=[call("c1", response("c1", "A"))])
    read_back = document(
        tmp_path,
        message(1, "user", "Go."),
        message(2, "gemini", "I read.", tokens=tokens(900)),
        message(3, "info", "Update!"),
        late,
        message(5, "gemini", "Done.", tokens=tokens(1000)),
    )
    assert [(c.start, c.end) for c in read_back.calls] == [(1, 3), (4, 5)]
    # Without a notice between, it is a response whose usage is not known.
    read_back = document(tmp_path, message(1, "user", "Go."), message(2, "gemini", "I read."), late)
    assert [(c.start, c.end, c.usage) for c in read_back.calls] == [(1, 2, None), (2, 3, None)]


def test_jsonl_where_the_last_of_an_id_counts(tmp_path: Path) -> None:
    read_back = lines(
        tmp_path,
        message(1, "user", [{"text": "Go."}]),
        {"$set": {"lastUpdated": TIME}},
        message(2, "gemini", "I read.", tokens=tokens(900)),
        message(2, "gemini", "I read.", tokens=tokens(900), toolCalls=[call("c1", response("c1", "A"))]),
        {"$set": {"summary": "Reading"}},
        message(3, "gemini", "Done.", tokens=tokens(1000)),
    )
    assert said(read_back) == [
        ("user", "Go."),
        ("assistant", "I read."),
        ("tool_call", '{"path":"c1"}'),
        ("tool_result", "A"),
        ("assistant", "Done."),
    ]
    assert [c.usage and c.usage.input_tokens for c in read_back.calls] == [900, 1000]
    assert read_back.notes == ()


def test_what_the_user_took_back_is_left_out(tmp_path: Path) -> None:
    read_back = lines(
        tmp_path,
        message(1, "user", "Go."),
        message(2, "gemini", "One."),
        message(3, "user", "Wrong."),
        message(4, "gemini", "Two.", tokens=tokens(1000), timestamp="2026-01-05T09:00:00Z", model="gemini-3"),
        message(6, "gemini", "Three.", tokens=tokens(2000)),
        {"$rewindTo": "m3"},
        message(5, "user", "Right."),
        message(6, "gemini", "Three."),
    )
    assert [text for _, text in said(read_back)] == ["Go.", "One.", "Right.", "Three."]
    assert read_back.notes == ("left out: 2 x message taken back",)
    # It was paid for all the same; what is written again is there.
    [lost] = read_back.beside
    assert (lost.usage and lost.usage.input_tokens, lost.time_s, lost.model) == (1000, 1_767_603_600.0, "gemini-3")
    # Back to an unknown message is back to the start.
    assert lines(tmp_path, message(1, "user", "Go."), {"$rewindTo": "m9"}).items == ()


def test_a_rewritten_history_marks_what_follows(tmp_path: Path) -> None:
    asked, done = message(1, "user", "Go."), message(3, "gemini", "Done.")
    worked = message(2, "gemini", "", toolCalls=[call("c1", response("c1", "A" * 50))])
    masked = {**worked, "toolCalls": [call("c1", response("c1", "<tool_output_masked>"))]}
    results = message(9, "user", [response("c1", "A" * 50)])
    summary = message(8, "user", [{"text": "<state_snapshot>All was well."}])
    read_back = lines(
        tmp_path,
        asked,
        worked,
        # The same history with the results as a turn of their own: nothing has changed for the model.
        {"$set": {"messages": [asked, worked, results]}},
        done,
        {"$set": {"messages": [asked, masked, done]}},
        message(4, "gemini", "More."),
        {"$set": {"messages": [asked, masked, done, message(4, "gemini", "More.")]}},
        message(5, "gemini", "Still more."),
        {"$set": {"messages": [summary, worked, message(5, "gemini", "Still more.")]}},
        message(6, "gemini", "After."),
        message(7, "info", "Update!"),
    )
    assert [c.comparable for c in read_back.calls] == [True, True, False, False, True]
    assert read_back.cleared == ((3, 2),)
    assert read_back.compactions == (Compaction(5, 6, "", ("<state_snapshot>All was well.",), (1, 2, 5)),)
    assert read_back.notes == (
        "recorded masking of tool outputs before call 3",
        "recorded compaction before call 5",
        "left out: 1 x message of type info",
    )
    # The whole history is kept, and the summary is not part of it.
    assert ("tool_result", "A" * 50) in said(read_back)
    assert "All was well." not in str(said(read_back))


def test_messages_that_stand_only_in_an_update_are_read(tmp_path: Path) -> None:
    read_back = lines(tmp_path, {"$set": {"messages": [message(1, "user", "Go."), message(2, "gemini", "Done.")]}})
    assert said(read_back) == [("user", "Go."), ("assistant", "Done.")]


def test_content_that_repeats_the_calls_is_not_counted_twice(tmp_path: Path) -> None:
    content = [{"text": "Hm.", "thought": True}, {"text": "I read."}, {"functionCall": {"name": "read", "id": "c1"}}]
    read_back = document(
        tmp_path,
        message(1, "user", "Go."),
        message(2, "gemini", content, toolCalls=[call("c1", response("c1", "A"))]),
        message(3, "user", [response("c1", "A")]),
        message(4, "gemini", "Done."),
    )
    assert kinds(read_back) == ["user", "assistant", "tool_call", "tool_result", "assistant"]


def test_a_sub_agent_names_its_parent(tmp_path: Path) -> None:
    parent = write(tmp_path / "session-2026-01-05T09-00-abcdef12.jsonl", HEADER)
    header = {**HEADER, "sessionId": "sub", "kind": "subagent"}
    child = write(tmp_path / "abcdef12-3456" / "sub.jsonl", header, message(1, "gemini", "Hi."))
    assert only(parent, "gemini-cli").parent is None
    assert only(child, "gemini-cli").parent == str(parent)
    parent.unlink()
    assert only(child, "gemini-cli").parent == "abcdef12-3456"


def test_records_that_are_no_messages_are_counted(tmp_path: Path) -> None:
    found = lines(
        tmp_path, message(1, "user", "Go."), {"x": 1}, {"y": 1}, message(2, "gemini", "Done."), {"$set": {"x": 1}}
    )
    assert found.notes == ("left out: 2 x record without id",)
    assert lines(tmp_path, 5, [], message(1, "gemini", "Done.")).notes == ("left out: 2 x value that is no object",)


def test_messages_of_one_id_in_a_document_are_kept_apart(tmp_path: Path) -> None:
    found = document(
        tmp_path, message(1, "user", "Go."), message(1, "gemini", "One."), {"type": "gemini", "content": "Two."}
    )
    assert said(found) == [("user", "Go."), ("assistant", "One."), ("assistant", "Two.")]


def test_what_a_history_no_longer_has_is_told_once(tmp_path: Path) -> None:
    first, second, third = message(1, "user", "Go."), message(2, "gemini", "One."), message(3, "user", "And?")
    summary = {"id": "s1", "type": "user", "content": "So far."}
    found = lines(
        tmp_path, first, second, third, {"$set": {"messages": [summary, third]}}, message(4, "gemini", "Two."),
        {"$set": {"messages": [summary, third, message(4, "gemini", "Two.")]}}, message(5, "gemini", "Three."),
        {"$set": {"messages": [message(5, "gemini", "Three.")]}}, message(6, "gemini", "Four."),
    )  # fmt: skip
    assert found.compactions == (
        Compaction(2, 3, "", ("So far.",), (2,)), Compaction(4, 5, "", (), (4,))
    )  # fmt: skip
    assert [call.comparable for call in found.calls] == [True] * 4
    assert found.notes == ("recorded compaction before call 2", "recorded compaction before call 4")


def test_outputs_that_were_masked_are_told_once_and_by_the_calls_of_their_messages(tmp_path: Path) -> None:
    def asked(output: str, other: str = "2") -> Json:
        return message(
            2,
            "gemini",
            "",
            toolCalls=[call("c1", response("c1", output), response("c2", other)), call("c2", response("c2", "2"))],
        )

    rewritten = {"$set": {"messages": [message(1, "user", "Go."), asked("masked")]}}
    found = lines(tmp_path, message(1, "user", "Go."), asked("1"), message(3, "gemini", "One."), rewritten, rewritten,
                  message(4, "gemini", "Two."), message(5, "gemini", "Three."))  # fmt: skip
    # Message 3 is gone as well: then it is a compaction.
    assert found.notes[0] == "recorded compaction before call 3"
    kept = {"$set": {"messages": [message(1, "user", "Go."), asked("masked", "9"), message(3, "gemini", "One.")]}}
    found = lines(tmp_path, message(1, "user", "Go."), asked("1"), message(3, "gemini", "One."), kept, kept,
                  message(4, "gemini", "Two."))  # fmt: skip
    assert (found.compactions, found.cleared) == ((), ((3, 3), (3, 4)))
    assert [call.comparable for call in found.calls] == [True, True, False]
    assert found.notes == ("recorded masking of tool outputs before call 3",)
    # What stands there of another call is no output of this one.
    same = {"$set": {"messages": [message(1, "user", "Go."), asked("1", "9"), message(3, "gemini", "One.")]}}
    assert lines(tmp_path, message(1, "user", "Go."), asked("1"), message(3, "gemini", "One."), same).notes == ()


def test_a_notice_counts_for_the_response_that_it_stands_in(tmp_path: Path) -> None:
    alone = message(3, "gemini", "", toolCalls=[call("c1", response("c1", "1"))])
    noticed = [message(9, "info", "!"), message(10, "user", "More."), message(11, "gemini", "Hm.")]
    assert len(document(tmp_path, message(1, "user", "Go."), message(2, "gemini", "One."), *noticed, alone).calls) == 3
