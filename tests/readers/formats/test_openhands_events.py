"""OpenHands events: exported lists, event folders, evaluation output, delegates, condensation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from read_back import all_of, called, kinds, said, taken, write

from ctxsim.readers.formats.openhands.events import owns
from ctxsim.transcript import Compaction, Transcript, Usage


def transcripts(tmp_path: Path, *lines: Any, name: str = "trajectory.json") -> list[Transcript]:
    return all_of(write(tmp_path / name, *lines), "openhands-events")


def user(number: int, content: str) -> dict[str, Any]:
    args = {"content": content, "image_urls": None, "wait_for_response": False}
    return {"id": number, "source": "user", "message": content, "action": "message", "args": args}


def response(name: str, *call_ids: str) -> dict[str, Any]:
    function = {"name": "execute_bash", "arguments": '{"command": "ls"}'}
    calls = [{"index": 0, "id": call_id, "type": "function", "function": function} for call_id in call_ids]
    usage = {"prompt_tokens": 100, "completion_tokens": 9, "cache_read_input_tokens": 0}
    usage["cache_creation_input_tokens"] = 96
    message = {"role": "assistant", "content": "I look.", "tool_calls": calls}
    return {"id": name, "created": 1_700_000_000, "model": "m", "choices": [{"message": message}], "usage": usage}


def action(number: int, call_id: str, model_response: dict[str, Any], **more: Any) -> dict[str, Any]:
    metadata = {"function_name": "execute_bash", "tool_call_id": call_id, "model_response": model_response}
    args = {"command": "ls", "thought": "I look."}
    event = {"id": number, "timestamp": "2023-11-14T22:13:29.5", "source": "agent", "action": "run", "args": args}
    return {**event, "tool_call_metadata": {**metadata, "total_calls_in_response": 1}, **more}


def ran(number: int, cause: int, call_id: str | None, content: str, exit_code: int = 0) -> dict[str, Any]:
    shell = {"exit_code": exit_code, "pid": -1, "prefix": "", "suffix": "\n[Done.]", "working_dir": "/w"}
    shell["py_interpreter_path"] = "/bin/python"
    event = {"id": number, "source": "agent", "cause": cause, "observation": "run", "content": content}
    event["extras"] = {"command": "ls", "metadata": shell}
    return {**event, "tool_call_metadata": {"tool_call_id": call_id}} if call_id else event


SHELL_LINES = "\n[Done.]\n[Current working directory: /w]\n[Python interpreter: /bin/python]"
NOTHING = {"id": 90, "source": "environment", "observation": "null", "content": "", "extras": {}, "cause": 0}
STATE = {"id": 91, "source": "environment", "observation": "agent_state_changed", "content": "", "extras": {}}


def test_actions_hold_the_response_and_observations_are_shown_as_the_agent_does(tmp_path: Path) -> None:
    spoken = {"content": "Done.", "image_urls": None, "wait_for_response": True}
    edited = {"id": 6, "source": "agent", "cause": 5, "observation": "edit", "content": "--- a\n+++ b"}
    edited |= {"extras": {"formatted_output_and_error": "File created."}, "tool_call_metadata": {"tool_call_id": "c2"}}
    (transcript,) = transcripts(
        tmp_path,
        [
            STATE,
            user(0, "Fix mail.py."),
            NOTHING,
            action(3, "c1", response("r1", "c1")),
            ran(4, 3, "c1", "mail.py"),
            action(5, "c2", response("r2", "c2"), action="edit"),
            edited,
            {"id": 9, "source": "agent", "action": "message", "args": spoken},
        ],
    )
    assert called(transcript) == [
        ("user", "", "Fix mail.py."),
        ("assistant", "", "I look."),
        ("tool_call", "execute_bash", '{"command": "ls"}'),
        ("tool_result", "execute_bash", f"mail.py{SHELL_LINES}\n[Command finished with exit code 0]"),
        ("assistant", "", "I look."),
        ("tool_call", "execute_bash", '{"command": "ls"}'),
        ("tool_result", "execute_bash", "File created."),
        ("assistant", "", "Done."),
    ]
    assert [call.usage for call in transcript.calls] == [Usage(100, 9, 0, 96), Usage(100, 9, 0, 96), None]
    assert [call.time_s for call in transcript.calls] == [1_700_000_009.5, 1_700_000_009.5, None]
    assert (transcript.model, transcript.head.recorded) == ("m", False)
    assert transcript.notes == (
        "1 command result(s) with directory, interpreter and exit code as the agent adds them",
        "1 message(s) of the agent without the model's response: their usage is unknown",
        "left out: 1 x agent_state_changed, 1 x null",
    )


def test_parallel_calls_are_one_response_with_one_usage(tmp_path: Path) -> None:
    both = response("r1", "c1", "c2")
    events = [user(0, "Go."), action(1, "c1", both), ran(2, 1, "c1", "a", -1), action(3, "c2", both)]
    (transcript,) = transcripts(tmp_path, {"trajectory": [*events, ran(4, 3, "c2", "b", -1)]})
    assert len(transcript.calls) == 1
    assert kinds(transcript) == [
        *("user", "assistant", "tool_call", "tool_call", "tool_result", "tool_result"),
    ]
    # No line on the exit code where it is -1.
    assert [item.text for item in transcript.items[4:]] == [f"a{SHELL_LINES}", f"b{SHELL_LINES}"]
    assert transcript.items[4].message == transcript.items[5].message


def test_costs_are_what_the_sum_grows_by(tmp_path: Path) -> None:
    first = action(2, "c1", response("r1", "c1"), llm_metrics={"accumulated_cost": 0.25})
    second = action(4, "c2", response("r2", "c2"), llm_metrics={"accumulated_cost": 0.75})
    events = [user(1, "Go."), first, ran(3, 2, "c1", "a"), second]
    (transcript,) = transcripts(tmp_path, events)
    assert [call.usage and call.usage.cost_usd for call in transcript.calls] == [0.25, 0.5]
    run = {"instance_id": "i", "test_result": {}, "metrics": {"accumulated_cost": 0.5}}
    lines = [{**run, "history": events}, {**run, "history": [events[0], action(2, "c1", response("r1", "c1"))]}]
    assert [one.cost_usd for one in transcripts(tmp_path, *lines, name="output.jsonl")] == [None, 0.5]


@pytest.mark.parametrize(("told", "usd"), [
    # The agent, its delegate twice, the agent: one sum, or, in older versions, one of each.
    ((0.25, 0.5, 0.75, 1.5), [[0.25, 0.75], [0.25, 0.25]]), ((0.25, 0.125, 0.5, 1.0), [[0.25, 0.75], [0.125, 0.375]]),
])  # fmt: skip
def test_a_delegate_counts_on_or_anew(told: tuple[float, ...], usd: list[list[float]], tmp_path: Path) -> None:
    sums = [{"llm_metrics": {"accumulated_cost": cost}} for cost in told]
    asks = action(2, "c1", response("r1", "c1")) | {"action": "delegate", "args": {"inputs": {"task": "x"}}} | sums[0]
    found = transcripts(tmp_path, [
        user(1, "Go."), asks, action(3, "c2", response("r2", "c2")) | sums[1], ran(4, 3, "c2", "a"),
        action(5, "c3", response("r3", "c3")) | sums[2], ran(6, 5, "c3", "b"),
        ran(7, 2, "c1", "found") | {"observation": "delegate"}, action(8, "c4", response("r4", "c4")) | sums[3],
    ])  # fmt: skip
    assert [[call.usage and call.usage.cost_usd for call in one.calls] for one in found] == usd


def test_a_delegate_of_an_agent_without_sums_has_its_own(tmp_path: Path) -> None:
    asks = action(2, "c1", response("r1", "c1")) | {"action": "delegate", "args": {"inputs": {"task": "x"}}}
    sums = [{"llm_metrics": {"accumulated_cost": usd}} for usd in (0.25, 0.125)]
    found = transcripts(tmp_path, [
        user(1, "Go."), asks, action(3, "c2", response("r2", "c2")) | sums[0], ran(4, 3, "c2", "a"),
        ran(5, 2, "c1", "found") | {"observation": "delegate"}, action(6, "c3", response("r3", "c3")) | sums[1],
    ])  # fmt: skip
    assert [[call.usage and call.usage.cost_usd for call in one.calls] for one in found] == [[None, 0.125], [0.25]]


def test_a_delegates_first_usage_tells_that_its_sums_start_at_0(tmp_path: Path) -> None:
    def sums(usd: float, prompt: int) -> dict[str, Any]:
        return {"llm_metrics": {"accumulated_cost": usd, "accumulated_token_usage": {"prompt_tokens": prompt}}}

    asks = action(2, "c1", response("r1", "c1")) | {"action": "delegate", "args": {"inputs": {"task": "x"}}}
    found = transcripts(tmp_path, [
        user(1, "Go."), asks | sums(0.125, 100), action(3, "c2", response("r2", "c2")) | sums(0.25, 100),
        ran(4, 3, "c2", "a"), ran(5, 2, "c1", "found") | {"observation": "delegate"},
        action(6, "c3", response("r3", "c3")) | sums(0.625, 200),
    ])  # fmt: skip
    assert [[call.usage and call.usage.cost_usd for call in one.calls] for one in found] == [[0.125, 0.5], [0.25]]


def test_messages_and_condensations_have_the_usage_that_the_sums_grow_by(tmp_path: Path) -> None:
    def sums(usd: float, *tokens: int) -> dict[str, Any]:
        names = ("prompt_tokens", "completion_tokens", "cache_read_tokens", "cache_write_tokens")
        used = {"accumulated_cost": usd, "accumulated_token_usage": dict(zip(names, tokens, strict=True))}
        return {"source": "agent", "llm_metrics": used}

    first = action(2, "c1", response("r1", "c1")) | sums(0.25, 40, 5, 0, 0)
    cut = {"id": 4, "action": "condensation", "args": {"summary": "One.", "forgotten_event_ids": [2, 3]}}
    told = {"id": 5, "action": "message", "args": {"content": "Done."}}
    events = [
        user(1, "Go."),
        first,
        ran(3, 2, "c1", "a"),
        cut | sums(0.5, 100, 9, 30, 0),
        told | sums(1, 160, 12, 40, 8),
    ]
    (transcript,) = transcripts(tmp_path, events)
    # 100 - 40 tokens wrote the summary, 160 - 100 the message.
    (asked,) = transcript.beside
    assert (asked.start, asked.usage) == (transcript.compactions[0].at, Usage(60, 4, 30, 0, cost_usd=0.25))
    assert (transcript.calls[1].usage, asked.model) == (Usage(60, 3, 10, 8, cost_usd=0.5), transcript.calls[1].model)


def test_later_condensations_forget_more_and_send_their_own_summary(tmp_path: Path) -> None:
    def condensed(number: int, summary: str, *forgotten: int) -> dict[str, Any]:
        args = {"summary": summary, "forgotten_event_ids": list(forgotten)}
        return {"id": number, "source": "agent", "action": "condensation", "args": args}

    (transcript,) = transcripts(
        tmp_path,
        [
            user(1, "Go."),
            action(2, "c1", response("r1", "c1")),
            ran(3, 2, "c1", "a"),
            condensed(4, "One.", 2, 3),
            action(5, "c2", response("r2", "c2")),
            ran(6, 5, "c2", "b"),
            condensed(7, "Two.", 6),
            action(8, "c3", response("r3", "c3")),
        ],
    )
    assert [(each.call, each.at, each.summary, each.kept) for each in transcript.compactions] == [
        (2, 4, ("One.",), (0,)),
        (3, 7, ("Two.",), (0, 4, 5)),
    ]


def test_the_head_a_condensation_and_what_the_user_ran(tmp_path: Path) -> None:
    head = {"id": 0, "source": "agent", "action": "system", "args": {"content": "You help.", "tools": [{"name": "x"}]}}
    condensed = {
        "id": 5,
        "source": "agent",
        "action": "condensation",
        "args": {"summary": "It looked.", "forgotten_events_start_id": 2, "forgotten_events_end_id": 4},
    }
    typed = {"id": 6, "source": "user", "action": "run", "args": {"command": "pwd"}}
    error = {"id": 9, "source": "agent", "observation": "error", "content": "Bad.", "extras": {}}
    (transcript,) = transcripts(
        tmp_path,
        [
            head,
            user(1, "Go."),
            action(2, "c1", response("r1", "c1")),
            ran(3, 2, "c1", "a", -1),
            condensed,
            typed,
            ran(7, 6, None, "/w", -1),
            action(8, "c2", response("r2", "c2")),
            {**error, "tool_call_metadata": {"tool_call_id": "c2"}},
            {**error, "id": 10},
        ],
    )
    assert (transcript.head.system, transcript.head.tools) == ("You help.", ('{"name":"x"}',))
    assert [call.comparable for call in transcript.calls] == [True, True]
    assert transcript.compactions == (Compaction(2, 4, "auto", ("It looked.",), (0,)),)
    assert [item.text for item in transcript.items if item.kind == "user"] == [
        "Go.",
        "User executed the command:\npwd",
        f"\nObserved result of command executed by user:\n/w{SHELL_LINES}",
        "Bad.\n[Error occurred in processing last action]",
    ]
    assert "recorded compaction before call 2 (auto)" in transcript.notes
    assert not any("It looked." in item.text for item in transcript.items)


def test_evaluation_output_has_a_run_a_line_and_old_runs_are_rebuilt(tmp_path: Path) -> None:
    run = {"action": "run", "command": "ls", "thought": "I look.", "keep_prompt": True, "is_confirmed": "confirmed"}
    old = [
        {"action": "message", "content": "Fix it.", "images_urls": None, "wait_for_response": False},
        run,
        {"observation": "run", "content": "mail.py", "command_id": -1, "command": "ls", "exit_code": 0},
        {"action": "message", "content": "Which one?"},
        {"action": "message", "content": "The first."},
        {"action": "finish", "outputs": {}, "thought": "Done."},
    ]
    pairs = [[user(0, "Go."), NOTHING], [action(1, "c1", response("r1", "c1")), ran(2, 1, "c1", "a")]]
    lines = [{"issue": {}, "history": old}, {"instance_id": "i-2", "history": pairs}, '{"his']
    first, second = transcripts(tmp_path, *lines, name="output.jsonl")
    assert (first.name, second.name) == (f"{tmp_path}/output.jsonl#1", f"{tmp_path}/output.jsonl#i-2")
    assert called(first) == [
        ("user", "", "Fix it."),
        ("assistant", "", "I look."),
        ("tool_call", "run", '{"command":"ls"}'),
        ("tool_result", "run", "mail.py"),
        ("assistant", "", "Which one?"),
        ("user", "", "The first."),
        ("assistant", "", "Done."),
        ("tool_call", "finish", "{}"),
    ]
    assert first.notes == (
        "2 response(s) rebuilt from thought and arguments, not to the letter: their usage is unknown",
        "1 command result(s) as recorded, without the line on the exit code that was sent",
        "1 message(s) of the agent without the model's response: their usage is unknown",
    )
    assert kinds(second) == ["user", "assistant", "tool_call", "tool_result"]
    assert second.notes[-1].startswith("line 3 skipped, not JSON")


def test_an_event_folder_is_one_transcript_in_the_order_of_its_numbers(tmp_path: Path) -> None:
    folder = tmp_path / "events"
    events = {2: user(2, "Go."), 9: action(9, "c1", response("r1", "c1")), 10: ran(10, 9, "c1", "a")}
    for number, event in events.items():
        write(folder / f"{number}.json", event)
    write(folder / "11.json", '{"id": 11, "so')
    (transcript,) = all_of(folder, "openhands-events")
    assert kinds(transcript) == ["user", "assistant", "tool_call", "tool_result"]
    assert transcript.notes[0].startswith("11.json left out: is not complete JSON")


def test_events_one_a_line(tmp_path: Path) -> None:
    events = [user(0, "Go."), action(1, "c1", response("r1", "c1")), *[STATE] * 18, {"id": 2, "source": "agent"}]
    (transcript,) = transcripts(tmp_path, *events, name="events.jsonl")
    assert len(transcript.calls) == 1
    assert transcript.notes == ("left out: 18 x agent_state_changed, 1 x event without action or observation",)


def test_what_the_model_is_told_nothing_of_and_what_is_shown_otherwise(tmp_path: Path) -> None:
    quiet = {"id": 1, "source": "agent", "action": "recall", "args": {}}
    others = {"id": 2, "source": "environment", "action": "start_hook", "args": {}}
    browsed = {"id": 4, "source": "agent", "cause": 3, "observation": "browse", "content": "A page.", "extras": {}}
    rejected = {"id": 6, "source": "agent", "cause": 5, "observation": "user_rejected", "content": "No.", "extras": {}}
    (transcript,) = transcripts(
        tmp_path,
        [
            {**user(0, "Look."), "args": {"content": "Look.", "image_urls": ["data:x", "data:y"]}},
            quiet, others, quiet, others,
            action(3, "c1", response("r1", "c1")),
            {**browsed, "tool_call_metadata": {"tool_call_id": "c1"}},
            action(5, "c2", response("r2", "c2")),
            {**rejected, "tool_call_metadata": {"tool_call_id": "c2"}},
            action(7, "c3", response("r3", "c3")),
            {**browsed, "id": 8, "observation": "browse_interactive", "tool_call_metadata": {"tool_call_id": "c3"}},
            action(9, "c4", response("r4", "c4")),
            # An error that answers a call is its result, one that answers none a user's text.
            {"id": 10, "source": "agent", "cause": 9, "observation": "error", "content": "Bad.", "extras": {},
             "tool_call_metadata": {"tool_call_id": "c4"}},
            {"id": 11, "source": "agent", "observation": "error", "content": "Worse.", "extras": {},
             "tool_call_metadata": {"tool_call_id": "c9"}},
            {"id": 12, "source": "agent", "action": "message", "args": {"content": [{"text": "Done."}]}},
            {"id": 13, "source": "agent", "action": "message", "args": {"content": "Really."}},
        ],
    )  # fmt: skip
    error = "[Error occurred in processing last action]"
    assert [item.text for item in transcript.items if item.kind == "tool_result"] == [
        "A page.", "No.\n[Last action has been rejected by the user]", "A page.", f"Bad.\n{error}"
    ]  # fmt: skip
    assert [item.text for item in transcript.items if item.kind == "user"] == ["Look.", f"Worse.\n{error}"]
    assert [media.tokens for media in transcript.items[0].media] == [765, 765]
    assert [item.text for item in transcript.items[-2:]] == ["Done.", "Really."]
    assert transcript.notes == (
        "2 web page(s) as recorded: the text that was sent may differ",
        "2 message(s) of the agent without the model's response: their usage is unknown",
        "left out: 2 x recall, 2 x start_hook",
    )


def test_an_event_without_its_own_metadata_may_have_its_causes(tmp_path: Path) -> None:
    plain = {"action": "run", "source": "agent", "args": {"command": "ls", "thought": "", "timeout": None, "x": []}}
    (transcript,) = transcripts(
        tmp_path,
        [
            user(0, "Go."),
            {**plain, "id": 1}, {**plain, "id": 2},
            {"id": 3, "source": "agent", "cause": 2, "observation": "run", "content": "second", "extras": {}},
            {"id": 4, "source": "agent", "cause": 1, "observation": "run", "content": "first", "extras": {}},
        ],
    )  # fmt: skip
    assert said(transcript) == [
        ("user", "Go."), ("tool_call", '{"command":"ls"}'), ("tool_result", "first"), ("tool_call", '{"command":"ls"}'),
        ("tool_result", "second"),
    ]  # fmt: skip


def test_a_delegate_ends_with_its_observation_alone(tmp_path: Path) -> None:
    def delegated(number: int, name: str, **inputs: str) -> dict[str, Any]:
        args = {"agent": name} | ({"inputs": inputs} if inputs else {})
        return {"id": number, "source": "agent", "action": "delegate", "args": args}

    def back(number: int, content: str) -> dict[str, Any]:
        return {"id": number, "source": "agent", "observation": "delegate", "content": content, "extras": {}}

    browsing = {"id": 7, "source": "agent", "action": "browse", "args": {"url": "x"}}
    page = {"id": 8, "source": "agent", "cause": 7, "observation": "browse", "content": "A page.", "extras": {}}
    events = [user(0, "Go."), delegated(1, "A", task="Browse."), delegated(2, "B"), browsing, page, back(3, "b")]
    found = transcripts(tmp_path, [*events, back(4, "a"), back(5, "again")])
    assert [(one.name.partition("#")[2], one.parent and one.parent.partition("#")[2]) for one in found] == [
        ("", None), ("delegate-1", ""), ("delegate-2", "delegate-1")
    ]  # fmt: skip
    assert [[item.text for item in one.items] for one in found] == [
        ["Go.", '{"agent":"A","inputs":{"task":"Browse."}}', "a"], ['{"task":"Browse."}', '{"agent":"B"}', "b"],
        ["{}", '{"url":"x"}', "A page."],
    ]  # fmt: skip
    assert found[0].notes[-1] == "1 result(s) without a call left out"


def test_runs_with_delegates_stand_one_after_the_other(tmp_path: Path) -> None:
    delegated = {"id": 1, "source": "agent", "action": "delegate", "args": {"agent": "A"}}
    line = {"instance_id": "i", "test_result": {}, "history": [user(0, "Go."), delegated]}
    found = transcripts(tmp_path, line, line, "torn{", name="output.jsonl")
    assert [one.name.partition("#")[2] for one in found] == ["i", "i#delegate-1"] * 2
    assert [any("line 3 skipped" in note for note in one.notes) for one in found] == [False, False, False, True]


@pytest.mark.parametrize(("first", "matched"), [
    ({"history": [], "test_result": {}}, True), ({"history": []}, False),
    ({"history": [user(0, "Go.")], "trajectory": []}, False), ({"history": [{"role": "user"}]}, False),
    ({"history": [user(0, "Go.")]}, True), ({"trajectory": [user(0, "Go.")]}, True),
    ({"trajectory": [{**user(0, "Go."), "source": "somebody"}]}, False),
    # What is an action and an observation is a step of another agent.
    ([{**user(0, "Go."), "observation": "x"}], False), ([{**user(0, "Go."), "role": "user"}], False), ([], False),
    ([*[user(0, "Go.")] * 20, {"id": 1}], True), ([*[user(0, "Go.")] * 19, {"id": 1}], False),
])  # fmt: skip
def test_what_is_taken_for_events(first: Any, matched: bool) -> None:
    assert taken("openhands.events", first) is matched


def test_a_folder_of_other_files_is_no_store_of_events(tmp_path: Path) -> None:
    def folder(**files: str) -> Path:
        made = tmp_path / f"events{len(list(tmp_path.iterdir()))}"
        made.mkdir()
        for name, text in files.items():
            (made / name.replace("_", ".")).write_text(text)
        return made

    event = json.dumps(user(0, "Go."))
    assert owns(folder(**{"0_json": event, "1_json": "torn", "_hidden": "x"}))
    assert not any(map(owns, [
        folder(), folder(_hidden="x"), folder(**{"0_json": event, "notes_txt": "x"}), folder(**{"0_json": "torn{"}),
        folder(**{"0_json": "{}"}), folder(a_json=event),
    ]))  # fmt: skip


@pytest.mark.parametrize(("args", "kept"), [
    ({"forgotten_events_start_id": 2}, (0, 1, 2, 3)), ({"forgotten_events_end_id": 3}, (0, 1, 2, 3)), ({}, (0, 1, 2,
    3)),
    ({"forgotten_events_start_id": 2, "forgotten_events_end_id": 2}, (0, 3)),
    ({"forgotten_events_start_id": 2, "forgotten_events_end_id": 3, "forgotten_event_ids": [0]}, ()),
])  # fmt: skip
def test_what_a_condensation_forgets(tmp_path: Path, args: dict[str, Any], kept: tuple[int, ...]) -> None:
    condensed = {"id": 4, "source": "agent", "action": "condensation", "args": args}
    (transcript,) = transcripts(
        tmp_path, [user(0, "Go."), action(2, "c1", response("r1", "c1")), ran(3, 2, "c1", "a"), condensed,
                   action(5, "c2", response("r2", "c2"))],
    )  # fmt: skip
    assert transcript.compactions == (Compaction(2, 4, "auto", (), kept),)
