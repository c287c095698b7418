"""OpenCode: its database, storage folders with and without a folder per message, exports, steps, compactions.

`stores/opencode.sql` is what opencode-ai 1.18.33 wrote against `ctxsim serve`, an invented conversation; only its three
tables of sessions, the folder's name changed.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from read_back import Json, all_of, left_out, only, said, text, write

from ctxsim.errors import InputError
from ctxsim.readers import read
from ctxsim.readers.formats import opencode
from ctxsim.transcript import CLEARED, NO_RESULT, Compaction, Media, Transcript, Usage


def tool(call_id: str, output: str | None, status: str = "completed", **state: Any) -> Json:
    made = {"status": status, "input": {"q": "mail"}} | ({} if output is None else {"output": output}) | state
    return {"type": "tool", "tool": "search", "callID": call_id, "state": made}


def finish(**tokens: Any) -> Json:
    return {"type": "step-finish", "reason": "stop", "cost": 0.1, "tokens": tokens}


START = {"type": "step-start"}


def user(*parts: Json, **info: Any) -> Json:
    return {"info": {"id": "u", "role": "user", "time": {"created": 1000}} | info, "parts": list(parts)}


def answer(*parts: Json, **info: Any) -> Json:
    made = {"id": "a", "role": "assistant", "modelID": "m", "time": {"created": 2000}}
    return {"info": made | info, "parts": list(parts)}


def exported(tmp_path: Path, *messages: Json, **info: Any) -> Transcript:
    value = {"info": {"id": "ses_1"} | info, "messages": list(messages)}
    return only(write(tmp_path / "session.json", value), "opencode")


@pytest.mark.parametrize("layout", ["folder per message", "flat"])
def test_a_storage_folder_with_a_sub_session(layout: str, tmp_path: Path) -> None:
    storage = tmp_path / "storage"
    for session, parent in (("ses_1", None), ("ses_2", "ses_1")):
        write(storage / f"session/p/{session}.json", {"id": session, "parentID": parent, "version": "1.0.1"})
        for role, made, part in (("user", 1000, text("Any mail?")), ("assistant", 2000, text("Two."))):
            message = f"msg_{session}_{role}"
            info = {"id": message, "sessionID": session, "role": role, "time": {"created": made}, "modelID": "m"}
            # Files sort otherwise than the messages were made.
            write(storage / f"message/{session}/{'b' if role == 'user' else 'a'}.json", info)
            if layout == "flat":
                write(storage / f"part/prt_{message}.json", part | {"messageID": message})
            else:
                write(storage / f"part/{message}/prt_1.json", part)
    main, child = all_of(tmp_path, "opencode")
    assert [main.name, child.name] == [f"{storage}#ses_1", f"{storage}#ses_2"]
    assert (main.parent, child.parent) == (None, main.name)
    assert not main.notes
    (tmp_path / "opencode.db").touch()
    assert "copied what was in this folder to opencode.db" in next(read(str(storage))).notes[0]
    for transcript in (main, child):
        assert said(transcript) == [("user", "Any mail?"), ("assistant", "Two.")]
        assert (transcript.calls[0].model, transcript.calls[0].time_s) == ("m", 2.0)
        assert not transcript.head.recorded and transcript.version == "1.0.1"


def test_steps_of_one_message_are_responses_of_their_own(tmp_path: Path) -> None:
    first = finish(input=90, output=7, reasoning=3, cache={"read": 10, "write": 5})
    transcript = exported(
        tmp_path,
        user(
            text("Any mail?"),
            {"type": "file", "mime": "image/png", "url": "data:"},
            {"type": "file", "mime": "text/plain"},
        ),
        answer(
            START,
            {"type": "reasoning", "text": "Look."},
            tool("c1", "2 messages"),
            tool("c2", None, "error", error="no such box"),
            first,
            START,
            text("Two.", time={"start": 9000}),
            {"type": "patch", "hash": "x"},
            tokens={"input": 130, "output": 2},
            system=["Be brief."],
        ),
    )
    assert said(transcript) == [
        ("user", "Any mail?"),
        ("user", ""),
        ("reasoning", "Look."),
        ("tool_call", '{"q":"mail"}'),
        ("tool_call", '{"q":"mail"}'),
        ("tool_result", "2 messages"),
        ("tool_result", "no such box"),
        ("assistant", "Two."),
    ]
    assert transcript.items[1].media == (Media("image", 1600),)
    # 90 new + 10 read + 5 written; the message's own tokens are those of its last step
    assert [made.usage for made in transcript.calls] == [Usage(105, 7, 10, 5, 3, 0.1), Usage(130, 2)]
    assert [made.time_s for made in transcript.calls] == [2.0, 9.0]
    assert transcript.head.system == "Be brief."
    assert transcript.notes == ("left out: 1 x file whose content stands in a text part",)


@pytest.mark.parametrize(("total", "output"), [(115, 10), (112, 7), (None, 7)])
def test_a_total_tells_whether_reasoning_is_part_of_the_output(total: int | None, output: int, tmp_path: Path) -> None:
    # 90 + 10 + 5 + 7 = 112; with 3 more of reasoning 115.
    step = finish(input=90, output=7, reasoning=3, cache={"read": 10, "write": 5}, total=total)
    made = exported(tmp_path, user(text("Any mail?")), answer(START, text("Two."), step)).calls
    assert [call.usage for call in made] == [Usage(105, output, 10, 5, 3, 0.1)]


def test_without_marks_text_after_a_tool_call_is_the_next_response(tmp_path: Path) -> None:
    transcript = exported(tmp_path, user(text("Any mail?")), answer(tool("c1", "2 messages"), text("Two.")))
    assert [item.kind for item in transcript.items] == ["user", "tool_call", "tool_result", "assistant"]
    assert len(transcript.calls) == 2


def test_interrupted_failed_and_empty_messages(tmp_path: Path) -> None:
    stopped = {"name": "MessageAbortedError", "data": {"message": "stop"}}
    transcript = exported(
        tmp_path,
        user(text("Any mail?"), text("hidden", ignored=True)),
        answer(text("half"), error={"name": "APIError"}, tokens={"input": 90, "output": 4}, cost=0.5),
        answer(error=stopped),
        answer(START),
        user(),
        answer(tool("c1", None, "running"), error=stopped),
        parentID="ses_0",
    )
    assert [(made.start, made.usage) for made in transcript.beside] == [(0, Usage(90, 4, cost_usd=0.5))]
    assert said(transcript) == [
        ("user", "Any mail?"),
        ("tool_call", '{"q":"mail"}'),
        ("tool_result", "[Tool execution was interrupted]"),
    ]
    assert transcript.notes == (
        "sub-session of ses_0, which is not in this source",
        "left out: 2 x response that failed, 1 x text marked as ignored, 1 x response without content, "
        "1 x user message without content",
    )


def test_the_steps_of_a_message_that_was_stopped_or_failed_are_billed(tmp_path: Path) -> None:
    last = {"input": 21, "output": 5}
    steps = (START, text("One."), finish(input=20, output=4), START, text("Two."), finish(**last))
    stopped = exported(
        tmp_path, user(text("Go.")),
        answer(*steps, START, text("Th"), error={"name": "MessageAbortedError"}, tokens=last, cost=0.2),
    )  # fmt: skip
    # Nobody knows what the third has cost: the message's tokens are those of the second.
    assert [made.usage and made.usage.input_tokens for made in stopped.calls] == [20, 21, None] and not stopped.beside
    failed = exported(tmp_path, user(text("Go.")), answer(*steps, error={"name": "APIError"}, tokens=last, cost=0.2))
    assert [made.usage for made in failed.beside] == [Usage(20, 4, cost_usd=0.1), Usage(21, 5, cost_usd=0.1)]


def test_a_step_without_content_states_the_usage_of_the_one_before(tmp_path: Path) -> None:
    counted = {"input": 20, "output": 4}
    (made,) = exported(
        tmp_path, user(text("Go.")), answer(text("One."), START, finish(**counted), tokens=counted)
    ).calls
    assert made.usage == Usage(20, 4)


@pytest.mark.parametrize("named", [{}, {"parentID": "u9"}])
def test_a_compaction_of_which_nothing_came_is_none(named: Json, tmp_path: Path) -> None:
    stopped = {"name": "MessageAbortedError"}
    found = exported(
        tmp_path, user(text("Any mail?")), answer(text("Two.")), user({"type": "compaction", "auto": False}, id="u9"),
        answer(text("## Goal"), summary=True, error=stopped, **named), user(text("On.")), answer(text("Yes.")),
    )  # fmt: skip
    assert found.compactions == () and [text for _, text in said(found)] == [
        "Any mail?",
        "Two.",
        "## Goal",
        "On.",
        "Yes.",
    ]


def test_a_compaction_and_cleared_results(tmp_path: Path) -> None:
    cleared = tool("c1", "a long text", time={"start": 2000, "end": 2100, "compacted": 5000})
    transcript = exported(
        tmp_path,
        user(text("Any mail?")),
        answer(cleared, time={"created": 2000}),
        answer(text("Before."), time={"created": 4000}),
        answer(text("After."), time={"created": 6000}),
        user({"type": "compaction", "auto": True}),
        answer(text("So far: mail."), summary=True),
        user(text("Go on.", synthetic=True)),
        answer(text("Going."), time={"created": 9000}),
    )
    assert [item.text for item in transcript.items if item.kind == "tool_result"] == ["a long text"]
    assert "So far: mail." not in [item.text for item in transcript.items]
    assert [made.comparable for made in transcript.calls] == [True, True, False, True]
    assert transcript.cleared == ((3, 2),)
    assert transcript.compactions == (Compaction(4, 5, "auto", ("So far: mail.",)),)
    assert transcript.notes == (
        "recorded compaction before call 4 (auto)",
        "1 old result(s) were cleared from later requests: kept here",
    )


def test_a_compaction_keeps_the_tail_that_it_names(tmp_path: Path) -> None:
    transcript = exported(
        tmp_path,
        user(text("Any mail?")),
        answer(
            tool("c1", "a long text", time={"start": 1, "end": 2, "compacted": 3}), id="msg_long", time={"created": 1}
        ),
        answer(text("Two."), time={"created": 5}),
        user({"type": "compaction", "auto": True, "overflow": True, "tail_start_id": "msg_long"}),
        answer(text("So far: mail."), summary=True),
        answer(text("Going."), time={"created": 9}),
    )
    assert transcript.compactions == (Compaction(3, 4, "overflow", ("So far: mail.",), (1, 2, 3)),)
    assert [made.comparable for made in transcript.calls] == [True, False, False]


def test_a_fork_counts_its_own_responses(tmp_path: Path) -> None:
    def old(name: str, cleared: int) -> Json:
        return tool(name, name, time={"start": 1, "compacted": cleared})

    def forked(created: int) -> Transcript:
        return exported(
            tmp_path,
            user(text("Any mail?"), time={}),
            answer(old("c1", 9_000), id="a1", time={"created": 1_000}, tokens={"input": 5}),
            user({"type": "compaction", "auto": True, "tail_start_id": "a1"}, time={}),
            answer(text("So far: mail."), summary=True, time={"created": 2_000}, tokens={"input": 6}),
            answer(old("c2", 4_999), time={"created": 3_000}, tokens={"input": 7}),
            answer(text("Two."), time={"created": 6_000}, tokens={"input": 8}),
            answer(text("Three."), time={"created": 9_000}, tokens={"input": 9}),
            time={"created": created},
        )

    assert [call.usage for call in forked(0).calls] == [Usage(5), Usage(7), Usage(8), Usage(9)]
    fork = forked(5_000)
    assert [call.usage for call in fork.calls] == [Usage(8), Usage(9)]
    assert (fork.carried, fork.beside, fork.compactions) == (5, (), ())
    # The second result was cleared before the fork, the first after it.
    assert [item.text for item in fork.items if item.kind == "tool_result"] == ["c1", CLEARED]
    assert fork.items[0].text == "So far: mail."
    assert fork.cleared == ((2, 2),)
    assert forked(10_000).calls == ()


def test_costs_are_those_of_the_steps_and_usage_that_differs_is_noted(tmp_path: Path) -> None:
    def finish(tokens: int, cost: float) -> Json:
        return {"type": "step-finish", "tokens": {"input": tokens, "output": 1}, "cost": cost}

    transcript = exported(
        tmp_path,
        user(text("Any mail?")),
        answer(START, tool("c1", "2"), finish(90, 0.25), START, text("Two."), finish(95, 0),
               tokens={"input": 99, "output": 1}, cost=0.25),
        answer(text("Three."), tokens={"input": 120, "output": 2}, cost=0.5),
        answer(text("Four."), tokens={"input": 130, "output": 2}, cost={"total": 1}),
    )  # fmt: skip
    assert [made.usage for made in transcript.calls] == [
        Usage(90, 1, cost_usd=0.25),
        Usage(95, 1),
        Usage(120, 2, cost_usd=0.5),
        Usage(130, 2),
    ]
    assert transcript.notes == ("1 message(s) whose tokens are not those of their last step: the step's are used",)


def test_what_is_no_version_is_none(tmp_path: Path) -> None:
    assert exported(tmp_path, user(text("x")), version="1.2.3").version == "1.2.3"
    assert exported(tmp_path, user(text("x")), version=4).version == ""


def test_a_damaged_file_of_a_storage_folder_says_which(tmp_path: Path) -> None:
    for tree in ("session", "message", "part"):
        (tmp_path / "storage" / tree).mkdir(parents=True)
    (tmp_path / "storage" / "session" / "ses_1.json").write_text("{")
    with pytest.raises(InputError, match=r"ses_1.json: is not complete JSON"):
        list(read(str(tmp_path / "storage")))


@pytest.mark.parametrize("session", ["../../outside", "/etc", "a" * 5000, "a\x00b"])
def test_a_session_id_is_no_path(session: str, tmp_path: Path) -> None:
    storage = tmp_path / "in" / "storage"
    for tree in ("session", "message", "part"):
        (storage / tree).mkdir(parents=True)
    write(storage / "session/p/s.json", {"id": session, "version": "1.0.1"})
    info = {"id": "m", "sessionID": session, "role": "user", "time": {"created": 1}}
    write(storage / "part/prt_m.json", text("secret") | {"messageID": "m"})
    write(tmp_path / "outside" / "m.json", info)
    write(tmp_path / "in" / "outside" / "m.json", info)
    found = list(read(str(storage)))
    assert [one.items for one in found] == [()]


STORE = (Path(__file__).parent / "stores" / "opencode.sql").read_text()


def stored(tmp_path: Path, *changes: str) -> list[Transcript]:
    with closing(sqlite3.connect(tmp_path / "opencode.db")) as made:
        made.executescript(STORE)
        for sql in changes:
            made.executescript(sql)
    return all_of(tmp_path / "opencode.db", "opencode")


def test_a_database_of_a_session_with_a_sub_agent_and_a_compaction(tmp_path: Path) -> None:
    main, child = stored(tmp_path)
    assert child.parent == main.name == f"{tmp_path / 'opencode.db'}#ses_dfb6c72dbffeWYQDeI57uWnQAh"
    assert said(child) == [("user", "Is there mail of Ann?"), ("assistant", "There is no mail of Ann.")]
    assert child.calls[0].usage == Usage(5282, 7, 0, 0, 0, 0.015951)
    assert [item.text for item in main.items if item.kind == "user"][:2] == ["Any mail?", '"Ask for those of Ann."']
    assert [item.tool for item in main.items if item.kind == "tool_call"] == ["bash", "bash", "task", "bash"]
    results = [item.text for item in main.items if item.kind == "tool_result"]
    assert results[0].startswith("mail 1\nmail 2\n") and "No such file" in results[1]
    # what the endpoint counted of each request; of the second 173 were new and 6,656 read from the cache
    prompts = [made.usage.input_tokens if made.usage else None for made in main.calls]
    assert prompts == [6718, 6829, 6845, 6919, 6930, 8949, 6766, 6775]
    assert main.calls[1].usage == Usage(6829, 9, 6656, 0, 0, 0.0026508)
    (compaction,) = main.compactions
    assert (compaction.call, compaction.started_by, compaction.kept) == (7, "auto", ())
    assert compaction.summary[0].startswith("## Goal\nRead the mail.")
    # The request for the summary was paid for: 1,765 tokens in and 23 out.
    (asked,) = main.beside
    assert (asked.start, asked.usage) == (compaction.at, Usage(1765, 23, 0, 0, 0, 0.00564))
    assert {made.model for made in main.calls} == {"mock"} and main.version == child.version == "1.18.33"
    assert main.project == child.project == "/home/ann/mail"


def test_a_session_that_is_deleted_while_others_are_read_is_none(tmp_path: Path) -> None:
    stored(tmp_path)
    with closing(sqlite3.connect(tmp_path / "opencode.db")) as made:
        assert opencode._of_database(made, "gone", "t", None) is None


def test_what_is_left_out_is_counted_each_time(tmp_path: Path) -> None:
    plain, image = ({"type": "file", "mime": mime} for mime in ("text/plain", "image/png"))
    transcript = exported(
        tmp_path,
        user(text("Go."), text("no", ignored=True), {"type": "agent"}, {"type": "new"}, {"type": "new"}, plain, image),
        answer(START, text("Done."), {"type": "retry"}, {"type": "subtask"}, {"type": "subtask"}),
        user(), answer(text("")), answer(START), answer(text("x"), error={"name": "APIError"}),
    )  # fmt: skip
    assert said(transcript) == [("user", "Go."), ("user", ""), ("assistant", "Done.")]
    assert [len(item.media) for item in transcript.items] == [0, 1, 0]
    assert left_out(transcript) == [
        "1 x file whose content stands in a text part", "1 x response that failed", "1 x response without content",
        "1 x text marked as ignored", "1 x user message without content", "2 x new", "2 x subtask",
    ]  # fmt: skip


@pytest.mark.parametrize(("status", "result"), [
    ("pending", "[Tool execution was interrupted]"), ("running", "[Tool execution was interrupted]"),
    ("completed", NO_RESULT),
])  # fmt: skip
def test_a_call_without_output_has_a_result_where_it_was_interrupted(tmp_path: Path, status: str, result: str) -> None:
    transcript = exported(tmp_path, user(text("Go.")), answer(tool("c1", None, status)), answer(text("Done.")))
    assert said(transcript)[2] == ("tool_result", result)


def test_results_are_cleared_from_the_moment_on_that_says_so(tmp_path: Path) -> None:
    def at(made: int) -> Json:
        return {"time": {"created": made}}

    def old(call_id: str, made: int) -> Json:
        return tool(call_id, call_id, time={"start": 1, "compacted": made})

    transcript = exported(
        tmp_path, user(text("Go.")), answer(old("c1", 5_000), **at(2_000)), answer(old("c2", 6_001), **at(4_999)),
        answer(text("One."), **at(5_000)), answer(text("Two."), **at(6_000)), answer(text("Three."), **at(6_001)),
    )  # fmt: skip
    # The results stand at 2 and 4: cleared before calls 3 and 5.
    assert transcript.cleared == ((3, 2), (5, 4))
    assert [call.comparable for call in transcript.calls] == [True, True, False, False, False]
    assert transcript.notes == ("2 old result(s) were cleared from later requests: kept here",)


def test_time_grows_with_the_results_that_were_cleared_not_faster(tmp_path: Path) -> None:
    steps = []
    for n in range(1, 1_001):
        old = tool(f"c{n}", "x", time={"start": 1000 * n, "compacted": 1000 * n + 40_000})
        steps.append(answer(old, id=f"a{n}", time={"created": 1000 * n}))
    path = write(tmp_path / "session.json", {"info": {"id": "ses_1"}, "messages": [user(text("Go.")), *steps]})
    began = time.process_time()
    assert len(next(read(str(path))).cleared) == 960
    assert time.process_time() - began < 1
