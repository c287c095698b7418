"""mini-swe-agent trajectories: function calling with usage, fenced commands, bare lists."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from read_back import called as parts_of
from read_back import kinds, only, write

from ctxsim.readers.formats.mini_swe_agent import commands_in
from ctxsim.transcript import Transcript, Usage

HEAD = [{"role": "system", "content": "You help."}, {"role": "user", "content": "Fix mail.py."}]


def transcript(tmp_path: Path, document: Any) -> Transcript:
    return only(write(tmp_path / "a.traj.json", document), "mini-swe-agent")


def document(messages: list[dict[str, Any]], api_calls: int = 0) -> dict[str, Any]:
    info = {"model_stats": {"api_calls": api_calls, "instance_cost": 0.5}, "mini_version": "2.2.7"}
    return {"info": info, "messages": messages, "trajectory_format": "mini-swe-agent-1.1"}


def called(number: int, **more: Any) -> dict[str, Any]:
    function = {"name": "bash", "arguments": '{"command": "ls"}'}
    usage = {
        "prompt_tokens": 100 * number,
        "completion_tokens": 9,
        "completion_tokens_details": {"reasoning_tokens": 4},
        "prompt_tokens_details": {"cached_tokens": 64},
        "prompt_cache_hit_tokens": 64,
    }
    response = {"id": "r", "created": 1_700_000_000 + number, "model": "deepseek-chat", "usage": usage, "choices": []}
    return {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"index": 0, "id": f"c{number}", "type": "function", "function": function}],
        "function_call": None,
        "extra": {"actions": [], "response": response, "timestamp": 1_700_000_009.5, "cost": 0.25},
        **more,
    }


def test_a_total_stands_for_costs_that_calls_do_not_have(tmp_path: Path) -> None:
    found = transcript(tmp_path, document([*HEAD, {"role": "assistant", "content": "Done."}]))
    assert found.cost_usd == 0.5


def test_calls_have_usage_time_and_model_and_the_exit_message_is_left_out(tmp_path: Path) -> None:
    result = {"role": "tool", "tool_call_id": "c1", "content": "<returncode>0</returncode>", "extra": {}}
    messages = [
        *HEAD,
        called(1, reasoning_content="Look.", provider_specific_fields={"reasoning_content": "Look."}),
        result,
        called(2),
        {"role": "exit", "content": "diff", "extra": {"exit_status": "Submitted"}},
    ]
    found = transcript(tmp_path, document(messages, api_calls=3))
    assert parts_of(found) == [
        ("user", "", "Fix mail.py."),
        ("reasoning", "", "Look."),
        ("tool_call", "bash", '{"command": "ls"}'),
        ("tool_result", "bash", "<returncode>0</returncode>"),
        ("tool_call", "bash", '{"command": "ls"}'),
    ]
    assert found.calls[0].usage == Usage(100, 9, 64, None, 4, 0.25)
    assert found.cost_usd is None
    assert [call.time_s for call in found.calls] == [1_700_000_001, 1_700_000_002]
    assert found.model == "deepseek-chat"
    assert found.notes == (
        "the exit message left out: it was not sent",
        "the tool definition is not recorded",
        "3 requests were made, 2 responses are recorded",
    )


def test_a_user_text_after_function_calls_is_no_result(tmp_path: Path) -> None:
    nudge = {"role": "user", "content": "Call the tool."}
    messages = [*HEAD, called(1, tool_calls=None, content="```bash\nls\n```"), nudge, called(2)]
    found = transcript(tmp_path, document(messages))
    assert kinds(found) == ["user", "assistant", "user", "tool_call"]


TEXT = "I look.\n\n```mswea_bash_command\nls mail\n```"
LAST = "Done.\n\n```bash\necho COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\n```"
BARE = [
    *HEAD,
    {"role": "assistant", "content": TEXT},
    {"role": "user", "content": "<returncode>0</returncode>\n<output>\nmail.py\n</output>"},
    {"role": "assistant", "content": "```bash\nls\n```\n```bash\npwd\n```"},
    {"role": "user", "content": "Give one command."},
    {"role": "assistant", "content": LAST},
    {"role": "user", "content": "the submission"},
]


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_fenced_command_is_a_call_to_the_letter(tmp_path: Path, wrapped: bool) -> None:
    found = transcript(tmp_path, document(BARE) if wrapped else BARE)
    assert parts_of(found)[1:4] == [
        ("assistant", "", "I look.\n\n```"),
        ("tool_call", "mswea_bash_command", "\nls mail\n```"),
        ("tool_result", "mswea_bash_command", "<returncode>0</returncode>\n<output>\nmail.py\n</output>"),
    ]
    # Two commands are none: the agent answers with an error text.
    assert kinds(found)[4:] == ["assistant", "user", "assistant", "tool_call"]
    for call, text in zip(found.calls, (TEXT, BARE[4]["content"], LAST), strict=True):
        parts = found.items[call.start : call.end]
        assert "".join(text for part in parts for text in part.texts) == text
    assert found.notes == ("the exit message left out: it was not sent",)
    for last in (TEXT, LAST.replace("```", "")):
        told = transcript(tmp_path, document([*HEAD, {"role": "assistant", "content": last}, BARE[-1]]))
        assert told.items[-1].text == "the submission" and not told.notes


AS_THE_AGENT = re.compile(r"```(bash|mswea_bash_command)\s*\n.*?\n```", re.DOTALL)


@given(st.lists(st.sampled_from(["```bash", "```mswea_bash_command", "```", "\n", " ", "ls", "`"]), max_size=14))
@example(["```bash", "\n", "\n", "```", "ls", "\n", "```"])
def test_commands_are_those_that_the_agent_finds(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert list(commands_in(text)) == [found.start(1) for found in AS_THE_AGENT.finditer(text)]


@pytest.mark.parametrize("piece", ["\n", "x```bash\n"])
def test_time_is_linear_in_what_nearly_is_a_command(piece: str) -> None:
    began = time.process_time()
    assert not any(commands_in("```bash" + piece * 100_000))
    assert time.process_time() - began < 1
