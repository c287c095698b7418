"""Claude Code sessions: split responses, forks, sub-agents, compactions, and lines that were never sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from read_back import Json, all_of, kinds, only, text, write

from ctxsim.transcript import Compaction, Media, Transcript, Usage

# 2 January 2025, 03:04:05 UTC.
TIME_S = 1_735_787_045.0


def line(kind: str, uuid: str, parent: str | None, **fields: Any) -> Json:
    return {
        "type": kind,
        "uuid": uuid,
        "parentUuid": parent,
        "sessionId": "s",
        "isSidechain": False,
        "timestamp": "2025-01-02T03:04:05.000Z",
        **fields,
    }


def user(uuid: str, parent: str | None, content: Any, **fields: Any) -> Json:
    return line("user", uuid, parent, message={"role": "user", "content": content}, **fields)


def result(uuid: str, parent: str, call_id: str, content: Any, **fields: Any) -> Json:
    return user(uuid, parent, [{"type": "tool_result", "tool_use_id": call_id, "content": content}], **fields)


def answer(uuid: str, parent: str | None, message_id: str | None, *blocks: Json, **fields: Any) -> Json:
    message = {"id": message_id, "role": "assistant", "model": "claude-x", "content": list(blocks)}
    for field in ("usage", "stop_reason", "context_management", "model"):
        if field in fields:
            message[field] = fields.pop(field)
    return line("assistant", uuid, parent, message=message, **fields)


def call(call_id: str, name: str = "Bash", **arguments: Any) -> Json:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def usage(fresh: int, written: int, read: int, output: int = 1) -> Json:
    return {
        "input_tokens": fresh,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": read,
        "output_tokens": output,
    }


def one(tmp_path: Path, *lines: Json | str) -> Transcript:
    return only(write(tmp_path / "session.jsonl", *lines), "claude-code")


def test_a_response_of_several_lines_is_one_call_with_the_usage_of_its_last_line(tmp_path: Path) -> None:
    transcript = one(
        tmp_path,
        user("u1", None, "Any mail?"),
        answer(
            "a1", "u1", "m1", {"type": "thinking", "thinking": "Look.", "signature": "x"}, usage=usage(9, 100, 2000)
        ),
        answer("a2", "a1", "m1", text("I look."), usage=usage(9, 100, 2000, 1)),
        answer("a3", "a2", "m1", call("t1", cmd="ls"), usage=usage(10, 100, 2000, 31)),
        result("u2", "a3", "t1", "a\nb", toolUseResult={"stdout": "a\nb"}),
        answer("a4", "u2", "m2", text("Two."), usage=usage(1, 0, 2150, 7), stop_reason="end_turn"),
    )
    assert kinds(transcript) == ["user", "reasoning", "assistant", "tool_call", "tool_result", "assistant"]
    first, second = transcript.calls
    # 10 + 100 + 2000; the output number of a line without a stop reason is of a response that still streams.
    assert first.usage == Usage(2110, None, 2000, 100, output_begun_tokens=31)
    assert second.usage == Usage(2151, 7, 2150, 0)
    assert (first.start, first.end, second.start, second.end) == (1, 4, 5, 6)
    assert first.time_s == 1735787045.0
    assert first.model == transcript.model == "claude-x"
    assert transcript.items[3].text == '{"cmd":"ls"}'
    assert transcript.items[4].answers == 3
    assert transcript.head.recorded is False
    assert transcript.notes == ("left out: 1 x output token count of an unfinished response",)


@pytest.mark.parametrize(
    ("message_id", "requests"),
    [
        *((message_id, ("req_1", "req_1")) for message_id in ("msg_1", "", None)),
        # The first or the second line of the response lacks it.
        ("msg_1", (None, "req_1")), ("msg_1", ("req_1", None)),
    ],
)  # fmt: skip
def test_responses_are_told_apart_by_their_requests_too(
    message_id: str | None, requests: tuple[str | None, str | None], tmp_path: Path
) -> None:
    transcript = one(
        tmp_path,
        user("u1", None, "Any mail?"),
        answer("a1", "u1", message_id, text("I look."), usage=usage(9, 0, 0), requestId=requests[0]),
        answer("a2", "a1", message_id, call("t1", cmd="ls"), usage=usage(9, 0, 0), requestId=requests[1]),
        result("u2", "a2", "t1", "mail.py"),
        answer("a3", "u2", message_id, text("One."), usage=usage(20, 0, 0), requestId="req_2"),
    )
    assert [made.usage and made.usage.input_tokens for made in transcript.calls] == [9, 20]
    assert kinds(transcript) == ["user", "assistant", "tool_call", "tool_result", "assistant"]


def test_parallel_calls_fork_the_tree_but_keep_all_their_results(tmp_path: Path) -> None:
    # The chain back from a4 is a4, r2, a2, a1: without more it would lose a3's call and the results r1 and r3.
    transcript = one(
        tmp_path,
        user("u1", None, "Go."),
        answer("a1", "u1", "m1", call("t1")),
        result("r1", "a1", "t1", "one"),
        answer("a2", "a1", "m1", call("t2")),
        answer("a3", "a2", "m1", call("t3")),
        result("r3", "a3", "t3", "three"),
        result("r2", "a2", "t2", "two"),
        answer("a4", "r2", "m2", text("Done.")),
    )
    assert kinds(transcript) == ["user", *["tool_call"] * 3, *["tool_result"] * 3, "assistant"]
    answers = {item.call_id: item.text for item in transcript.items if item.kind == "tool_result"}
    assert answers == {"t1": "one", "t2": "two", "t3": "three"}
    assert len(transcript.calls) == 2
    assert transcript.notes == ()


def test_an_edited_prompt_leaves_the_old_branch_out(tmp_path: Path) -> None:
    transcript = one(
        tmp_path,
        user("u1", None, "First try."),
        answer("a1", "u1", "m1", text("No.")),
        user("u2", "a1", "Bad idea."),
        answer("a2", "u2", "m2", call("t1"), usage=usage(9, 100, 2000, 31)),
        result("r1", "a2", "t1", "rejected"),
        user("u3", "a1", "Good idea."),
        answer("a3", "u3", "m3", text("Yes.")),
    )
    assert [item.text for item in transcript.items] == ["First try.", "No.", "Good idea.", "Yes."]
    assert transcript.notes == ("left out: 3 x line of an abandoned branch",)
    # It was paid all the same.
    assert [call.usage for call in transcript.beside] == [Usage(2109, None, 2000, 100, output_begun_tokens=31)]
    assert len(transcript.calls) == 2


def test_a_call_that_was_asked_twice_keeps_the_result_of_the_branch(tmp_path: Path) -> None:
    transcript = one(
        tmp_path,
        user("u1", None, "Go."),
        answer("a1", "u1", "m1", call("t1")),
        result("r1", "a1", "t1", "rejected"),
        result("r2", "a1", "t1", "fine"),
        answer("a2", "r2", "m2", text("Done.")),
    )
    assert [item.text for item in transcript.items if item.kind == "tool_result"] == ["fine"]
    assert transcript.notes == ("left out: 1 x line of an abandoned branch",)


def test_the_chain_runs_through_progress_lines_and_over_missing_parents(tmp_path: Path) -> None:
    transcript = one(
        tmp_path,
        user("u1", "not in this file", "Go."),
        line("progress", "p1", "u1", data="odd", agentId=7),
        answer("a1", "p1", "m1", text("Working.")),
        user("u2", "lost", "On."),
        answer("a2", "u2", "m2", text("Done.")),
    )
    assert [item.text for item in transcript.items] == ["Go.", "Working.", "On.", "Done."]
    assert transcript.notes == ("left out: 1 x progress",)


def test_lines_of_a_resumed_session_that_come_twice_are_read_once(tmp_path: Path) -> None:
    lines = [user("u1", None, "Go."), answer("a1", "u1", "m1", text("Yes."))]
    transcript = one(tmp_path, *lines, *lines, user("u2", "a1", "On."), answer("a2", "u2", "m2", text("Done.")))
    assert [item.text for item in transcript.items] == ["Go.", "Yes.", "On.", "Done."]
    assert transcript.notes == ("left out: 2 x repeated line",)


@pytest.mark.parametrize(("version", "given"), [
    ("2.0.76", '{"plan":"Dig.","allowedPrompts":[]}'), ("2.1.0", '{"allowedPrompts":[]}'),
    (None, '{"plan":"Dig.","allowedPrompts":[]}'), ("odd", '{"plan":"Dig.","allowedPrompts":[]}'),
    ("3.0", '{"allowedPrompts":[]}'),
])  # fmt: skip
def test_the_plan_that_newer_versions_add_to_a_call_was_not_sent(
    version: str | None, given: str, tmp_path: Path
) -> None:
    shows, reads = call("c1", "ExitPlanMode", plan="Dig.", allowedPrompts=[]), call("c2", "Read", plan="Dig.")
    stated = {} if version is None else {"version": version}
    found = one(tmp_path, user("u1", None, "Go."), answer("a1", "u1", "m1", shows, reads, **stated))
    assert [item.text for item in found.items if item.kind == "tool_call"] == [given, '{"plan":"Dig."}']


def test_blocks_that_later_lines_of_a_response_repeat_are_read_once(tmp_path: Path) -> None:
    transcript = one(
        tmp_path,
        user("u1", None, "Go."),
        answer("a1", "u1", "m1", text("I look.")),
        answer("a2", "a1", "m1", text("I look."), call("t1")),
        result("r1", "a2", "t1", "ok"),
    )
    assert kinds(transcript) == ["user", "assistant", "tool_call", "tool_result"]


def test_calls_without_ids_are_paired_in_order(tmp_path: Path) -> None:
    def bare(block: Json) -> Json:
        return {key: value for key, value in block.items() if not key.endswith("id")}

    transcript = one(
        tmp_path,
        user("u1", None, "Go."),
        answer("a1", "u1", None, bare(call("t1")), bare(call("t2"))),
        user("r1", "a1", [{"type": "tool_result", "content": "one"}, {"type": "tool_result", "content": "two"}]),
        answer("a2", "r1", None, text("Done.")),
    )
    assert [(item.text, item.answers) for item in transcript.items[3:5]] == [("one", 1), ("two", 2)]
    assert len(transcript.calls) == 2


def test_a_compaction_keeps_the_history_and_marks_the_calls_after_it(tmp_path: Path) -> None:
    transcript = one(
        tmp_path,
        user("u1", None, "Go."),
        answer("a1", "u1", "m1", text("One."), usage=usage(5, 0, 1000)),
        line("system", "c1", None, subtype="compact_boundary", logicalParentUuid="a1",
             compactMetadata={"trigger": "auto", "preTokens": 155100}),
        user("u2", "c1", "This is a summary.", isCompactSummary=True, isVisibleInTranscriptOnly=True),
        line("attachment", "x1", "u2", attachment={"type": "file", "content": {"file": {"content": "restored"}}}),
        answer("a2", "x1", "m2", text("Two."), usage=usage(5, 0, 300)),
        user("u3", "a2", "On."),
        answer("a3", "u3", "m3", text("Three.")),
        line("system", "c2", None, subtype="compact_boundary", logicalParentUuid="a3",
             compactMetadata={"trigger": "manual"}),
        user("u4", "c2", "A summary at the end.", isCompactSummary=True),
    )  # fmt: skip
    assert [item.text for item in transcript.items] == ["Go.", "One.", "Two.", "On.", "Three."]
    assert [each.comparable for each in transcript.calls] == [True, True, True]
    assert transcript.compactions == (
        Compaction(2, 2, "auto", ("This is a summary.", "restored"), tokens_before=155_100, time_s=TIME_S),
        Compaction(4, 5, "manual", ("A summary at the end.",), time_s=TIME_S),
    )
    assert transcript.notes == (
        "recorded compaction before call 2 (auto, 155100 tokens)",
        "recorded compaction before call 4 (manual)",
        "left out: 2 x output token count of an unfinished response",
    )


def test_a_compaction_keeps_the_lines_that_it_names(tmp_path: Path) -> None:
    def kept(**metadata: object) -> tuple[Compaction, ...]:
        return one(
            tmp_path,
            user("u1", None, "Go."),
            answer("a1", "u1", "m1", call("t1")),
            result("r1", "a1", "t1", "long"),
            answer("a2", "r1", "m2", text("One.")),
            line("system", "c1", None, subtype="compact_boundary", logicalParentUuid="a2",
                 compactMetadata={"trigger": "auto", "postTokens": 900, "durationMs": 2500, **metadata}),
            user("u2", "c1", "This is a summary.", isCompactSummary=True),
            answer("a3", "u2", "m3", text("Two.")),
        ).compactions  # fmt: skip

    one_by_one = kept(preservedMessages={"anchorUuid": "u2", "uuids": ["a1", "r1"]})
    # It ended at the boundary's time.
    expected = Compaction(
        3, 4, "auto", ("This is a summary.",), (1, 2), tokens_after=900, seconds=2.5, time_s=TIME_S - 2.5
    )
    assert one_by_one == (expected,)
    # What is no text names no line.
    segment = {"headUuid": "r1", "anchorUuid": "u2", "tailUuid": "a2"}
    for metadata, places in (
        ({"preservedMessages": {"uuids": ["r1", ["a2"], {}, 5, "a1"]}, "preservedSegment": segment}, (1, 2)),
        ({"preservedMessages": {"uuids": []}, "preservedSegment": segment}, (2, 3)),
        ({"preservedSegment": segment}, (2, 3)),
        ({"preservedSegment": segment | {"headUuid": "gone"}}, ()),
        ({"preservedSegment": segment | {"tailUuid": "gone"}}, ()),
    ):
        assert kept(**metadata)[0].kept == places


def test_lines_repeated_under_new_uuids_are_read_once(tmp_path: Path) -> None:
    def at(second: int, line: Json) -> Json:
        return {**line, "timestamp": f"2026-01-05T09:00:0{second}.000Z"}

    def once(mark: str) -> list[Json]:
        return [
            at(1, user(f"{mark}1", None, "Go.")),
            at(2, answer(f"{mark}2", f"{mark}1", "m1", call("t1"))),
            at(3, result(f"{mark}3", f"{mark}2", "t1", "long")),
            at(4, answer(f"{mark}4", f"{mark}3", "m2", text("One."))),
            at(5, user(f"{mark}5", f"{mark}4", "On.")),
        ]

    again = [at(6, user("d5", "d4", "On.")), at(7, answer("a9", "d5", "m3", text("Two.")))]
    transcript = one(tmp_path, *once("a"), *once("b"), *once("d")[:4], *again)
    assert [item.text for item in transcript.items] == ["Go.", "{}", "long", "One.", "On.", "Two."]
    assert [each.start for each in transcript.calls] == [1, 3, 5]
    assert "9 x repeated line" in transcript.notes[-1]


def test_a_file_that_starts_with_a_response_says_so(tmp_path: Path) -> None:
    transcript = one(tmp_path, answer("a1", "gone", "m1", call("t1")), result("r1", "a1", "t1", "long"))
    assert transcript.notes[0] == "starts with a response: what its request held is not in the file"


def test_a_session_that_starts_with_a_summary_starts_with_it(tmp_path: Path) -> None:
    transcript = one(
        tmp_path,
        line("system", "c1", None, subtype="compact_boundary", logicalParentUuid="gone"),
        user("u1", "c1", "This is a summary.", isCompactSummary=True),
        answer("a1", "u1", "m1", text("On.")),
    )
    assert kinds(transcript) == ["user", "assistant"]
    assert transcript.calls[0].comparable
    assert transcript.notes == ("the history before the recorded compaction is missing",)


def test_a_request_that_shrinks_without_a_record_is_noted(tmp_path: Path) -> None:
    def session(tokens: int, model: str = "claude-x", before: int = 1000) -> Transcript:
        return one(
            tmp_path,
            user("u1", None, "Go."),
            answer("a1", "u1", "m1", text("One."), usage=usage(0, 0, before), stop_reason="end_turn"),
            user("u2", "a1", "On."),
            answer("a2", "u2", "m2", text("Two."), usage=usage(0, 0, tokens), stop_reason="end_turn", model=model),
        )

    # 900 of 1000 may be thinking that isn't sent again; 899 is less than nine tenths.
    assert session(900).notes == ()
    assert session(899).notes == ("unlogged clearing before call 2 (1000 to 899 tokens)",)
    # Where usage falls further, `as_sent` begins a segment: the call compares with what it sent itself.
    assert [each.comparable for each in session(899).calls] == [True, True]
    # A number that can't be is compared with nothing.
    for wrong in ({"tokens": 800, "before": 10**400}, {"tokens": 800, "before": 10**15}, {"tokens": -5}):
        assert session(**wrong).notes == ("1 x input_tokens that can't be: taken as not recorded",)
    assert session(100, model="claude-y").notes == ()


def test_results_cleared_by_the_server_mark_that_request(tmp_path: Path) -> None:
    cleared = {"applied_edits": [{"type": "clear_tool_uses_20250919", "cleared_tool_uses": 2}]}
    transcript = one(
        tmp_path,
        user("u1", None, "Go."),
        answer("a1", "u1", "m1", text("One."), context_management=cleared),
        user("u2", "a1", "On."),
        answer("a2", "u2", "m2", text("Two."), context_management={"applied_edits": []}),
    )
    assert [each.comparable for each in transcript.calls] == [False, True]
    assert transcript.notes == ("1 request(s) without old tool results, by the server",)


def test_what_was_never_sent_is_left_out_and_counted(tmp_path: Path) -> None:
    transcript = one(
        tmp_path,
        "// a comment line",
        {"type": "summary", "summary": "A title", "leafUuid": "a9"},
        {"type": "file-history-snapshot", "messageId": "u1", "snapshot": {}},
        {"type": "queue-operation", "operation": "enqueue", "sessionId": "s", "content": "later"},
        user("u0", None, "<local-command-caveat>Ignore.</local-command-caveat>", isMeta=True),
        user("u1", "u0", "Go."),
        line("system", "y1", "u1", subtype="api_error", error={}),
        answer("a1", "y1", "m1", text("API Error"), isApiErrorMessage=True, model="<synthetic>"),
        user("u2", "a1", "Shown only.", isVisibleInTranscriptOnly=True),
        answer("a2", "u2", "m2", text("Yes.")),
        {"type": "brand-new", "sessionId": "s"},
        json.dumps({"type": "brand-new"}) + json.dumps({"type": "brand-new"}),
        line("user", "u9", "a2", message=None),
        line("assistant", "a9", "u9", message=None),
        '{"type":"user","uuid":"u10","par',
    )
    assert [item.text for item in transcript.items] == [
        "<local-command-caveat>Ignore.</local-command-caveat>",
        "Go.",
        "Yes.",
    ]
    assert [note[:16] for note in transcript.notes[:2]] == ["1 line(s) with m", "line 15 skipped,"]
    assert transcript.notes[2:] == (
        "left out: 3 x brand-new, 1 x summary, 1 x file-history-snapshot, 1 x queue-operation, 1 x system api_error, "
        "1 x local message, not generated, 1 x user line for display only, "
        "1 x assistant line without a message, 1 x user line without a message",
    )


def test_attachments_count_where_their_text_is_recorded(tmp_path: Path) -> None:
    attachments: list[Json] = [
        {"type": "queued_command", "prompt": "And the tests."},
        {"type": "queued_command", "prompt": [{"type": "image", "source": {"data": "AAAA"}}, text("See.")]},
        {"type": "nested_memory", "content": {"content": "Use tabs."}},
        {"type": "deferred_tools_delta", "addedLines": ["one", "two"]},
        {"type": "todo_reminder", "content": [{"content": "Test", "status": "pending"}]},
        {"type": "hook_success", "content": ""},
        {"type": "date_change", "newDate": "2025-01-03"},
    ]
    lines = [line("attachment", f"x{n}", f"x{n - 1}", attachment=each) for n, each in enumerate(attachments, 1)]
    transcript = one(
        tmp_path,
        user("x0", None, "Go."),
        *lines,
        line("system", "x8", "x7", subtype="local_command", content="<local-command-stdout>ok</local-command-stdout>"),
        answer("a1", "x8", "m1", text("Yes.")),
    )
    assert [item.text for item in transcript.items] == [
        "Go.",
        "And the tests.",
        "",
        "See.",
        "Use tabs.",
        "one\ntwo",
        '[{"content":"Test","status":"pending"}]',
        "<local-command-stdout>ok</local-command-stdout>",
        "Yes.",
    ]
    assert transcript.items[2].media == (Media("image", 1600),)
    assert transcript.notes == ("left out: 1 x attachment hook_success, 1 x attachment date_change",)


def test_text_that_came_with_a_parallel_result_stays_with_it(tmp_path: Path) -> None:
    transcript = one(
        tmp_path,
        user("u1", None, "Go."),
        answer("a1", "u1", "m1", call("t1", "Skill")),
        result("r1", "a1", "t1", "Launching."),
        user("k1", "r1", "The skill's text.", isMeta=True, sourceToolUseID="t1"),
        answer("a2", "a1", "m1", call("t2")),
        result("r2", "a2", "t2", "two"),
        answer("a3", "r2", "m2", text("Done.")),
    )
    assert kinds(transcript) == ["user", *["tool_call"] * 2, *["tool_result"] * 2, "user", "assistant"]
    assert transcript.items[5].text == "The skill's text."


def test_images_are_not_text_and_hidden_thinking_has_only_its_tokens(tmp_path: Path) -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 5000}}
    details = {"output_tokens_details": {"thinking_tokens": 40}}
    transcript = one(
        tmp_path,
        user("u1", None, "Go."),
        answer("a1", "u1", "m1", {"type": "thinking", "thinking": "", "signature": "x"},
               usage=usage(9, 0, 0, 60) | details),
        answer("a2", "a1", "m1", {"type": "redacted_thinking", "data": "B" * 5000}, call("t1", "Read"),
               usage=usage(9, 0, 0, 60) | details, stop_reason="tool_use"),
        result("r1", "a2", "t1", [text("A plot."), image]),
        answer("a3", "r1", "m2", text("Nice.")),
    )  # fmt: skip
    reasoning = [item for item in transcript.items if item.kind == "reasoning"]
    assert [(item.text, item.media) for item in reasoning] == [("", (Media("encrypted_reasoning", 40),)), ("", ())]
    assert transcript.items[4].text == "A plot."
    assert transcript.items[4].media == (Media("image", 1600),)
    assert transcript.calls[0].usage == Usage(9, 60, 0, 0, 40)


def test_a_signature_tells_how_much_was_thought_beyond_what_is_shown(tmp_path: Path) -> None:
    def thought(shown: str, signature: Any) -> Json:
        return {"type": "thinking", "thinking": shown, "signature": signature}

    blocks = [thought("", "s" * 2000), thought("Sum.", "s" * 2000), thought("T" * 1326, "s" * 2000), thought("T", [1])]
    transcript = one(
        tmp_path,
        user("u1", None, "Go."),
        *(answer(f"a{n}", f"a{n - 1}" if n else "u1", "m1", block) for n, block in enumerate(blocks)),
        answer("a4", "a3", "m1", text("Done.")),
    )
    # 2,000 letters are 1,500 bytes, 174 of which aren't thinking: 1,326, or 331 tokens, less the four bytes shown.
    media = [item.media for item in transcript.items if item.kind == "reasoning"]
    assert media == [(Media("unshown", 331),), (Media("unshown", 330),), (), ()]


def test_sidechains_in_a_file_are_transcripts_of_their_own(tmp_path: Path) -> None:
    # Two sub-agents of an older version, told apart by where their chains begin.
    path = write(
        tmp_path / "session.jsonl",
        user("u1", None, "Go."),
        answer("a1", "u1", "m1", call("t1", "Task"), call("t2", "Task")),
        user("s1", None, "Find A.", isSidechain=True),
        user("z1", None, "Find B.", isSidechain=True),
        {"type": "progress", "uuid": "p1", "parentUuid": "s1", "isSidechain": True},
        answer("s2", "p1", "m2", text("A is here."), isSidechain=True),
        answer("z2", "z1", "m3", text("B is there."), isSidechain=True),
        result("r1", "a1", "t1", "A is here."),
        result("r2", "a1", "t2", "B is there."),
        answer("a2", "r2", "m4", text("Both found.")),
    )
    main, first, second = all_of(path, "claude-code")
    assert kinds(main) == ["user", "tool_call", "tool_call", "tool_result", "tool_result", "assistant"]
    assert [item.text for item in first.items] == ["Find A.", "A is here."]
    assert [item.text for item in second.items] == ["Find B.", "B is there."]
    assert (main.parent, first.parent, second.parent) == (None, str(path), str(path))
    assert (first.name, second.name) == (f"{path}#s1", f"{path}#z1")


def test_the_file_of_a_sub_agent_elsewhere_names_the_session_in_its_lines(tmp_path: Path) -> None:
    of_agent = {"isSidechain": True, "agentId": "a7", "sessionId": "5e55"}
    lines = [user("s1", None, "Find A.", **of_agent), answer("s2", "s1", "m2", text("Here."), **of_agent)]
    transcript = only(write(tmp_path / "agent-a7.jsonl", *lines), "claude-code")
    assert (transcript.name, kinds(transcript)) == (str(tmp_path / "agent-a7.jsonl"), ["user", "assistant"])
    assert transcript.parent == str(tmp_path / "5e55.jsonl")


def test_what_a_session_copies_from_another_is_counted_there(tmp_path: Path) -> None:
    def lines(**fields: Any) -> list[Json]:
        return [
            user("u1", None, "Go.", **fields),
            answer("a1", "u1", "m1", text("One."), usage=usage(5, 9, 0), **fields),
        ]

    asks, asked = user("u2", "a1", "Sum up."), answer("a2", "u2", "m2", text("All."), usage=usage(6, 0, 9), model="m")
    fork = one(tmp_path, *lines(forkedFrom={"sessionId": "s", "messageUuid": "u1"}), asks, asked)
    assert [item.text for item in fork.items] == ["Go.", "One.", "Sum up.", "All."]
    assert [(made.start, made.usage and made.usage.input_tokens) for made in fork.calls] == [(3, 15)]
    # The agent that writes a summary begins with the whole history.
    agent: Json = {"isSidechain": True, "agentId": "acompact-7"}
    summary = one(tmp_path, *lines(**agent), asks | agent, asked | agent)
    assert (summary.calls, [item.text for item in summary.items]) == ((), ["Go.", "One.", "Sum up."])
    assert [(made.start, made.usage and made.usage.input_tokens, made.model) for made in summary.beside] == [
        (3, 15, "m")
    ]
    # So does the one that answers a question beside the session.
    agent["agentId"] = "aside_question-7"
    aside = one(tmp_path, *lines(**agent), asks | agent, asked | agent)
    assert ([made.start for made in aside.calls], aside.beside) == ([3], ())


def test_a_fork_names_only_the_session_that_made_the_responses_which_it_copies(tmp_path: Path) -> None:
    copied = {"sessionId": "fork", "requestSessionId": "s"}
    lines = [
        user("u1", None, "Go."), answer("a1", "u1", "m1", call("t1"), usage=usage(5, 9, 0), **copied),
        result("r1", "a1", "t1", "of t1"), answer("x1", "r1", "m2", text("Rewound."), usage=usage(7, 0, 9), **copied),
        user("u2", "r1", "On."),
        answer("a2", "u2", "m3", text("Done."), usage=usage(6, 0, 9), sessionId="fork", requestSessionId="fork"),
    ]  # fmt: skip
    fork = one(tmp_path, *lines)
    assert [item.text for item in fork.items] == ["Go.", "{}", "of t1", "On.", "Done."]
    assert ([made.start for made in fork.calls], fork.beside, fork.carried) == ([4], (), 3)
    # An id behind a response of its own, an empty one, or one beside no session's copies nothing.
    stray = answer("a3", "a2", "m4", text("More."), usage=usage(6, 0, 9), **copied)
    assert [made.start for made in one(tmp_path, *lines, stray).calls] == [4, 5]
    odd = [{"sessionId": "fork", "requestSessionId": ""}, {"sessionId": None, "requestSessionId": "s"}]
    assert len(one(tmp_path, *(lines[:1] + [answer(f"a{n}", "u1", f"m{n}", text("a"), **ids) for n, ids in
                                            enumerate(odd)])).calls) == 1  # fmt: skip


def test_each_response_states_how_it_was_served(tmp_path: Path) -> None:
    fast = {**usage(9, 0, 0), "speed": "fast", "inference_geo": "global"}
    lines = [user("u1", None, "Go."), answer("a1", "u1", "m1", text("Yes."), usage=fast),
             answer("a2", "a1", "m2", text("On."), usage={**fast, "speed": "standard"}),
             answer("a3", "a2", "m3", text("On."), usage={**fast, "inference_geo": "us"})]  # fmt: skip
    found = one(tmp_path, *lines)
    assert [(made.model, made.served) for made in found.calls] == [
        ("claude-x", "fast"), ("claude-x", ""), ("claude-x", "fast us"),
    ]  # fmt: skip


@pytest.mark.parametrize("own", ["claude-x", None])
def test_requests_that_the_server_made_for_a_response_are_paid_beside_it(tmp_path: Path, own: str | None) -> None:
    # The whole usage is the sum of what the model itself was asked, the one that it asked in between isn't in it.
    def made(kind: str, usage: Json, model: str | None) -> Json:
        return {**usage, "type": kind, **({"model": model} if model else {})}

    asked = [made("compaction", usage(900, 0, 0, 40), None), made("message", usage(1, 20, 100, 5), own),
             made("advisor_message", usage(150, 0, 0, 70), "claude-y"), made("message", usage(2, 30, 120, 8), own),
             made("message", usage(7, 0, 0, 0), "claude-z")]  # fmt: skip
    stated = {**usage(3, 50, 220, 13), "iterations": [*asked, None], "output_tokens_details": {"thinking_tokens": 9}}
    lines = [user("u1", None, "Go."), answer("a1", "u1", "m1", text("Yes."), usage=stated, stop_reason="end_turn")]
    read = one(tmp_path, *lines)
    # 1 + 20 + 100 tokens were sent as the log has them; the rest began with parts of the response.
    assert [made.usage for made in read.calls] == [Usage(121, 5, 100, 20)]
    assert [
        (made.model, made.usage and (made.usage.input_tokens, made.usage.output_tokens), made.end)
        for made in read.beside
    ] == [("claude-x", (900, 40), 1), ("claude-y", (150, 70), 0), ("claude-x", (152, 8), 0)]
    single = {**usage(3, 50, 220, 13), "iterations": [made("message", usage(0, 0, 0, 1), own)]}
    once = one(
        tmp_path, user("u1", None, "Go."), answer("a1", "u1", "m1", text("Yes."), usage=single, stop_reason="end_turn")
    )
    assert (once.calls[0].usage, once.beside) == (Usage(273, 13, 220, 50), ())


def test_a_file_of_titles_is_a_transcript_without_calls(tmp_path: Path) -> None:
    transcript = one(tmp_path, *[{"type": "summary", "summary": "A title", "leafUuid": "x"}] * 2)
    assert transcript.calls == ()
    assert transcript.notes == ("left out: 2 x summary", "no response of the model is recorded")
