"""Kimi sessions: steps whose results come before their end, requests without a response, compaction, sub-agents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from read_back import Json, left_out, only, said, text, write

from ctxsim.errors import InputError, NotATranscript
from ctxsim.readers import read
from ctxsim.readers.assembly.segments import segments
from ctxsim.transcript import Compaction, Transcript, Usage

START = {"type": "metadata", "protocol_version": "1.4", "created_at": 1000}


def user(value: str) -> Json:
    message = {"role": "user", "content": [text(value)], "toolCalls": []}
    return {"type": "context.append_message", "message": message, "time": 1000}


def event(kind: str, **fields: Any) -> Json:
    return {"type": "context.append_loop_event", "event": {"type": kind} | fields, "time": 1000}


def begin(time: int = 2000) -> tuple[Json, Json]:
    request = {"type": "llm.request", "kind": "loop", "model": "m", "time": time}
    return event("step.begin", uuid="s"), request


def part(**fields: Any) -> Json:
    return event("content.part", stepUuid="s", part=fields)


def call(call_id: str) -> Json:
    return event("tool.call", stepUuid="s", toolCallId=call_id, name="Search", args={"q": "mail"})


def result(call_id: str, output: Any, **fields: Any) -> Json:
    return event("tool.result", toolCallId=call_id, result={"output": output} | fields)


def end(other: int, read_: int = 0) -> Json:
    usage = {"inputOther": other, "output": 7, "inputCacheRead": read_, "inputCacheCreation": 0}
    return event("step.end", uuid="s", usage=usage, finishReason="tool_use")


def one(tmp_path: Path, *lines: Json) -> Transcript:
    return only(write(tmp_path / "wire.jsonl", START, *lines), "kimi")


def test_steps_with_their_usage(tmp_path: Path) -> None:
    transcript = one(
        tmp_path,
        {"type": "profile.bind", "systemPrompt": "Be brief.", "environmentDisclosure": {"cwd": "/w"}, "time": 1},
        {"type": "turn.prompt", "input": [{"type": "text", "text": "Any mail?"}]},
        user("Any mail?"),
        event("step.begin", uuid="s"),
        {"type": "llm.tools_snapshot", "tools": [{"name": "Search"}]},
        {"type": "llm.request", "kind": "loop", "model": "m", "time": 2000},
        {"type": "llm.request", "kind": "loop", "model": "m", "time": 1_700_000_002_500, "attempt": "2/10"},
        part(type="think", think="Look."),
        call("c1"),
        call("c2"),
        result("c2", "none", note="<system>1 line</system>"),
        user("A reminder."),
        result("c1", "offline", isError=True),
        end(90, 10),
        {"type": "usage.record", "usage": {}},
        *begin(1_700_000_009_000),
        part(type="text", text="None."),
        end(20, 110),
        {"type": "config.update", "systemPrompt": "Be kind."},
        {"type": "plan_mode.enter"},
    )
    assert (transcript.head.system, transcript.head.tools) == ("Be brief.", ('{"name":"Search"}',))
    assert transcript.project == "/w"
    assert said(transcript) == [
        ("user", "Any mail?"),
        ("reasoning", "Look."),
        ("tool_call", '{"q":"mail"}'),
        ("tool_call", '{"q":"mail"}'),
        ("tool_result", "none\n<system>1 line</system>"),
        ("tool_result", "ERROR: Tool execution failed.\noffline"),
        ("user", "A reminder."),
        ("assistant", "None."),
    ]
    assert [item.answers for item in transcript.items[4:6]] == [3, 2]
    # 90 + 10 read, 20 + 110 read; the second attempt was answered
    assert [call.usage for call in transcript.calls] == [Usage(100, 7, 10, 0), Usage(130, 7, 110, 0)]
    assert [(call.time_s, call.model) for call in transcript.calls] == [(1_700_000_002.5, "m"), (1_700_000_009.0, "m")]
    assert transcript.notes == ("left out: 1 x plan_mode.enter",)


def test_requests_without_a_response_and_a_stopped_one(tmp_path: Path) -> None:
    transcript = one(
        tmp_path, user("Go."), *begin(), user("Go!"), *begin(), part(type="text", text="Goi"), {"type": "turn.cancel"}
    )
    assert said(transcript) == [("user", "Go."), ("user", "Go!"), ("assistant", "Goi")]
    assert [call.usage for call in transcript.calls] == [None]
    assert transcript.notes == ("left out: 1 x step without a response, 1 x turn.cancel",)


def test_a_compaction_keeps_the_whole_history(tmp_path: Path) -> None:
    transcript = one(
        tmp_path,
        user("Any mail?"),
        *begin(),
        part(type="text", text="Two."),
        end(90),
        {"type": "full_compaction.begin", "source": "manual"},
        {"type": "llm.request", "kind": "compaction", "model": "m", "time": 3000},
        # A request that failed, and the one that wrote the summary.
        *(
            {"type": "usage.record", "usageScope": "session", "usage": {"inputOther": new, "output": 7}, "time": 3000}
            | more
            for new, more in ((11, {}), (12, {"model": "other"}))
        ),
        {
            "type": "context.apply_compaction",
            "summary": "Mail.",
            "compactedCount": 1,
            "tokensBefore": 15912,
            "tokensAfter": 60,
        },
        {"type": "full_compaction.complete"},
        user("And now?"),
        *begin(),
        part(type="text", text="Three."),
        end(40),
    )
    assert said(transcript) == [
        ("user", "Any mail?"),
        ("assistant", "Two."),
        ("user", "And now?"),
        ("assistant", "Three."),
    ]
    assert [call.comparable for call in transcript.calls] == [True, True]
    assert transcript.compactions == (Compaction(2, 2, "manual", ("Mail.",), (1,), 15_912, 60),)
    assert [(made.start, made.usage, made.model) for made in transcript.beside] == [
        (0, Usage(11, 7), "m"), (2, Usage(12, 7), "other")
    ]  # fmt: skip
    assert transcript.notes == (
        "recorded compaction before call 2 (manual, 15912 tokens)",
        "left out: 1 x request for a compaction",
    )


def own(value: str, kind: str = "user", **more: Any) -> Json:
    """A user message with its origin, as wire protocol 1.5 states it."""
    message = {"role": "user", "content": [text(value)], "toolCalls": [], "origin": {"kind": kind} | more}
    return {"type": "context.append_message", "agentId": "main", "message": message, "time": 1000}


def compacted(count: int, kept: int, oldest: int | None = None) -> Json:
    made = {"type": "context.apply_compaction", "agentId": "main", "summary": "Mail.", "contextSummary": "Notes: Mail."}
    made |= {"compactedCount": count, "tokensBefore": 32_245, "tokensAfter": 23_082, "keptUserMessageCount": kept}
    return made | ({} if oldest is None else {"keptHeadUserMessageCount": oldest})


def answer(value: str) -> tuple[Json, ...]:
    return *begin(), part(type="text", text=value), end(90)


def test_the_users_own_texts_stay_at_a_compaction_of_protocol_1_5(tmp_path: Path) -> None:
    # The records that Kimi Code 2.1.0 wrote, reduced: `compactedCount` is the length of the whole history.
    found = only(
        write(
            tmp_path / "wire.jsonl",
            START | {"protocol_version": "1.5"},
            own("Any mail?"), own("<system-reminder>\nThe date.", "injection", variant="date_change"), *answer("Two."),
            own("/mail", "skill_activation", trigger="user-slash"), own("A hook.", "hook_result"),
            {"type": "full_compaction.begin", "source": "auto"}, compacted(5, 2),
            {"type": "token_counting.rebased", "length": 4, "tokens": 23_082, "measured": False},
            own("<system-reminder>\nThe date.", "injection", variant="date_change"), *answer("Three."),
            own("And now?"), {"type": "full_compaction.begin", "source": "auto"}, compacted(8, 3), *answer("Four."),
            {"type": "agent.turn.ended", "kind": "event"},
        ),
        "kimi",
    )  # fmt: skip
    assert [one.kept for one in found.compactions] == [(0, 3), (0, 3, 7)]
    assert [one.summary for one in found.compactions] == [("Notes: Mail.",)] * 2
    second, third = segments(found)[1:]
    assert [item.text for item in second.items] == [
        "Notes: Mail.", "Any mail?", "/mail", "<system-reminder>\nThe date.", "Three.", "And now?",
    ]  # fmt: skip
    assert [item.text for item in third.items] == ["Notes: Mail.", "Any mail?", "/mail", "And now?", "Four."]
    assert not any(note.startswith("left out") for note in found.notes)


def test_of_too_many_users_texts_the_beginning_and_the_end_stay(tmp_path: Path) -> None:
    # 4 ASCII characters are a token, or 1 other: 2,000 of the beginning, and 18,000 of the end.
    lines = [own("a" * 1_998), own("é" * 100 + "b" * 40_000), own("c" * 39_998 + "ü"), *answer("c" * 39_998 + "ü")]
    again = [own("d" * 398), compacted(7, 5, 2), *answer("Done.")]
    found = one(tmp_path, *lines, compacted(4, 4, 2), *answer("Done."), *again)
    # It is the same message whose beginning and end stay.
    beginning = "a" * 1_998 + "\n\n" + "é" * 100 + "b" * 4 * 1_400
    end = "b" * 40_000 + "\n\n" + "c" * 39_998 + "ü"
    assert found.compactions[0].summary == (beginning, end[-71_997:], "Notes: Mail.")
    assert found.compactions[1].summary == (beginning, (end + "\n\n" + "d" * 398)[-71_997:], "Notes: Mail.")
    assert [one.kept for one in found.compactions] == [(), ()]


def test_a_session_folder_with_a_sub_agent(tmp_path: Path) -> None:
    session = tmp_path / "session_1"
    agents = {"agent-0": {"type": "sub", "parentAgentId": "main"}, "main": {"type": "main", "parentAgentId": None}}
    write(session / "state.json", {"agents": agents, "title": "x"})
    for agent in agents:
        lines = [START, user("Go."), *begin(), part(type="text", text=agent), end(9)]
        write(session / "agents" / agent / "wire.jsonl", *lines)
    main, sub = read(str(tmp_path))
    assert (main.name, main.parent) == (str(session), None)
    assert (sub.name, sub.parent) == (f"{session}#agent-0", main.name)
    assert [transcript.items[-1].text for transcript in (main, sub)] == ["main", "agent-0"]


def test_a_wrong_type_in_a_sessions_folder_says_where(tmp_path: Path) -> None:
    write(tmp_path / "s" / "state.json", {"agents": 3})
    write(tmp_path / "s" / "agents" / "main" / "wire.jsonl", START)
    with pytest.raises(InputError, match=r"state.json: .*agents"):
        list(read(str(tmp_path / "s")))


def test_results_of_every_kind_as_the_model_is_sent_them(tmp_path: Path) -> None:
    calls = [call(f"c{number}") for number in range(7)]
    results = [
        result("c0", ""), result("c1", " ", isError=True), result("c2", "no", isError=True),
        result("c3", " ERROR: no", isError=True), result("c4", "yes", note="<note>"), result("c5", "", note="<note>"),
        result("c6", [text("a"), text("b")]),
    ]  # fmt: skip
    parts = [part(type="think", think="Hm."), part(type="new", x=1)]
    found = one(tmp_path, user("Go."), *begin(), *parts, *calls, *results, end(9))
    assert said(found)[:3] == [("user", "Go."), ("reasoning", "Hm."), ("assistant", '{"type":"new","x":1}')]
    assert [text for kind, text in said(found) if kind == "tool_result"] == [
        "Tool output is empty.", "ERROR: Tool execution failed. Tool output is empty.",
        "ERROR: Tool execution failed.\nno",
        " ERROR: no", "yes\n<note>", "Tool output is empty.\n<note>", "a\nb",
    ]  # fmt: skip


def test_events_outside_steps_and_steps_without_a_response_are_counted(tmp_path: Path) -> None:
    found = one(
        tmp_path, user("Go."), event("content.part", part={}), event("content.part", part={}), event("step.begin"),
        event("odd"), event("odd"), event("tool.result"), event("step.begin"), event("step.begin"), part(type="text",
        text="Done."),
        user("Meanwhile."), end(9), user("Next."),
    )  # fmt: skip
    assert said(found) == [("user", "Go."), ("assistant", "Done."), ("user", "Meanwhile."), ("user", "Next.")]
    assert left_out(found) == [
        "1 x tool.result", "2 x content.part outside a step", "2 x odd", "2 x step without a response"
    ]  # fmt: skip


def test_a_step_is_one_response_whatever_comes_between_and_is_paid_for_without_a_response(tmp_path: Path) -> None:
    found = one(
        tmp_path, user("Go."), *begin(), call("c1"), result("c1", "a"), call("c2"), result("c2", "b"), end(90),
        *begin(3000), end(20),
    )  # fmt: skip
    assert [kind for kind, _ in said(found)] == ["user", "tool_call", "tool_call", "tool_result", "tool_result"]
    assert [(made.usage, made.time_s) for made in (*found.calls, *found.beside)] == [
        (Usage(90, 7, 0, 0), 2_000), (Usage(20, 7, 0, 0), 3_000)
    ]  # fmt: skip
    assert left_out(found) == ["1 x step without a response"]


def test_a_wire_of_kimi_cli_is_none_of_kimi_code(tmp_path: Path) -> None:
    first = {"type": "metadata", "protocol_version": "1.5"}
    status = {"timestamp": 1.0, "message": {"type": "StatusUpdate", "payload": {"token_usage": {"output": 100}}}}
    with pytest.raises(NotATranscript, match="is no transcript format that ctxsim knows"):
        list(read(str(write(tmp_path / "wire.jsonl", first, status, status))))
