"""Sessions of pi and OpenClaw: linear and tree versions, compactions, commands of the user, aborted responses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from read_back import Json, kinds, only, said, text, write

from ctxsim.transcript import NO_RESULT, Compaction, Media, Transcript, Usage

OLD = {"type": "session", "id": "s", "timestamp": "2025-01-02T03:04:05.000Z", "cwd": "/w", "modelId": "m0"}
NEW = {"type": "session", "version": 3, "id": "s", "timestamp": "2025-01-02T03:04:05.000Z", "cwd": "/w"}


def entry(links: tuple[str, str | None] | None, role: str, content: Any, **fields: Any) -> Json:
    linked = {"id": links[0], "parentId": links[1]} if links else {}
    message = {"role": role, "content": content, **fields}
    return {"type": "message", "timestamp": "2025-01-02T03:04:09.000Z", **linked, "message": message}


def call(call_id: str, **arguments: Any) -> Json:
    return {"type": "toolCall", "id": call_id, "name": "read", "arguments": arguments}


def result(links: tuple[str, str | None] | None, call_id: str, content: Any) -> Json:
    return entry(links, "toolResult", content, toolCallId=call_id, toolName="read", isError=False)


def one(tmp_path: Path, *lines: Any) -> Transcript:
    return only(write(tmp_path / "session.jsonl", *lines), "pi")


def test_a_linear_session_with_parallel_calls(tmp_path: Path) -> None:
    usage = {
        "input": 12,
        "output": 40,
        "cacheRead": 18000,
        "cacheWrite": 300,
        "totalTokens": 18352,
        "cost": {"input": 0.01, "total": 0.25},
    }
    hidden = {"type": "thinking", "thinking": "Hm.", "thinkingSignature": "x"}
    image = {"type": "image", "data": "A" * 5000, "mimeType": "image/png"}
    transcript = one(
        tmp_path,
        OLD,
        entry(None, "user", [text("Go.")]),
        entry(None, "assistant", [hidden, call("t1", path="a"), call("t2", path="b")], model="m1", usage=usage,
              timestamp=1735787045500),
        result(None, "t2", [text("bee"), image]),
        result(None, "t1", "a"),
        entry(None, "assistant", [text("Done.")]),
    )  # fmt: skip
    assert kinds(transcript) == ["user", "reasoning", *["tool_call"] * 2, *["tool_result"] * 2, "assistant"]
    first, second = transcript.calls
    # 12 + 18000 + 300
    assert first.usage == Usage(18312, 40, 18000, 300, cost_usd=0.25)
    assert second.usage is None
    # The response's own time is when its request started; without one the entry's.
    assert (first.time_s, second.time_s) == (1735787045.5, 1735787049.0)
    assert (first.model, second.model) == ("m1", "m0")
    assert transcript.items[4].media == (Media("image", 1600),)
    assert [item.answers for item in transcript.items[4:6]] == [3, 2]
    assert (transcript.head.recorded, transcript.project) == (False, "/w")
    assert transcript.notes == ()


def test_a_tree_is_read_along_the_branch_it_ended_on(tmp_path: Path) -> None:
    transcript = one(
        tmp_path,
        NEW,
        {"type": "model_change", "id": "0", "parentId": None, "provider": "p", "modelId": "m1"},
        {"type": "thinking_level_change", "id": "0b", "parentId": "0", "thinkingLevel": "off"},
        entry(("1", "0b"), "user", "Go."),
        entry(("2", "1"), "assistant", [text("Wrong.")]),
        entry(("3", "2"), "user", "No."),
        {"type": "branch_summary", "id": "4", "parentId": "1", "fromId": "3", "summary": "It went wrong."},
        {"type": "custom_message", "id": "5", "parentId": "4", "customType": "note", "content": [text("Hint.")]},
        entry(("6", "5"), "user", "Again."),
        entry(("7", "6"), "assistant", [text("Right.")]),
        {"type": "custom", "id": "8", "parentId": "2", "customType": "state", "data": {}},
    )
    assert [item.text for item in transcript.items] == ["Go.", "It went wrong.", "Hint.", "Again.", "Right."]
    assert transcript.model == "m1"
    assert transcript.notes == ("left out: 2 x entry of an abandoned branch, 1 x thinking_level_change, 1 x custom",)


def test_a_compaction_keeps_the_entries_from_the_first_kept_one_on(tmp_path: Path) -> None:
    kept = {"firstKeptEntryIndex": 2}
    transcript = one(
        tmp_path,
        OLD,
        entry(None, "user", "Go."),
        {**entry(None, "assistant", [text("One.")]), "id": "2"},
        {"type": "compaction", "summary": "All so far.", "tokensBefore": 175004, **kept},
        entry(None, "user", "On."),
        entry(None, "assistant", [text("Two.")]),
        {"type": "compaction", "summary": "All so far.", "tokensBefore": 180000, **kept},
    )
    assert [item.text for item in transcript.items] == ["Go.", "One.", "On.", "Two."]
    assert [each.comparable for each in transcript.calls] == [True, True]
    assert transcript.compactions == (
        Compaction(2, 2, "", ("All so far.",), (1,), 175_004),
        Compaction(3, 4, "", ("All so far.",), (1, 2, 3), 180_000),
    )
    assert transcript.notes == (
        "recorded compaction before call 2 (175004 tokens)",
        "recorded compaction before call 3 (180000 tokens)",
    )


def test_a_session_that_starts_with_a_summary_starts_with_it(tmp_path: Path) -> None:
    fork = {**NEW, "parentSession": "/home/x/old.jsonl"}
    compaction = {"type": "compaction", "id": "1", "parentId": None, "summary": "All so far.", "tokensBefore": 9}
    transcript = one(
        tmp_path, fork, compaction, entry(("2", "1"), "user", "On."), entry(("3", "2"), "assistant", "Yes.")
    )
    assert [item.text for item in transcript.items] == ["All so far.", "On.", "Yes."]
    assert transcript.notes == (
        "forked from the session old.jsonl, which it repeats up to the fork",
        "the history before the recorded compaction is missing",
    )


@pytest.mark.parametrize("named", ["parentSession", "branchedFrom"])
def test_a_fork_counts_its_own_responses(named: str, tmp_path: Path) -> None:
    def lines(*, forked: bool) -> list[Json]:
        header = {**NEW, "timestamp": "2025-01-02T03:04:10.000Z", named: "/home/x/old.jsonl"}
        return [
            header if forked else NEW,
            entry(("1", None), "user", "Go."),
            entry(("2", "1"), "assistant", [text("Wrong.")], usage={"input": 7}),
            entry(("3", "1"), "assistant", [text("One.")], usage={"input": 5}),
            {"type": "compaction", "id": "4", "parentId": "3", "summary": "All.", "firstKeptEntryId": "3"},
            entry(("5", "4"), "assistant", [text("Two.")], usage={"input": 6}),
        ]

    third = entry(("6", "5"), "assistant", [text("Three.")], usage={"input": 8})
    later = {**third, "timestamp": "2025-01-02T03:05:00Z"}
    again = {"type": "compaction", "id": "7", "parentId": "6", "summary": "More.", "firstKeptEntryId": "5"}
    whole = one(tmp_path, *lines(forked=False), later, again)
    assert [call.usage for call in whole.calls] == [Usage(5), Usage(6), Usage(8)] and len(whole.beside) == 1
    fork = one(tmp_path, *lines(forked=True), later, again)
    assert [item.text for item in fork.items] == ["All.", "One.", "Two.", "Three."]
    assert ([call.usage for call in fork.calls], fork.carried, fork.beside) == ([Usage(8)], 3, ())
    # The second compaction keeps what stands from "Two." on.
    assert [(each.call, each.kept) for each in fork.compactions] == [(2, (2, 3))]
    assert "begins with 2 response(s) copied from another session, where they are counted" in fork.notes
    assert one(tmp_path, *lines(forked=True)).calls == ()


def test_an_early_fork_wrote_the_times_of_entries_anew(tmp_path: Path) -> None:
    began = 1735787050000
    header = {**OLD, "timestamp": "2025-01-02T03:04:10.000Z", "branchedFrom": "/home/x/old.jsonl"}
    said = [
        {**entry(None, role, [text(role)], usage={"input": 5}, timestamp=began + 1000 * at),
         "timestamp": "2025-01-02T03:04:10.000Z"}
        for role, at in (("user", -9), ("assistant", -8), ("user", 7), ("assistant", 8))
    ]  # fmt: skip
    fork = one(tmp_path, header, *said)
    assert (len(fork.calls), fork.carried, fork.items[0].text) == (1, 2, "user")
    assert "begins with 1 response(s) copied from another session, where they are counted" in fork.notes


def test_what_sub_agents_used_stands_beside_the_conversation(tmp_path: Path) -> None:
    one_used, other_used = {"input": 5, "output": 2, "cacheRead": 100, "cacheWrite": 10, "cost": 0.3}, {"input": 7}
    foreign, totalled = {"input": "3k"}, {"input": 4, "cost": {"total": 0.5}}
    each = ({"usage": one_used, "model": "m2"}, {"usage": other_used}, {"usage": foreign}, {"usage": totalled})
    details = {"results": [*each, {"task": "x"}, "odd"]}
    found = result(None, "t1", "Found.")
    found["message"]["details"] = details
    stated = result(None, "t1", "Found.")
    stated["message"] |= {"details": details, "usage": {"input": 9}, "model": "m3"}
    asked = entry(None, "user", "Go."), entry(None, "assistant", [call("t1")], model="m1", usage={"input": 5})
    assert [(made.usage, made.model) for made in one(tmp_path, OLD, *asked, found).beside] == [
        (Usage(115, 2, 100, 10, cost_usd=0.3), "m2"), (Usage(7), ""), (Usage(4, cost_usd=0.5), "")
    ]  # fmt: skip
    assert [(made.usage, made.model) for made in one(tmp_path, OLD, *asked, stated).beside] == [(Usage(9), "m3")]


def test_responses_that_were_cut_off_keep_their_text_but_not_their_calls(tmp_path: Path) -> None:
    nothing = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
    some = {"input": 5, "output": 1, "cacheRead": 100, "cacheWrite": 0}
    transcript = one(
        tmp_path,
        OLD,
        entry(None, "user", "Go."),
        entry(None, "assistant", [], usage=nothing, stopReason="aborted"),
        entry(None, "user", "On."),
        entry(None, "assistant", [text("I edit."), call("t1")], usage=some, stopReason="error"),
        entry(None, "user", "Again."),
        entry(None, "assistant", [call("t2")], usage=some, stopReason="toolUse"),
        entry(None, "user", "Stop."),
        entry(None, "assistant", [text("Done.")], usage=some, stopReason="stop"),
    )
    assert kinds(transcript) == [
        *["user"] * 2, "assistant", "user", "tool_call", "tool_result", "user", "assistant"
    ]  # fmt: skip
    assert transcript.items[5].text == NO_RESULT
    assert [each.usage for each in transcript.calls] == [Usage(105, 1, 100, 0)] * 3
    assert transcript.notes == (
        "left out: 1 x empty response, aborted or failed, 1 x tool call of a response that was aborted or failed",
        f"1 tool call(s) without a recorded result: '{NO_RESULT}' stands for it",
    )


def test_commands_of_the_user_are_user_text(tmp_path: Path) -> None:
    def command(**fields: Any) -> Json:
        return {"type": "message", "message": {"role": "bashExecution", "command": "make", **fields}}

    transcript = one(
        tmp_path,
        OLD,
        command(output="ok", exitCode=0, cancelled=False, truncated=False),
        command(output="bad", exitCode=2),
        command(output="", cancelled=True, exitCode=130),
        command(output="secret", exitCode=0, excludeFromContext=True),
        entry(None, "system", "Be brief."),
        entry(None, "assistant", [text("Yes.")]),
    )
    assert [item.text for item in transcript.items] == [
        "Ran `make`\n```\nok\n```",
        "Ran `make`\n```\nbad\n```\n\nCommand exited with code 2",
        "Ran `make`\n(no output)\n\n(command cancelled)",
        "Be brief.",
        "Yes.",
    ]
    assert transcript.notes == (
        "1 system message(s) kept as user text",
        "left out: 1 x command of the user, kept from the model",
    )


def test_the_head_is_in_the_first_message_of_pi_1(tmp_path: Path) -> None:
    sections = {"preamble": "You are.", "rules": "Be brief."}
    first = entry(("e1", None), "system", "", sections=sections, toolsAdded=[{"name": "read", "parameters": {}}])
    later = entry(("e3", "e2"), "system", "Be quick.", sections={"rules": "Be quick."})
    found = one(tmp_path, NEW, first, entry(("e2", "e1"), "user", "Go."), later,
                entry(("e4", "e3"), "assistant", [text("Done.")]))  # fmt: skip
    assert (found.head.system, found.head.tools) == ("You are.\n\nBe brief.", ('{"name":"read","parameters":{}}',))
    assert said(found) == [("user", "Go."), ("user", "Be quick."), ("assistant", "Done.")]


def test_requests_after_a_context_edit_lack_what_it_took_out(tmp_path: Path) -> None:
    def edit(links: tuple[str, str], target: str, replacement: Any) -> Json:
        return {"type": "context_edit", "id": links[0], "parentId": links[1], "targetId": target,
                "replacement": replacement, "timestamp": "2025-01-02T03:04:09.000Z"}  # fmt: skip

    spent = {"input": 30, "output": 4, "cacheRead": 0, "cacheWrite": 0}
    found = one(
        tmp_path, NEW, entry(("u", None), "user", "Go."),
        entry(("f", "u"), "assistant", [text("I lo")], stopReason="error", usage=spent, model="m"),
        edit(("x1", "f"), "f", None),
        entry(("a", "x1"), "assistant", [call("t1")]), result(("r", "a"), "t1", "long"),
        entry(("b", "r"), "assistant", [text("Read.")]),
        edit(("x2", "b"), "r", {"content": [text("stub")]}), edit(("x3", "x2"), "u", {"content": "Go on."}),
        entry(("c", "x3"), "assistant", [text("Done.")]),
    )  # fmt: skip
    assert said(found) == [
        ("user", "Go."), ("tool_call", "{}"), ("tool_result", "long"), ("assistant", "Read."), ("assistant", "Done."),
    ]  # fmt: skip
    # The failed response was paid for; from the third call on, requests lack the result at place 2.
    assert [(spare.usage, spare.model) for spare in found.beside] == [(Usage(30, 4, 0, 0), "m")]
    assert found.cleared == ((3, 2),)
    assert found.notes[-1] == (
        "left out: 1 x failed response that a context_edit took out, 1 x context_edit of another message"
    )


@pytest.mark.parametrize(
    ("kept", "places"),
    [
        # The header is entry 0, so all; the answer is entry 2. One that isn't there, and none, keep nothing.
        ({"firstKeptEntryIndex": 0}, (0, 1)),
        ({"firstKeptEntryIndex": 2}, (1,)),
        ({"firstKeptEntryIndex": 9}, ()),
        ({"firstKeptEntryId": "gone"}, ()),
        ({}, ()),
        # An id goes before a number.
        ({"firstKeptEntryId": "2", "firstKeptEntryIndex": 0}, (1,)),
    ],
)
def test_what_a_compaction_keeps(tmp_path: Path, kept: Json, places: tuple[int, ...]) -> None:
    transcript = one(
        tmp_path,
        OLD,
        entry(None, "user", "Go."),
        {**entry(None, "assistant", [text("One.")]), "id": "2"},
        {"type": "compaction", "summary": "All so far.", **kept},
        entry(None, "assistant", [text("Two.")]),
    )
    assert transcript.compactions == (Compaction(2, 2, "", ("All so far.",), places),)
    assert transcript.notes == ("recorded compaction before call 2",)


def test_a_compaction_may_hold_what_it_kept_itself(tmp_path: Path) -> None:
    # As pi's documentation has it: no name of the first entry; what isn't in the history is new, as the summary is.
    asked, answered = (
        entry(("2", "1"), "user", "On."),
        entry(("3", "2"), "assistant", [text("So."), call("t1", path="a")]),
    )
    ran = entry(("5", "4"), "bashExecution", None, command="ls", output="a")
    told = result(("4", "3"), "t1", [text("A file.")])
    tail = [line["message"] for line in (asked, answered, told, ran)] + [{"role": "user", "content": "Of a hook."}]
    transcript = one(
        tmp_path, NEW, entry(("1", None), "user", "Go."), entry(("1b", "1"), "assistant", "One."),
        asked | {"parentId": "1b"}, answered, told, ran,
        {"type": "compaction", "id": "6", "parentId": "5", "summary": "All.", "tokensBefore": 9, "retainedTail": tail},
        entry(("7", "6"), "assistant", "Two."),
    )  # fmt: skip
    (compaction,) = transcript.compactions
    assert (compaction.at, compaction.kept) == (7, (2, 3, 4, 5, 6))
    assert compaction.summary == ("All.", "Of a hook.")


def test_blocks_of_a_response(tmp_path: Path) -> None:
    transcript = one(
        tmp_path,
        OLD,
        entry(None, "user", [text("")]),
        entry(None, "assistant", "A text."),
        entry(None, "assistant", [text(""), {"type": "toolCall", "name": "read"}, {"type": "novel", "x": 1}]),
    )
    # A user's empty text is nothing; a call without arguments has {}; what nobody knows is kept as it is.
    assert said(transcript) == [
        ("assistant", "A text."),
        ("tool_call", "{}"),
        ("assistant", '{"type":"novel","x":1}'),
    ]
    assert len(transcript.calls) == 2


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        # Whatever of the prompt there is: read, written, or neither.
        ({"cacheRead": 5}, Usage(5, None, 5)),
        ({"input": 0, "cacheWrite": 5}, Usage(5, None, None, 5)),
        ({"input": 5, "output": 2, "cost": {"total": 0.5}}, Usage(5, 2, cost_usd=0.5)),
        ({"input": 5, "cost": 0.5}, Usage(5)),
        ({"input": 0, "output": 2}, None),
        # The whole prompt isn't known.
        ({"input": None, "output": 2, "cacheRead": 5}, None),
    ],
)
def test_usage_of_a_request(tmp_path: Path, usage: Json, expected: Usage | None) -> None:
    transcript = one(tmp_path, OLD, entry(None, "user", "Go."), entry(None, "assistant", [text("Yes.")], usage=usage))
    assert transcript.calls[0].usage == expected


def test_what_the_gateway_sends_by_itself_is_no_response(tmp_path: Path) -> None:
    transcript = one(
        tmp_path,
        NEW,
        entry(("1", None), "user", "Go."),
        entry(("2", "1"), "assistant", [text("Sent.")], model="gateway-injected"),
        entry(("3", "2"), "assistant", [text("Sent.")], model="delivery-mirror"),
        {"type": "model_change", "id": "4", "parentId": "3", "modelId": "m1"},
        {"type": "model_change", "id": "5", "parentId": "4"},
        entry(("6", "5"), "assistant", [text("Yes.")]),
        entry(("7", "6"), "assistant", [text("Of another.")], model="m2"),
        {"type": "custom_message", "id": "8", "parentId": "1", "content": "On another branch."},
        {"type": "label", "id": "9", "parentId": "1"},
        {"type": "compaction", "id": "10", "parentId": "7", "summary": "All."},
    )
    assert [item.text for item in transcript.items] == ["Go.", "Yes.", "Of another."]
    # A change without a name changes nothing, and a compaction may be what a session ended on.
    assert [call.model for call in transcript.calls] == ["m1", "m2"]
    assert [one.call for one in transcript.compactions] == [3]
    assert transcript.notes == (
        "recorded compaction before call 3",
        "left out: 2 x message of the gateway, not generated, 1 x label, 1 x entry of an abandoned branch",
    )


def test_lines_that_nobody_knows_are_counted(tmp_path: Path) -> None:
    glued = json.dumps(entry(("1", None), "user", "Go.")) + json.dumps(entry(("2", "1"), "assistant", [text("Yes.")]))
    # What a log calls so is nothing that we know.
    header = {**NEW, "line": "x", "index": "x", "where": 5}
    transcript = one(tmp_path, header, [], 7, {"type": "label"}, {"id": "x"}, glued, '{"type": "message", "mess')
    assert [item.text for item in transcript.items] == ["Go.", "Yes."]
    assert [note[:16] for note in transcript.notes[:2]] == ["1 line(s) with m", "line 7 skipped, "]
    assert transcript.notes[2:] == ("left out: 2 x JSON that is no object, 1 x label, 1 x None",)


def test_responses_of_branches_that_were_left_were_paid(tmp_path: Path) -> None:
    def spent(tokens: int) -> Json:
        return {"usage": {"input": tokens, "output": 2, "cacheRead": 0, "cacheWrite": 0, "totalTokens": tokens + 2}}

    found = one(
        tmp_path, NEW, entry(("u1", None), "user", "Go."), entry(("a1", "u1"), "assistant", [text("Left.")],
        model="m", **spent(7)),
        entry(("a2", "u1"), "assistant", [text("Left, too.")], model="delivery-mirror", **spent(8)),
        entry(("a3", "u1"), "assistant", [text("Unpaid.")], model="m"), entry(("u2", "a1"), "user", "And?", **spent(9)),
        entry(("a4", "u1"), "assistant", [text("Done.")], model="m"),
    )  # fmt: skip
    assert [(call.usage and call.usage.input_tokens, call.model) for call in found.beside] == [(7, "m")]
    assert "left out: 4 x entry of an abandoned branch" in found.notes


def test_requests_outside_the_conversation_are_paid(tmp_path: Path) -> None:
    def spent(cost: float) -> Json:
        return {"usage": {"input": 7, "output": 2, "cacheRead": 90, "cacheWrite": 3, "cost": {"total": cost}}}

    found = one(
        tmp_path, NEW, {"type": "model_change", "id": "0", "parentId": None, "modelId": "m1"},
        entry(("u1", "0"), "user", "Go."), entry(("a1", "u1"), "assistant", [call("c1")], **spent(9)),
        {**result(("r1", "a1"), "c1", "ok")}, entry(("a2", "r1"), "assistant", [text("Left.")]),
        {"type": "branch_summary", "id": "b1", "parentId": "r1", "summary": "Left.", **spent(0.5)},
        {"type": "usage", "id": "w1", "parentId": "b1", "kind": "cache_warm", "model": "m2", **spent(0.25)},
        {"type": "compaction", "id": "c1", "parentId": "w1", "summary": "All.", **spent(0.125)},
        entry(("u2", "c1"), "user", "On."), entry(("a3", "u2"), "assistant", [call("c2")], **spent(9)),
        entry(("r2", "a3"), "toolResult", "asked", toolCallId="c2", **spent(2)),
    )  # fmt: skip
    # The compaction's stands where its history ends, behind user text, call, result and summary.
    assert [(one.usage, one.model, one.start) for one in found.beside] == [
        (Usage(100, 2, 90, 3, cost_usd=cost), model, start)
        for cost, model, start in ((0.5, "m1", 0), (0.25, "m2", 0), (0.125, "m1", 4), (2, "", 0))
    ]
    assert len(found.calls) == 2 and [one.at for one in found.compactions] == [4]


def test_results_are_paired_by_the_tools_name_where_ids_are_missing(tmp_path: Path) -> None:
    calls = [{"type": "toolCall", "name": name, "arguments": {}} for name in ("read", "list")]
    found = one(
        tmp_path, NEW, entry(("u1", None), "user", "Go."), entry(("a1", "u1"), "assistant", calls),
        entry(("r1", "a1"), "toolResult", "of list", toolName="list"), entry(("r2", "r1"), "toolResult", "of read"),
    )  # fmt: skip
    assert [(item.text, item.answers) for item in found.items[3:]] == [("of list", 2), ("of read", 1)]


def test_a_response_that_failed_without_a_call_loses_none(tmp_path: Path) -> None:
    for reason, calls, lost in (("error", [], 0), ("error", [call("c1"), call("c2")], 2), ("stop", [call("c1")], 0)):
        found = one(tmp_path, NEW, entry(("u1", None), "user", "Go."),
                    entry(("a1", "u1"), "assistant", [text("One."), *calls], stopReason=reason))  # fmt: skip
        told = f"left out: {lost} x tool call of a response that was aborted or failed"
        assert found.notes == ((told,) if lost else ())
        assert sum(item.kind == "tool_call" for item in found.items) == len(calls) - lost
