"""One transcript with all that ATIF has a field for and all that it hasn't, as it is written, and read again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ctxsim.errors import InputError
from ctxsim.readers import read
from ctxsim.readers.assembly import Assembly, Part
from ctxsim.readers.formats.atif.written import unwritable, written
from ctxsim.transcript import Head, Media, Transcript, Usage

TOOLS = ['{"name":"search"}', '{"name": "read"}', "odd"]
REPLACED = {
    "source": "system", "message": "The history before this step was replaced.",
    "extra": {"context_management": {"type": "compaction", "boundary": "replace"}},
}  # fmt: skip


def ours(**held: Any) -> dict[str, Any]:
    return {"extra": {"ctxsim": held}}


def whole() -> Transcript:
    made = Assembly("t", "invented")
    made.system, made.tools, made.project, made.version = ["Be brief."], TOOLS, "/p", "1.2"
    made.notes.append("a note")
    made.user("Go.")
    made.user("", Part("user", "See.", media=(Media("image", 5),)))
    made.window = 400
    parts = [Part("reasoning", "Hm."), Part("assistant", "I look."), Part("tool_call", '{"q":"mail"}', "search", "c1"),
             Part("tool_call", '{"q": "spam"}', "search", "c1")]  # fmt: skip
    made.response(parts, Usage(40, 9, 30, 4, 3, 0.5, 2, 8), 1_767_225_600.0, "m")
    made.result("2 messages", "c1")
    made.result("none", "c1", media=(Media("image", 7),))
    made.compacted("auto", ["So far."])
    made.beside(Usage(50, 7), 6.0, "n")
    made.response([Part("assistant", "Two"), Part("reasoning", "so"), Part("assistant", ".")], None, 5.25, "n", False)
    made.compacted()
    found = made.transcript()
    second = msgspec.structs.replace(found.calls[1], head=Head("Other.", ("{}",), hidden=6), held=8)
    return msgspec.structs.replace(found, calls=(found.calls[0], second))


DOCUMENT = {
    "schema_version": "ATIF-v1.7",
    "session_id": "t",
    "trajectory_id": "t",
    # One text is no tool at all, and one isn't written as it would be: all stand there to the letter.
    "agent": {"name": "invented", "version": "unknown", "tool_definitions": [{"name": "search"}, {"name": "read"}]}
    | ours(tools=TOOLS),
    "steps": [
        {"step_id": 1, "source": "system", "message": "Be brief."},
        {"step_id": 2, "source": "user", "message": "Go."},
        {"step_id": 3, "source": "user", "message": [{"type": "text", "text": ""}, {"type": "text", "text": "See."}]}
        | ours(media=[[1, "image", 5]]),
        {
            "step_id": 4,
            "source": "agent",
            "timestamp": "2026-01-01T00:00:00+00:00",
            "model_name": "m",
            "message": "I look.",
            "reasoning_content": "Hm.",
            # Two calls may not have one id; arguments are an object.
            "tool_calls": [
                {"tool_call_id": "call_5", "function_name": "search", "arguments": {"q": "mail"}} | ours(id="c1"),
                {"tool_call_id": "call_6", "function_name": "search", "arguments": {"q": "spam"}}
                | ours(text='{"q": "spam"}', id="c1"),
            ],
            "observation": {
                "results": [
                    {"source_call_id": "call_5", "content": "2 messages"},
                    {"source_call_id": "call_6", "content": "none"} | ours(media=[["image", 7]]),
                ]
            },
            "metrics": {
                "prompt_tokens": 40, "completion_tokens": 9, "cached_tokens": 30, "cost_usd": 0.5,
                "extra": {"cache_creation_input_tokens": 4, "reasoning_tokens": 3, "ephemeral_1h_input_tokens": 2,
                          "begun_tokens": 8},
            },
        } | ours(window=400),
        {"step_id": 5} | REPLACED,
        {
            "step_id": 6, "source": "agent", "timestamp": "1970-01-01T00:00:05.250000+00:00", "model_name": "n",
            "message": "Two.", "reasoning_content": "so",
        } | ours(
            parts=[["assistant", 3], ["reasoning", 2], ["assistant", 1]], comparable=False, window=400, held=8,
            system="Other.", tools=["{}"], hidden=6,
        ),
        {"step_id": 7} | REPLACED,
    ],
} | ours(
    format="invented", notes=["a note"], project="/p", agent_version="1.2", version=1,
    beside=[
        {"start": 0, "end": 0, "usage": {"input_tokens": 50, "output_tokens": 7}, "time_s": 6.0, "model": "n",
         "comparable": False},
    ],
    compactions=[{"call": 2, "at": 9, "trigger": "auto", "summary": ["So far."]}, {"call": 3, "at": 12}],
)  # fmt: skip


def documents(*transcripts: Transcript) -> list[Any]:
    return [json.loads(line) for line in b"".join(written(transcripts)).splitlines()]


def test_what_is_written() -> None:
    assert documents(whole()) == [DOCUMENT]


def test_what_is_read_again(tmp_path: Path) -> None:
    (tmp_path / "another.json").write_text(json.dumps(DOCUMENT))
    assert [*read(str(tmp_path / "another.json"))] == [whole()]


def test_one_model_is_the_agents_and_what_nobody_knows_stands_nowhere() -> None:
    made = Assembly("t")
    made.tools = ['{"name":"search"}']
    made.response([Part("assistant", "x")], Usage(3), None, "m")
    made.response([Part("tool_call", "{}", "search", "c1")], None, None, "m")
    made.result("", "c1")
    assert documents(made.transcript()) == [
        {
            "schema_version": "ATIF-v1.7", "session_id": "t", "trajectory_id": "t",
            "agent": {
                "name": "ctxsim", "version": "unknown", "model_name": "m", "tool_definitions": [{"name": "search"}]
            },
            "steps": [
                {"step_id": 1, "source": "agent", "message": "x", "metrics": {"prompt_tokens": 3}},
                {
                    "step_id": 2, "source": "agent", "message": "",
                    "tool_calls": [{"tool_call_id": "c1", "function_name": "search", "arguments": {}}],
                    "observation": {"results": [{"source_call_id": "c1", "content": ""}]},
                },
            ],
        } | ours(head_recorded=False, version=1)
    ]  # fmt: skip


def test_what_cant_be_written() -> None:
    empty = Transcript("t", Head(), (), ())
    assert unwritable(whole()) is unwritable(msgspec.structs.replace(empty, head=Head("s"))) is None
    assert unwritable(empty) == "is empty, and an ATIF trajectory has at least one step"
    carried = msgspec.structs.replace(whole(), carried=1)
    with pytest.raises(InputError, match=r"^t: begins with items of an earlier segment"):
        documents(carried)


def test_two_thoughts_or_two_texts_are_told_apart() -> None:
    made = Assembly("t")
    for kinds in (
        ("reasoning", "reasoning", "assistant"),
        ("reasoning", "assistant", "assistant"),
        ("reasoning", "assistant"),
    ):
        made.response([Part(kind, "ab") for kind in kinds])  # type: ignore[arg-type]
    made.response([Part("assistant", ""), Part("tool_call", "{}", "search", "c1")])
    (found,) = documents(made.transcript())
    assert [step.get("extra") for step in found["steps"]] == [
        ours(parts=[["reasoning", 2], ["reasoning", 2], ["assistant", 2]])["extra"],
        ours(parts=[["reasoning", 2], ["assistant", 2], ["assistant", 2]])["extra"],
        None,
        ours(parts=[["assistant", 0], ["tool_call", 0]])["extra"],
    ]


def test_documents_a_line_with_sub_agents_that_have_no_names(tmp_path: Path) -> None:
    inner = {"agent": {}, "steps": [{"source": "agent", "message": "y"}]}
    outer = {"schema_version": "ATIF-v1.8", "agent": {"model_name": "m"}, "subagent_trajectories": [inner, inner],
             "steps": [{"source": "agent", "message": "x", "metrics": {"prompt_tokens": 3, "extra": {
                 "cache_creation_input_tokens": "many", "reasoning_tokens": 2}}}]}  # fmt: skip
    (tmp_path / "t.jsonl").write_text(f"{json.dumps(outer)}\n{json.dumps(outer)}\ntorn{{\n")
    found = list(read(str(tmp_path / "t.jsonl")))
    assert [one.name.partition("t.jsonl")[2] for one in found] == ["#1", "#1#1", "#1#2", "#2", "#2#1", "#2#2"]
    assert [len(one.notes) for one in found] == [0, 0, 0, 0, 0, 1] and "line 3 skipped" in found[5].notes[0]
    assert (found[0].model, found[0].calls[0].usage) == ("m", Usage(3, None, None, None, 2))
