"""Qwen Code sessions: Gemini parts in lines that form a tree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from read_back import Json, all_of, kinds, only, said, write

from ctxsim.errors import InputError
from ctxsim.readers import read
from ctxsim.transcript import NO_HISTORY, Compaction, Media, Transcript, Usage


def line(kind: str, uuid: str, parent: str | None, *parts: Json, **fields: Any) -> Json:
    message = {"message": {"role": "model" if kind == "assistant" else "user", "parts": list(parts)}}
    return {
        "uuid": uuid,
        "parentUuid": parent,
        "sessionId": "s",
        "type": kind,
        "timestamp": "2025-01-02T03:04:05.500Z",
        **(message if parts else {}),
        **fields,
    }


def call(call_id: str, name: str = "read_file", **arguments: Any) -> Json:
    return {"functionCall": {"id": call_id, "name": name, "args": arguments}}


def result(call_id: str, response: Any, **fields: Any) -> Json:
    return {"functionResponse": {"id": call_id, "name": "read_file", "response": response, **fields}}


def one(tmp_path: Path, *lines: Json | str) -> Transcript:
    return only(write(tmp_path / "chats" / "s.jsonl", *lines), "qwen-code")


def test_a_session_with_a_tool_call(tmp_path: Path) -> None:
    transcript = one(
        tmp_path,
        # What a log calls so is nothing that we know.
        line("user", "u1", None, {"text": "Any mail?"}, {"text": "<context/>"}, line="x", decoded="x"),
        line("assistant", "a1", "u1", {"text": "Look.", "thought": True}, call("c1", q="new"), model="qwen-x",
             usageMetadata={"promptTokenCount": 9000, "candidatesTokenCount": 20, "cachedContentTokenCount": 8000,
                            "thoughtsTokenCount": 5, "totalTokenCount": 9025}),
        line("tool_result", "r1", "a1", result("c1", {"output": "2 messages"}),
             toolCallResult={"callId": "c1", "resultDisplay": "shown"}),
        line("system", "y1", "r1", subtype="ui_telemetry", systemPayload={"uiEvent": {}}),
        line("assistant", "a2", "y1", {"text": "Two."}, model="qwen-x", usageMetadata={}),
    )  # fmt: skip
    assert kinds(transcript) == ["user", "user", "reasoning", "tool_call", "tool_result", "assistant"]
    assert [item.message for item in transcript.items] == [1, 1, 2, 2, 3, 4]
    first, second = transcript.calls
    # The total has the thoughts: 9025 - 9000.
    assert first.usage == Usage(9000, 25, 8000, None, 5)
    assert second.usage is None
    assert first.time_s == 1735787045.5
    assert transcript.model == "qwen-x"
    assert transcript.items[3].text == '{"q":"new"}'
    assert transcript.items[4].text == "2 messages"
    assert transcript.head.recorded is False
    assert transcript.notes == ("left out: 1 x system ui_telemetry",)


def test_parallel_calls_and_results_of_other_shapes(tmp_path: Path) -> None:
    picture = {"inlineData": {"mimeType": "image/png", "data": "A" * 5000}}
    transcript = one(
        tmp_path,
        line("user", "u1", None, {"text": "Go."}, picture),
        line("assistant", "a1", "u1", call("c1"), call("c2"), call("c3")),
        line("tool_result", "r1", "a1", result("c2", {"error": "no"}), result("c1", {"a": 1, "b": "x"})),
        line("tool_result", "r2", "r1", result("c3", {"output": "see"}, parts=[picture])),
        line("assistant", "a2", "r2", {"text": "Done."}),
    )
    answers = {item.call_id: item.text for item in transcript.items if item.kind == "tool_result"}
    assert answers == {"c1": '{"a":1,"b":"x"}', "c2": "no", "c3": "see"}
    assert transcript.items[1].media == transcript.items[-2].media == (Media("image", 258),)
    assert len(transcript.calls) == 2


def test_a_rewind_leaves_the_old_branch_out(tmp_path: Path) -> None:
    transcript = one(
        tmp_path,
        line("user", "u1", None, {"text": "Go."}),
        line(
            "assistant",
            "a1",
            "u1",
            {"text": "Wrong."},
            usageMetadata={"promptTokenCount": 12, "candidatesTokenCount": 4},
        ),
        line("system", "y1", "u1", subtype="rewind", systemPayload={"truncatedCount": 1}),
        line("user", "u2", "y1", {"text": "Better."}, subtype="mid_turn_user_message"),
        line("assistant", "a2", "u2", {"text": "Right."}),
    )
    assert [item.text for item in transcript.items] == ["Go.", "Better.", "Right."]
    assert [call.usage for call in transcript.beside] == [Usage(12, 4)]
    assert transcript.notes == ("left out: 1 x line of an abandoned branch, 1 x system rewind",)


def test_a_compression_keeps_the_history_and_marks_the_calls_after_it(tmp_path: Path) -> None:
    history = [
        {"role": "user", "parts": [{"text": "All so far."}]},
        {"role": "model", "parts": [{"text": "Got it."}]},
        {"role": "user", "parts": [{"text": "Go."}]},
        {"role": "model", "parts": [{"text": "One."}]},
    ]
    payload = {"info": {"originalTokenCount": 90000, "newTokenCount": 9000}, "compressedHistory": history}
    transcript = one(
        tmp_path,
        line("user", "u1", None, {"text": "Go."}),
        line("assistant", "a1", "u1", {"text": "One."}),
        line("system", "y1", "a1", subtype="chat_compression", systemPayload=payload),
        line("user", "u2", "y1", {"text": "On."}),
        line("assistant", "a2", "u2", {"text": "Two."}),
        line("user", "u3", "a2", {"text": "Shown."}, subtype="realtime_message"),
        line("user", "u4", "u3", {"text": "News."}, subtype="notification"),
    )
    assert [item.text for item in transcript.items] == ["Go.", "One.", "On.", "Two.", "News."]
    assert [each.comparable for each in transcript.calls] == [True, True]
    assert transcript.compactions == (Compaction(2, 2, "", ("All so far.", "Got it."), (0, 1), 90_000, 9_000),)
    assert transcript.notes == (
        "recorded compaction before call 2 (90000 tokens)",
        "left out: 1 x realtime_message line",
    )


def test_requests_that_only_telemetry_states_are_billed_once(tmp_path: Path) -> None:
    def counted(uuid: str, prompt: str, tokens: int, cached: int = 0) -> Json:
        event = {"event.name": "qwen-code.api_response", "model": "q", "prompt_id": prompt, "input_token_count": tokens,
                 "output_token_count": 5, "cached_content_token_count": cached, "thoughts_token_count": 2,
                 "total_token_count": tokens + 5}  # fmt: skip
        return line("system", uuid, "a1", subtype="ui_telemetry", systemPayload={"uiEvent": event})

    write(tmp_path / "subagents" / "s" / "agent-explore-call_1.jsonl")
    told = {"promptTokenCount": 100, "candidatesTokenCount": 5, "totalTokenCount": 105}
    history = [{"role": "user", "parts": [{"text": "All so far."}]}]
    transcript = one(
        tmp_path,
        line("user", "u1", None, {"text": "Go."}),
        counted("y1", "s########0", 100),
        line("assistant", "a1", "u1", {"text": "One."}, usageMetadata=told),
        counted("y2", "s#managed-memory-a8ac#0", 70),
        counted("y3", "s#managed-memory-a8ac#0", 70),
        counted("y4", "s#explore-b1#0", 60),
        counted("y5", "s########1", 110, 90),
        line("system", "c1", "a1", subtype="chat_compression", systemPayload={"compressedHistory": history}),
        line("user", "u2", "c1", {"text": "On."}),
        counted("y6", "s########2", 20),
        line("assistant", "a2", "u2", {"text": "Two."}),
    )
    # The conversation's own is told with its message, the sub-agent's in its file, and copies of lines count once.
    usages = [Usage(70, 5, 0, None, 2), Usage(110, 5, 90, None, 2), Usage(20, 5, 0, None, 2)]
    assert [made.usage for made in transcript.beside] == usages
    assert [made.start for made in transcript.beside] == [0, transcript.compactions[0].at, 0]
    assert {made.model for made in transcript.beside} == {"q"}


def test_the_file_of_a_sub_agent_names_its_session(tmp_path: Path) -> None:
    path = write(
        tmp_path / "subagents" / "s" / "agent-x.jsonl",
        line("system", "y1", None, subtype="agent_bootstrap", isSidechain=True, agentId="x",
             systemPayload={"kind": "fork", "history": []}),
        line("user", "u1", "y1", {"text": "Find A."}, isSidechain=True, agentId="x"),
        line("assistant", "a1", "u1", {"text": "Here."}, isSidechain=True, agentId="x"),
    )  # fmt: skip
    transcript = only(path, "qwen-code")
    assert transcript.parent == str(tmp_path / "chats" / "s.jsonl")
    assert [each.comparable for each in transcript.calls] == [False]
    assert transcript.notes == ("starts with the history of the session it was forked from, which is left out",)


def test_sub_agents_in_a_file_and_sessions_that_spawned_it(tmp_path: Path) -> None:
    path = write(
        tmp_path / "chats" / "s.jsonl",
        line("system", "y1", None, subtype="parent_session", systemPayload={"parentSessionId": "p"}),
        line("user", "u1", "y1", {"text": "Go."}),
        line("user", "x1", None, {"text": "Find A."}, isSidechain=True, agentId="explore-1"),
        line("assistant", "x2", "x1", {"text": "Here."}, isSidechain=True, agentId="explore-1"),
        line("assistant", "a1", "u1", {"text": "Found."}),
    )
    main, agent = all_of(path, "qwen-code")
    assert (main.parent, agent.parent) == (str(tmp_path / "chats" / "p.jsonl"), str(path))
    assert agent.name == f"{path}#explore-1"
    assert [item.text for item in main.items] == ["Go.", "Found."]
    assert [item.text for item in agent.items] == ["Find A.", "Here."]


def test_strange_json_is_no_session(tmp_path: Path) -> None:
    odd: list[Any] = [{"uuid": 1, "parentUuid": 2, "sessionId": 3, "type": kind} for kind in ({}, [], None, 7)]
    path = write(tmp_path / "odd.jsonl", *odd, [], 7, None)
    with pytest.raises(InputError, match="is no transcript format"):
        list(read(str(path)))


@pytest.mark.parametrize(
    ("recorded", "usage"),
    [
        # The total less the prompt is the output with its thoughts, where it is more than the prompt.
        ({"promptTokenCount": 100, "candidatesTokenCount": 5, "thoughtsTokenCount": 3, "totalTokenCount": 108,
          "cachedContentTokenCount": 40}, Usage(100, 8, 40, None, 3)),
        ({"promptTokenCount": 100, "candidatesTokenCount": 5, "totalTokenCount": 101}, Usage(100, 1)),
        ({"promptTokenCount": 100, "candidatesTokenCount": 5, "totalTokenCount": 100}, Usage(100, 5)),
        ({"promptTokenCount": 100, "candidatesTokenCount": 5, "totalTokenCount": 99}, Usage(100, 5)),
        ({"promptTokenCount": 100, "candidatesTokenCount": 5}, Usage(100, 5)),
        ({"promptTokenCount": 0, "candidatesTokenCount": 5, "totalTokenCount": 5}, None), ({}, None),
    ],
)  # fmt: skip
def test_usage_of_a_response(tmp_path: Path, recorded: Json, usage: Usage | None) -> None:
    transcript = one(
        tmp_path, line("user", "u", None, {"text": "Go."}),
        line("assistant", "a", "u", {"text": "Done."}, usageMetadata=recorded, model="q"),
    )  # fmt: skip
    (call,) = transcript.calls
    assert (call.usage, call.model, call.time_s) == (usage, "q", 1_735_787_045.5)


def test_lines_that_are_read_for_their_parents_alone(tmp_path: Path) -> None:
    # The branch goes over a line of another kind; one without a message says nothing.
    transcript = one(
        tmp_path,
        line("user", "u1", None, {"text": "Go."}),
        {"type": "progress", "uuid": "p1", "parentUuid": "u1", "sessionId": "s", "isSidechain": False},
        {"type": "progress"},
        line("user", "u2", "u1"),
        line("assistant", "a0", "u1", {"text": "Left."}, model="m", usageMetadata={"promptTokenCount": 7}),
        line("assistant", "a00", "u1", {"text": "Left, too."}),
        line("user", "u0", "u1", {"text": "Left as well."}, usageMetadata={"promptTokenCount": 9}),
        line("assistant", "a1", "p1", {"text": "Done."}),
        '{"uuid": "a2", "par',
    )
    assert said(transcript) == [("user", "Go."), ("assistant", "Done.")]
    assert [(call.usage, call.model) for call in transcript.beside] == [(Usage(7), "m")]
    torn, told = transcript.notes
    assert torn.startswith("line 9 skipped, not JSON")
    assert sorted(told.removeprefix("left out: ").split(", ")) == [
        "1 x user line without a message", "2 x progress", "4 x line of an abandoned branch"
    ]  # fmt: skip


def test_a_line_that_is_written_again_adds_what_is_new(tmp_path: Path) -> None:
    usage = {"promptTokenCount": 7}
    transcript = one(
        tmp_path,
        line("user", "u1", None, {"text": "Go."}),
        line("assistant", "a1", "u1", {"text": "One."}, model="m"),
        line("assistant", "a1", "u1", {"text": "One."}, {"text": "Two."}, usageMetadata=usage),
        line("assistant", "a1", "u1", {"text": "Two."}),
        line("assistant", "a1", "u1", {"text": "One."}),
    )
    assert said(transcript) == [("user", "Go."), ("assistant", "One."), ("assistant", "Two.")]
    assert [(call.usage, call.model) for call in transcript.calls] == [(Usage(7), "m")]
    assert transcript.notes == ("left out: 2 x repeated line",)


def test_compressions_before_the_first_response_shorten_nothing(tmp_path: Path) -> None:
    empty = line("system", "y1", "u1", subtype="chat_compression", systemPayload={"compressedHistory": []})
    transcript = one(
        tmp_path,
        line("user", "u1", None, {"text": "Go."}), empty, empty | {"uuid": "y2", "parentUuid": "y1"},
        line("assistant", "a1", "y2", {"text": "Done."}),
    )  # fmt: skip
    assert transcript.compactions == ()
    assert transcript.notes == (NO_HISTORY,)


@pytest.mark.parametrize(("file", "session", "parent"), [
    ("chats/x.jsonl", "main", "chats/main.jsonl"), ("chats/x.jsonl", "", None),
    ("subagents/main/agent-1.jsonl", "other", "chats/other.jsonl"),
    ("subagents/main/agent-1.jsonl", "", "chats/main.jsonl"),
])  # fmt: skip
def test_whose_a_sub_agents_file_is(tmp_path: Path, file: str, session: str, parent: str | None) -> None:
    beside = {"isSidechain": True, "agentId": "1", "sessionId": session}
    write(tmp_path / file, line("user", "u1", None, {"text": "Go."}) | beside,
          line("assistant", "a1", "u1", {"text": "Done."}) | beside)  # fmt: skip
    transcript = only(tmp_path / file, "qwen-code")
    assert transcript.parent == (parent and str(tmp_path / parent))
