"""Claude Code's rarer lines: markers, clearings, attachments, progress of sub-agents, lines without a uuid."""

from __future__ import annotations

import subprocess
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from read_back import Json, all_of, left_out, only, said, taken, write

from ctxsim.errors import InputError
from ctxsim.readers import read_source, sources
from ctxsim.transcript import Transcript, Usage


def line(kind: str, uuid: str | None, parent: str | None, **fields: Any) -> Json:
    made = {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s", "isSidechain": False}
    return {name: value for name, value in (made | fields).items() if value is not None or name == "parentUuid"}


def user(uuid: str | None, parent: str | None, content: Any, **fields: Any) -> Json:
    return line("user", uuid, parent, message={"role": "user", "content": content}, **fields)


def answer(uuid: str, parent: str | None, *blocks: Any, tokens: int = 0, **fields: Any) -> Json:
    usage = {"usage": {"input_tokens": tokens, "output_tokens": 5}, "stop_reason": "end_turn"} if tokens else {}
    said = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
    message = {"id": f"m-{uuid}", "role": "assistant", "model": "m", "content": said} | usage
    return line("assistant", uuid, parent, message=message | fields.pop("message", {}), **fields)


def system(uuid: str, parent: str | None, subtype: str, **fields: Any) -> Json:
    return line("system", uuid, parent, subtype=subtype, **fields)


def one(tmp_path: Path, *lines: Json) -> Transcript:
    return only(write(tmp_path / "s.jsonl", *lines), "claude-code")


def test_markers_of_a_change_of_model_are_counted(tmp_path: Path) -> None:
    marker = {"type": "fallback", "from": "a", "to": "b"}
    found = one(tmp_path, user("u1", None, "Go."), answer("a1", "u1", marker, {**marker, "to": "c"}, "Done."))
    assert said(found) == [("user", "Go."), ("assistant", "Done.")]
    assert found.notes == ("left out: 2 x marker of a change of model",)


FILE = {
    "type": "file",
    "filename": "a.py",
    "content": {"type": "text", "file": {"filePath": "a.py", "content": "x = 1"}},
}


def test_a_file_that_is_attached_again_stands_for_the_history_until_somebody_speaks(tmp_path: Path) -> None:
    begun = [user("u1", None, "Go."), answer("a1", "u1", "One."), system("c1", "a1", "compact_boundary"),
             user("s1", "c1", "So far.", isCompactSummary=True), line("attachment", "f1", "s1",
             attachment=FILE)]  # fmt: skip
    later = line("attachment", "f2", "x1", attachment={**FILE, "filename": "b.py"})
    for spoken in (user("x1", "f1", "And?"), answer("x1", "f1", "Two.")):
        found = one(tmp_path, *begun, spoken, later, answer("a9", "f2", "Done."))
        (compaction,) = found.compactions
        assert (compaction.call, compaction.at, len(compaction.summary)) == (2, 2, 2)
        assert compaction.summary[0] == "So far." and "x = 1" in compaction.summary[1]
        assert [("x = 1" in text) for _, text in said(found)] == [False, False, False, True, False]


@pytest.mark.parametrize(("ids", "comparable", "cleared"), [
    (["t1", "t9"], True, ((2, 2),)), (["t9"], False, ()), ([], False, ()),
])  # fmt: skip
def test_requests_behind_a_clearing_can_be_told_where_it_names_its_results(
    tmp_path: Path, ids: list[str], comparable: bool, cleared: tuple[tuple[int, int], ...]
) -> None:
    use = {"type": "tool_use", "id": "t1", "name": "read", "input": {}}
    found = one(
        tmp_path, user("u1", None, "Go."), answer("a1", "u1", use, tokens=90),
        user("r1", "a1", [{"type": "tool_result", "tool_use_id": "t1", "content": "1"}]),
        system("c1", "r1", "microcompact_boundary",
               microcompactMetadata={"trigger": "auto", "preTokens": 90, "tokensSaved": 40, "compactedToolIds": ids}),
        # The fall of usage is what the line before tells of: one clearing, told once.
        answer("a2", "c1", "Done.", tokens=50),
    )  # fmt: skip
    assert [call.comparable for call in found.calls] == [True, comparable] and found.cleared == cleared
    assert found.notes == ("recorded clearing of old tool results before call 2 (40 tokens saved)",)


def test_answers_that_no_model_made(tmp_path: Path) -> None:
    found = one(
        tmp_path, user("u1", None, "Go."), answer("a1", "u1", "Failed.", isApiErrorMessage=True),
        answer("a2", "a1", "Made up.", message={"model": "<synthetic>"}), answer("a3", "a2", "Done."),
    )  # fmt: skip
    assert said(found) == [("user", "Go."), ("assistant", "Done.")]
    assert found.notes == ("left out: 2 x local message, not generated",)


def test_lines_without_a_uuid_are_read_each_time(tmp_path: Path) -> None:
    plain = {"type": "user", "sessionId": "s", "isSidechain": False, "message": {"role": "user", "content": "Go."}}
    # What a log calls so is nothing that we know.
    plain |= {"line": "x"}
    found = one(tmp_path, plain, plain, answer("a1", None, "Done.") | {"parentUuid": "gone"})
    assert said(found) == [("user", "Go."), ("user", "Go."), ("assistant", "Done.")]


def progress(agent: str, message: str, tokens: int, **fields: Any) -> Json:
    inner = {"id": message, "model": "n", "usage": {"input_tokens": tokens, "output_tokens": 2}, "stop_reason": "x"}
    data = {"agentId": agent, "message": {"message": inner | fields}}
    return {"type": "progress", "timestamp": "2026-01-01T00:00:00Z", "data": data}


def test_what_sub_agents_cost_is_told_by_progress_unless_their_own_files_are_there(tmp_path: Path) -> None:
    lines = [
        user("u1", None, "Go."), progress("a", "p1", 5), progress("a", "p1", 7), progress("b", "p2", 8),
        progress("c", "p3", 9), progress("", "p4", 10), progress("x/y", "p5", 11),
        progress("d", "p6", 12, usage={"input_tokens": "many"}), {"type": "progress", "data": {"message": {}}},
        answer("a1", "u1", "Done."),
    ]  # fmt: skip
    (tmp_path / "s" / "subagents").mkdir(parents=True)
    (tmp_path / "agent-b.jsonl").write_text("")
    (tmp_path / "s" / "subagents" / "agent-c.jsonl.gz").write_bytes(b"")
    found = one(tmp_path, *lines)
    # The last word on each response: of `a`, of nobody, of a name that is none. 2026 began then.
    assert [(call.usage, call.model, call.time_s) for call in found.beside] == [
        (Usage(tokens, 2), "n", 1_767_225_600.0) for tokens in (7, 10, 11)
    ]
    assert not any(call.comparable for call in found.beside)
    # An archive and a commit hold the same files.
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for file in tmp_path.rglob("*.jsonl*"):
            archive.write(file, f"deep/{file.relative_to(tmp_path)}")
    for command in (["init"], ["add", "*.jsonl*"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-m", "x"]):
        subprocess.run(["git", "-C", tmp_path, *command], check=True, capture_output=True)
    for kept in (f"{tmp_path / 'all.zip'}", f"git:{tmp_path}"):
        (again,) = [each for source in sources(kept) if source.name.endswith("s.jsonl") for each in read_source(source)]
        assert again.beside == found.beside


def test_a_response_told_by_progress_has_the_time_of_its_first_line(tmp_path: Path) -> None:
    told = [progress("a", "p1", 5), progress("a", "p1", 7)]
    for second, line in enumerate(told, 3):
        line["data"]["message"]["timestamp"] = f"2026-01-01T00:00:0{second}Z"
    found = one(tmp_path, user("u1", None, "Go."), *told, answer("a1", "u1", "Done."))
    # As in the sub-agent's own file, wherever that lies, so that a bill counts it once.
    assert [(call.usage, call.time_s) for call in found.beside] == [(Usage(7, 2), 1_767_225_603.0)]


def test_a_sub_agent_with_a_file_of_its_own_is_read_there_only(tmp_path: Path) -> None:
    def agent(name: str) -> list[Json]:
        return [line | {"isSidechain": True, "agentId": name}
                for line in (user(f"u{name}", None, "Find."), answer(f"a{name}", f"u{name}", "Here."))]  # fmt: skip

    path = write(tmp_path / "s.jsonl", user("u1", None, "Go."), answer("a1", "u1", "Done."), *agent("x"), *agent("y"))
    own = write(tmp_path / "s" / "subagents" / "agent-x.jsonl", *agent("x"))
    main, other = all_of(path, "claude-code")
    assert (main.name, other.name) == (str(path), f"{path}#y")
    assert main.notes == ("1 sub-agent(s) left out here: they have files of their own",)
    assert only(own, "claude-code").parent == str(path)


def test_what_was_sent_is_read_where_it_is_logged(tmp_path: Path) -> None:
    # As Claude Code 2.1.332 writes it.
    def shape(name: str, *said: str) -> Json:
        system = [{"type": "text", "text": text} for text in said]
        return {"type": "api-request-shape", "shapeHash": name, "shape": {
            "system": system, "tools": [{"name": name}, {"name": "found later", "defer_loading": True}],
        }}  # fmt: skip

    def request(number: str, of: str) -> Json:
        return {"type": "api-request", "id": number, "shapeHash": of}

    def attachment(uuid: str, parent: str, kind: str, *rendered: Any, **fields: Any) -> Json:
        sent = {"rendered": [{"content": one} for one in rendered]} if rendered else {}
        return line("attachment", uuid, parent, attachment={"type": kind} | fields, **sent)

    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ""}}
    lines = [
        user("u1", None, "Go."),
        attachment("t1", "u1", "date", "<r>Today</r>", [{"type": "text", "text": "Now"}, picture]),
        attachment("t2", "t1", "session_context"),
        line("attachment", "t3", "t2", attachment={"type": "date"}, rendered=[]),
        attachment("t4", "t3", "task_reminder", "<r>Tasks</r>", content="Tasks"),
        shape("A", "You are.", "Be brief."), request("r1", "A"), answer("a1", "t4", "One.", tokens=9, requestRef="r1"),
        shape("B", "You were."), request("r2", "B"), answer("a2", "a1", "Two.", tokens=9, requestRef="r2"),
    ]  # fmt: skip
    found = one(tmp_path, *lines)
    assert said(found) == [("user", "Go."), ("user", "<r>Today</r>"), ("user", "Now"), ("user", ""),
                           ("user", "<r>Tasks</r>"), ("assistant", "One."), ("assistant", "Two.")]  # fmt: skip
    # The first request's head is kept.
    assert (found.head.system, found.head.tools, found.head.recorded) == (
        "You are.\n\nBe brief.",
        ('{"name":"A"}',),
        True,
    )
    assert {"1 x attachment session_context", "1 x attachment date"} <= set(left_out(found))
    assert not one(tmp_path, *(each for each in lines if each["type"] != "api-request")).head.recorded


def test_a_session_states_its_head_and_a_calls_input_as_written(tmp_path: Path) -> None:
    def snapshot(uuid: str, parent: str | None, said: Any, **fields: Any) -> Json:
        return line("attachment", uuid, parent, attachment={"type": "prompt_snapshot", "systemPrompt": said, **fields})

    boundary = "__SYSTEM_PROMPT_DYNAMIC_BOUNDARY__"
    tools = [{"name": "A", "schema": {"name": "A", "input_schema": {}}}, {"name": "B"}]
    use = {"type": "tool_use", "id": "t1", "name": "ExitPlanMode", "input": {"command": "ls", "plan": "p"}}
    lines = [
        snapshot("p1", None, ["You are."]), user("u1", "p1", "Go."),
        snapshot("p2", "u1", ["You are.", boundary, "Brief."], tools=tools, cliPrefix="CLI."),
        answer("a1", "p2", use, tokens=9, wireToolInputs={"t1": {"command": "cd /w && ls"}}, version="2.1.300"),
        answer("a2", "a1", {**use, "id": "t2"}, 7, tokens=9, wireToolInputs={"t2": 1, "None": {}}, version="2.1.300"),
        snapshot("p3", "a2", ["Later."], tools=[{"name": "C"}]),
    ]  # fmt: skip
    found = one(tmp_path, *lines)
    # The first with tools, without the mark between its texts.
    assert (found.head.system, found.head.recorded) == ("CLI.\n\nYou are.\n\nBrief.", True)
    assert found.head.tools == ('{"name":"A","input_schema":{}}', '{"name":"B"}')
    # Without an input as written, a plan is left out as ever.
    assert [item.text for item in found.items if item.kind == "tool_call"] == [
        '{"command":"cd /w && ls"}', '{"command":"ls"}']  # fmt: skip
    early = one(tmp_path, *lines[:2], answer("a1", "u1", "Yes."))
    assert (early.head.system, early.notes) == ("You are.", ())
    assert not one(tmp_path, snapshot("p1", None, 1), user("u1", "p1", "Go."), answer("a1", "u1", "Yes.")).head.recorded


@pytest.mark.parametrize(("event", "sent"), [
    ("SessionStart", True), ("UserPromptSubmit", True), (None, True), ("PreToolUse", False), ("Stop", False),
])  # fmt: skip
def test_what_a_hook_printed_is_sent_at_a_start(tmp_path: Path, event: str | None, sent: bool) -> None:
    hook = {"type": "hook_success", "content": "Printed."} | ({"hookEvent": event} if event else {})
    # A reminder to batch calls goes with one request, at its end, and is only told of.
    once = line("attachment", "b1", "h1", attachment={"type": "batching_reminder_sent", "text": "Batch."})
    lines = [user("u1", None, "Go."), line("attachment", "h1", "u1", attachment=hook), once, answer("a1", "b1", "Yes.")]
    assert [text for _, text in said(one(tmp_path, *lines))] == ["Go.", *["Printed."] * sent, "Yes."]
    lines[1]["rendered"] = [{"content": "<r>Printed.</r>"}]
    assert [text for _, text in said(one(tmp_path, *lines))] == ["Go.", "<r>Printed.</r>", "Yes."]


@pytest.mark.parametrize("listed", [False, True])
def test_a_stream_is_a_session(tmp_path: Path, listed: bool) -> None:
    def said(kind: str, agent: str | None, **message: Any) -> Json:
        return {"type": kind, "session_id": "s", "uuid": "u", "parent_tool_use_id": agent, "message": message}

    def made(number: str, agent: str | None, *blocks: Json, **usage: int) -> Json:
        return said("assistant", agent, id=number, model="m", content=list(blocks), stop_reason="x", usage=usage)

    def result(agent: str | None, call: str) -> Json:
        block = {"type": "tool_result", "tool_use_id": call, "content": f"of {call}"}
        return said("user", agent, role="user", content=[block])

    def asks(call: str) -> Json:
        return {"type": "tool_use", "id": call, "name": "Task", "input": {}}

    lines: list[Json] = [
        {"type": "system", "subtype": "init", "session_id": "s", "cwd": "/w", "claude_code_version": "2.1.300"},
        made("m1", None, {"type": "text", "text": "I ask."}, input_tokens=5, output_tokens=7),
        made("m1", None, asks("t1"), input_tokens=5, output_tokens=7),
        result(None, "t1"), made("m2", None, {"type": "text", "text": "Done."}, input_tokens=9, output_tokens=2),
        {"type": "system", "subtype": "compact_boundary", "session_id": "s",
         "compact_metadata": {"trigger": "auto", "pre_tokens": 11, "post_tokens": 3, "duration_ms": 2000}},
        made("m3", None, {"type": "text", "text": "More."}, input_tokens=4, output_tokens=1),
        {"type": "result", "session_id": "s", "total_cost_usd": 0.25},
    ]  # fmt: skip

    def written(lines: list[Json]) -> Path:
        return write(tmp_path / "s.json", lines) if listed else write(tmp_path / "s.jsonl", *lines)

    (main,) = all_of(written(lines), "claude-code")
    assert [(item.kind, item.text) for item in main.items] == [
        ("assistant", "I ask."), ("tool_call", "{}"), ("tool_result", "of t1"), ("assistant", "Done."),
        ("assistant", "More."),
    ]  # fmt: skip
    assert [call.usage for call in main.calls] == [Usage(5, 7), Usage(9, 2), Usage(4, 1)]
    assert (main.project, main.version, main.cost_usd) == ("/w", "2.1.300", 0.25)
    assert [(one.call, one.started_by, one.tokens_before) for one in main.compactions] == [(3, "auto", 11)]
    assert [(one.tokens_after, one.seconds) for one in main.compactions] == [(3, 2.0)]
    # A result holds the cost of its session so far, which older versions count anew when they resume it.
    spent = [("s", 0.375), ("s2", 0.125), ("s2", 0.25), ("s2", None), ("s", 0.125)]
    results = [{"type": "result", "session_id": name, "total_cost_usd": usd} for name, usd in spent]
    assert [one.cost_usd for one in all_of(written([*lines, *results]), "claude-code")] == [0.75]
    # Newer ones state what was spent since the last result: the whole is also of runs in other files.
    since = [{"m": {"costUSD": 0.125}, "n": {"costUSD": 0.25}}, {}, {"m": {"costUSD": 0.0625}}]
    results = [{**results[0], "model_usage_since_last_result": one} for one in since]
    assert [one.cost_usd for one in all_of(written([*lines[:-1], *results]), "claude-code")] == [0.4375]
    # Without costs in it, the whole counts.
    silent = {**results[0], "model_usage_since_last_result": {"m": {"inputTokens": 9}}}
    assert [one.cost_usd for one in all_of(written([*lines[:-1], silent]), "claude-code")] == [0.375]
    # The parts of a long first message, if they are written too, come before all whole ones.
    part = {"type": "stream_event", "session_id": "s", "parent_tool_use_id": None, "event": {"type": "ping"}}
    assert len(all_of(written([lines[0], *[part] * 50, *lines[1:]]), "claude-code")[0].calls) == 3
    # With sub-agents the cost is that of all, and stated of the session.
    agent = [made("m9", "t1", asks("t2"), input_tokens=3, output_tokens=1), result("t1", "t2")]
    main, child = all_of(written([*lines[:3], *agent, *lines[3:]]), "claude-code")
    assert (main.cost_usd, len(main.calls), child.parent, child.name) == (0.25, 3, main.name, f"{main.name}#t1")
    assert child.cost_usd is None
    assert [item.kind for item in child.items] == ["tool_call", "tool_result"]
    # An agent that is no text is refused, as in lines.
    with pytest.raises(InputError, match="agentId"):
        all_of(written([*lines, {**lines[1], "parent_tool_use_id": ["t1"]}]), "claude-code")


@pytest.mark.parametrize(("beside", "parent"), [
    ((), ".jsonl"), ((".jsonl.zst", ".jsonl.gz"), ".jsonl.gz"), ((".jsonl", ".jsonl.gz"), ".jsonl"),
])  # fmt: skip
def test_whose_a_sub_agents_file_is(tmp_path: Path, beside: tuple[str, ...], parent: str) -> None:
    for ending in beside:
        (tmp_path / f"main{ending}").write_bytes(b"")
    mark = {"isSidechain": True, "agentId": "x", "sessionId": "other"}
    lines = [user("u1", None, "Go.", **mark), answer("a1", "u1", "Done.", **mark)]
    found = only(write(tmp_path / "main" / "subagents" / "agent-x.jsonl", *lines), "claude-code")
    assert found.parent == f"{tmp_path}/main{parent}"
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for file in tmp_path.rglob("*.jsonl*"):
            archive.write(file, file.relative_to(tmp_path))
    of_agents = (source for source in sources(f"{tmp_path / 'all.zip'}") if "agent-" in source.name)
    assert [one.parent for source in of_agents for one in read_source(source)] == [f"{tmp_path}/all.zip!main{parent}"]


@pytest.mark.parametrize(("record", "matched"), [
    ({"uuid": "u", "parentUuid": None, "sessionId": "s", "isSidechain": False}, True),
    ({"uuid": "u", "parentUuid": None, "sessionId": "s"}, False),
    ({"type": "summary", "leafUuid": "u"}, True), ({"type": "summary"}, False),
    ({"type": "other", "leafUuid": "u"}, False),
    ({"type": "file-history-snapshot", "snapshot": {}}, True),
    # Qwen Code's lines have more of their own.
    ({"uuid": "u", "parentUuid": None, "sessionId": "s", "isSidechain": False, "systemPayload": {}}, False),
    ({"uuid": "u", "parentUuid": None, "sessionId": "s", "isSidechain": False, "message": {"parts": []}}, False),
])  # fmt: skip
def test_what_is_taken_for_a_session(record: Json, matched: bool) -> None:
    assert taken("claude_code", record, []) is matched


def test_what_came_with_a_branch_that_was_left_is_left_with_it(tmp_path: Path) -> None:
    use = {"type": "tool_use", "id": "t1", "name": "Skill", "input": {}}
    result = [{"type": "tool_result", "tool_use_id": "t1", "content": "1"}]
    found = one(
        tmp_path, user("u1", None, "Go."), answer("a1", "u1", "Left."), line("attachment", "f1", "a1", attachment=FILE),
        user("k0", "a1", "Skill.", sourceToolUseID="t0"), answer("a2", "u1", use), user("r1", "a2", result),
        # So is what hangs beside the way on: only the results of parallel calls, which fork, bring theirs along.
        line("attachment", "f2", "r1", attachment=FILE), user("k1", "r1", "Skill text.", sourceToolUseID="t1"),
        user("u9", "r1", "Left, too."), answer("a3", "r1", "Done."),
    )  # fmt: skip
    assert [text.split("\n")[0][:11] for kind, text in said(found) if kind in ("user", "assistant")] == [
        "Go.",
        "Done.",
    ]
    assert left_out(found) == ["2 x attachment file", "4 x line of an abandoned branch"]


def test_time_grows_with_the_lines_of_one_moment_not_faster(tmp_path: Path) -> None:
    made = [user(f"u{n}", f"u{n - 1}", f"Go {n}.", timestamp="2026-01-01T00:00:00Z") for n in range(4_000)]
    began = time.process_time()
    assert len(one(tmp_path, *made, made[0]).items) == 4_000
    assert time.process_time() - began < 2
