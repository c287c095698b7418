"""SWE-agent trajectories: commands in the text, function calling, demonstrations, several agents and attempts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from read_back import all_of, called, kinds, taken, write

from ctxsim.transcript import Transcript

SYSTEM = {"role": "system", "content": "You fix bugs.", "agent": "primary"}
TASK = {"role": "user", "content": "Fix mail.py.", "agent": "primary"}


def transcripts(tmp_path: Path, document: Any) -> list[Transcript]:
    return all_of(write(tmp_path / "run.traj", document), "swe-agent")


def said(content: str, action: str, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "action": action, "thought": "", "agent": "primary", **more}


def observed(content: str, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": content, "agent": "primary", **more}


def test_a_command_in_the_text_becomes_a_call_and_nothing_is_counted_twice(tmp_path: Path) -> None:
    first = "Look first.\n```\nls -F mail\n```"
    second = "Now open it.\n<command>\nopen mail.py 10\n</command>\n"
    history = [SYSTEM, TASK, said(first, "ls -F mail\n"), observed("mail.py"), said(second, "open mail.py 10")]
    (transcript,) = transcripts(tmp_path, {"trajectory": [], "history": history, "info": {}})
    assert transcript.head.system == "You fix bugs." and transcript.version == "0.x"
    assert called(transcript) == [
        ("user", "", "Fix mail.py."),
        ("assistant", "", "Look first.\n```\n"),
        ("tool_call", "ls", " -F mail\n```"),
        ("tool_result", "ls", "mail.py"),
        ("assistant", "", "Now open it.\n<command>\n"),
        ("tool_call", "open", " mail.py 10\n</command>\n"),
    ]
    for call, text in zip(transcript.calls, (first, second), strict=True):
        parts = transcript.items[call.start : call.end]
        assert "".join(text for part in parts for text in part.texts) == text
    assert transcript.items[3].answers == 2
    assert all(call.usage is None for call in transcript.calls)


def test_messages_have_a_type_since_1(tmp_path: Path) -> None:
    history = [TASK | {"message_type": "observation"}, said("Bye.", "") | {"message_type": "action"}]
    assert transcripts(tmp_path, {"trajectory": [], "history": history})[0].version == "1.x"


def test_only_the_first_message_after_a_command_is_its_result(tmp_path: Path) -> None:
    history = [TASK, said("```\nls\n```", "ls"), observed("mail.py"), observed("Go on."), said("I don't know.", ""),
               observed("Please give a command."), said("ls", "pwd"), observed("x")]  # fmt: skip
    (transcript,) = transcripts(tmp_path, {"trajectory": [], "history": history})
    assert kinds(transcript) == [
        "user", "assistant", "tool_call", "tool_result", "user", "assistant", "user", "assistant", "user"
    ]  # fmt: skip
    assert transcript.notes == (
        "1 command(s) not found in the text of their response: observations kept as user texts",
    )


def test_function_calls_with_reused_ids_lists_of_ids_thinking_and_block_content(tmp_path: Path) -> None:
    def call(arguments: str) -> dict[str, Any]:
        return {"id": "same", "type": "function", "function": {"name": "find_file", "arguments": arguments}}

    history = [
        {"role": "system", "content": "You fix bugs.", "agent": "main", "message_type": "system_prompt"},
        {"role": "user", "content": [{"type": "text", "text": "Fix it."}], "agent": "main"},
        {
            "role": "assistant",
            "content": "Where?",
            "action": "find_file a",
            "agent": "main",
            "tool_calls": [call('{"name":"a"}')],
            "thinking_blocks": [{"type": "thinking", "thinking": "hm", "signature": "s"}],
        },
        {"role": "tool", "content": "no", "agent": "main", "tool_call_ids": ["same"]},
        {"role": "assistant", "content": "", "action": "b", "agent": "main", "tool_calls": [call('{"name":"b"}')]},
        {"role": "tool", "content": "yes", "agent": "main", "tool_call_ids": ["same"]},
    ]
    # Only `history`, as hand-made demonstrations have it.
    (transcript,) = transcripts(tmp_path, {"history": history})
    assert [(item.kind, item.text, item.answers) for item in transcript.items] == [
        ("user", "Fix it.", None),
        ("reasoning", "hm", None),
        ("assistant", "Where?", None),
        ("tool_call", '{"name":"a"}', None),
        ("tool_result", "no", 3),
        ("tool_call", '{"name":"b"}', None),
        ("tool_result", "yes", 5),
    ]
    assert transcript.notes == ("the tool definitions are not recorded",)


def test_exit_messages_are_left_out_and_totals_noted(tmp_path: Path) -> None:
    gave_up = said("Exit due to context window", "exit_context")
    history = [SYSTEM, TASK, said("```\nls\n```", "ls"), observed("x"), gave_up]
    stats = {"api_calls": 3, "tokens_sent": 900, "tokens_received": 5, "instance_cost": 0.5}
    (transcript,) = transcripts(tmp_path, {"trajectory": [], "history": history, "info": {"model_stats": stats}})
    assert (len(transcript.calls), transcript.cost_usd) == (1, 0.5)
    assert transcript.notes == (
        "usage is recorded as totals only: 900 tokens sent in 3 requests; "
        "history processors may have shortened what was sent",
        "1 message(s) with which the agent gave up left out: no model made them",
    )


def test_a_second_agent_is_a_child_and_sees_only_its_own_messages(tmp_path: Path) -> None:
    other = [{**SYSTEM, "agent": "tester"}, {**TASK, "agent": "tester"}, {**said("No.", ""), "agent": "tester"}]
    history, info = [SYSTEM, TASK, *other, said("Yes.", "")], {"model_stats": {"instance_cost": 0.5}}
    first, second = transcripts(tmp_path, {"trajectory": [], "history": history, "info": info})
    # The dollars of all agents are the session's.
    assert (first.cost_usd, second.cost_usd) == (0.5, None)
    assert (first.parent, second.parent) == (None, first.name)
    assert second.name == f"{first.name}#tester"
    assert [item.text for item in first.items] == ["Fix mail.py.", "Yes."]
    assert [item.text for item in second.items] == ["Fix mail.py.", "No."]


def test_attempts_are_read_and_the_copy_of_the_chosen_one_is_not(tmp_path: Path) -> None:
    attempts = [{"trajectory": [], "history": [SYSTEM, TASK, said(text, "")]} for text in ("One.", "Two.")]
    found = transcripts(tmp_path, {**attempts[1], "attempts": attempts})
    assert [transcript.name.partition("#")[2] for transcript in found] == ["attempt-1", "attempt-2"]
    assert [transcript.items[-1].text for transcript in found] == ["One.", "Two."]


@pytest.mark.parametrize(("document", "matched"), [
    ({"history": [TASK], "trajectory": []}, True), ({"history": [TASK]}, True), ({"history": [{"role": "user"}]},
    False),
    ({"history": [{"role": "user", "message_type": "x"}]}, True), ({"history": [], "trajectory": []}, True),
    ({"history": []}, False), ({"history": [{"role": 5}], "trajectory": []}, False), ({"trajectory": []}, False),
    # Only the first three are looked at.
    ({"history": [{"role": "user"}] * 3 + [TASK]}, False), ({"history": [TASK, TASK, TASK, 5]}, True),
])  # fmt: skip
def test_what_is_taken_for_a_trajectory(document: dict[str, Any], matched: bool) -> None:
    assert taken("swe_agent", document) is matched


@pytest.mark.parametrize("attempts", [None, [], {}])
def test_without_attempts_the_document_is_the_one(tmp_path: Path, attempts: Any) -> None:
    (transcript,) = transcripts(tmp_path, {"trajectory": [], "history": [TASK], "attempts": attempts})
    assert transcript.name == str(tmp_path / "run.traj")


@pytest.mark.parametrize(("text", "parts"), [
    # A command that begins its response, in a fence or not, and one that isn't there.
    ("ls", [("tool_call", "ls", "")]), ("```\nls\n```", [("assistant", "", "```\n"), ("tool_call", "ls", "\n```")]),
    ("Look.", [("assistant", "", "Look.")]),
    # It is the fenced one though the thought names it too; without a fence the last.
    ("I could\nls\nor so.\n```\nls\n```\nThen ls again.",
     [("assistant", "", "I could\nls\nor so.\n```\n"), ("tool_call", "ls", "\n```\nThen ls again.")]),
    ("ls, then ls -a", [("assistant", "", "ls, then "), ("tool_call", "ls", " -a")]),
])  # fmt: skip
def test_where_a_command_stands(tmp_path: Path, text: str, parts: list[tuple[str, str, str]]) -> None:
    (transcript,) = transcripts(tmp_path, {"trajectory": [], "history": [TASK, said(text, "ls"), said("Bye.", "  ")]})
    assert [(item.kind, item.tool, item.text) for item in transcript.items if item.message == 2] == parts
    lost = "1 command(s) not found in the text of their response: observations kept as user texts"
    assert (lost in transcript.notes) is (parts[0][2] == "Look.")


def test_roles_of_every_kind_and_responses_that_no_model_made(tmp_path: Path) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    demo = {"role": "assistant", "content": "Shown.", "agent": "primary", "is_demo": True, "tool_calls": [call]}
    history = [
        SYSTEM, observed("Fix spam.py.", is_demo=True), demo, TASK, said("", "", tool_calls=[call]),
        {"role": "tool", "content": "1", "tool_call_ids": ["c1"], "agent": "primary"}, observed("What?", role="critic"),
        said("Exit due to context window", "exit_context"), said("I exit_cost now", "exit_cost"),
    ]  # fmt: skip
    (transcript,) = transcripts(tmp_path, {"trajectory": [], "history": history, "info": {}})
    shown = '{"function":{"name":"f","arguments":"{}"},"id":"c1"}'
    assert transcript.head.system.endswith(f"\n\nFix spam.py.\n\nShown.\n{shown}")
    assert called(transcript) == [
        ("user", "", "Fix mail.py."), ("tool_call", "f", "{}"), ("tool_result", "f", "1"), ("assistant", "", "I "),
        ("tool_call", "exit_cost", " now"),
    ]  # fmt: skip
    assert transcript.notes[1:4] == (
        "2 message(s) of a demonstration are part of every request: kept in the system prompt",
        "1 message(s) of an unknown role left out",
        "1 message(s) with which the agent gave up left out: no model made them",
    )
