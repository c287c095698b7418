"""LangChain messages in three forms, and LangSmith runs: traces, nesting, requests made one after another."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import read_back
from read_back import Json, kinds, said, write

from ctxsim.transcript import Transcript, Usage

CLASSES = {"human": "HumanMessage", "ai": "AIMessage", "system": "SystemMessage", "tool": "ToolMessage"}
ASKS: Json = {
    "content": "",
    "tool_calls": [{"name": "search", "args": {"q": "mail"}, "id": "c1", "type": "tool_call"}],
    "usage_metadata": {
        "input_tokens": 90,
        "output_tokens": 12,
        "total_tokens": 102,
        "input_token_details": {"cache_read": 40},
        "output_token_details": {"reasoning": 8},
    },
    "response_metadata": {"model_name": "m"},
}
FIELDS: list[tuple[str, Json]] = [
    ("system", {"content": "Be brief."}),
    ("human", {"content": "Any mail?"}),
    ("ai", ASKS),
    ("tool", {"content": "2 messages", "tool_call_id": "c1", "name": "search", "status": "success"}),
    ("ai", {"content": "Two."}),
]


def dumped(form: str, kind: str, fields: Json) -> Json:
    common = {"additional_kwargs": {}, "response_metadata": {}, "type": kind, "name": None, "id": None} | fields
    if form == "messages_to_dict":
        return {"type": kind, "data": common}
    if form == "dumpd":
        identity = ["langchain", "schema", "messages", CLASSES[kind]]
        return {"lc": 1, "type": "constructor", "id": identity, "kwargs": fields | {"type": kind}}
    return common


def messages(form: str = "messages_to_dict", count: int | None = None) -> list[Json]:
    return [dumped(form, kind, fields) for kind, fields in FIELDS[:count]]


def all_of(tmp_path: Path, value: Any, name: str = "trace.json") -> list[Transcript]:
    path = write(tmp_path / name, *(value if name.endswith("l") else [value]))
    return read_back.all_of(path, "langchain")


@pytest.mark.parametrize("form", ["messages_to_dict", "dumpd", "model_dump"])
@pytest.mark.parametrize("container", ["list", "object", "jsonl", "lists"])
def test_every_form_in_every_container(form: str, container: str, tmp_path: Path) -> None:
    found = messages(form)
    match container:
        case "list":
            (transcript,) = all_of(tmp_path, found)
        case "object":
            (transcript,) = all_of(tmp_path, {"messages": found, "next": []})
        case "jsonl":
            (transcript,) = all_of(tmp_path, found, "trace.jsonl")
        case _:
            transcript, second = all_of(tmp_path, [found, found], "trace.jsonl")
            assert second.name.endswith("trace.jsonl#2")
    assert transcript.head.system == "Be brief."
    assert said(transcript) == [
        ("user", "Any mail?"),
        ("tool_call", '{"q":"mail"}'),
        ("tool_result", "2 messages"),
        ("assistant", "Two."),
    ]
    # 90 is the whole prompt, 40 of it cached, and 8 of the 12 were reasoning
    assert [call.usage for call in transcript.calls] == [Usage(90, 12, 40, None, 8), None]
    assert transcript.model == "m"
    assert transcript.notes == ()


def test_content_blocks_do_not_repeat_the_calls(tmp_path: Path) -> None:
    blocks = [
        {"type": "thinking", "thinking": "Look.", "signature": "x"},
        {"type": "reasoning", "id": "rs_1", "encrypted_content": "gAAA"},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "c1", "name": "search", "input": {"q": "mail"}},
    ]
    value = [
        dumped("messages_to_dict", "human", {"content": "Go."}),
        dumped("messages_to_dict", "ai", ASKS | {"content": blocks}),
    ]
    (transcript,) = all_of(tmp_path, value)
    assert said(transcript) == [
        ("user", "Go."),
        ("reasoning", "Look."),
        ("reasoning", ""),
        ("assistant", "I look."),
        ("tool_call", '{"q":"mail"}'),
    ]


def test_arguments_as_the_model_wrote_them(tmp_path: Path) -> None:
    written = [{"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"q":  "mail"}'}}]
    broken = [{"name": "clock", "args": '{"zone":', "id": "c2", "error": "invalid"}]
    fields = ASKS | {
        "additional_kwargs": {"tool_calls": written, "reasoning_content": "Hm."},
        "invalid_tool_calls": broken,
    }
    (transcript,) = all_of(tmp_path, [dumped("messages_to_dict", "ai", fields)])
    assert said(transcript) == [("reasoning", "Hm."), ("tool_call", '{"q":  "mail"}'), ("tool_call", '{"zone":')]


def test_chat_roles_removals_and_late_system_messages(tmp_path: Path) -> None:
    value = [
        {"type": "chat", "data": {"content": "Any mail?", "role": "user"}},
        {"type": "AIMessageChunk", "data": {"content": "Two."}},
        {"type": "remove", "data": {"content": "", "id": "x"}},
        {"type": "system", "data": {"content": "Be kind."}},
    ]
    (transcript,) = all_of(tmp_path, value)
    assert said(transcript) == [("user", "Any mail?"), ("assistant", "Two."), ("user", "Be kind.")]
    assert not transcript.head.recorded
    assert transcript.notes == (
        "1 system message(s) in mid-conversation kept as user text",
        "left out: 1 x mark that removes a message",
    )


def run(identity: str, given: list[Json], reply: Json | None, start: str, trace: str = "t1", **fields: Any) -> Json:
    outputs = reply and {"generations": [[{"text": "", "type": "ChatGeneration", "message": reply}]], "llm_output": {}}
    made = {"id": identity, "run_type": "llm", "trace_id": trace, "inputs": {"messages": [given]}, "outputs": outputs}
    tools = {"invocation_params": {"tools": [{"type": "function", "function": {"name": "search"}}]}}
    return made | {"start_time": f"2026-01-01T12:00:{start}", "extra": tools} | fields


def conversation(trace: str = "t1") -> list[Json]:
    found = messages("dumpd")
    late, early = (
        run("r2", found[:4], found[4], "09", trace, prompt_tokens=130, completion_tokens=3, total_cost=0.5),
        # What the message itself states has precedence.
        run("r1", found[:2], found[2], "01", trace, prompt_tokens=91),
    )
    chain = {"id": "r0", "run_type": "chain", "trace_id": trace, "inputs": {}, "outputs": {}}
    return [chain, late, early]


def test_runs_of_a_trace_become_one_transcript(tmp_path: Path) -> None:
    (transcript,) = all_of(tmp_path, conversation())
    assert transcript.name.endswith("trace.json")
    assert kinds(transcript) == ["user", "tool_call", "tool_result", "assistant"]
    assert [call.usage for call in transcript.calls] == [Usage(90, 12, 40, None, 8), Usage(130, 3, cost_usd=0.5)]
    # 2026-01-01 12:00:01 and 12:00:09, taken as UTC
    assert [call.time_s for call in transcript.calls] == [1767268801.0, 1767268809.0]
    assert transcript.head.tools == ('{"type":"function","function":{"name":"search"}}',)
    assert "left out: 1 x chain run" in transcript.notes


def test_traces_in_one_file_and_runs_inside_runs(tmp_path: Path) -> None:
    nested = {"id": "t2", "run_type": "chain", "inputs": {}, "outputs": {}, "child_runs": conversation("other")}
    transcripts = all_of(tmp_path, [*conversation("t1"), nested], "runs.jsonl")
    assert [transcript.name.partition("#")[2] for transcript in transcripts] == ["t1", "t2"]
    assert [len(transcript.calls) for transcript in transcripts] == [2, 2]


@pytest.mark.parametrize("client", ["openai", "anthropic"])
def test_runs_of_wrapped_clients_and_what_they_cost(client: str, tmp_path: Path) -> None:
    counted = {"input_tokens": 40, "output_tokens": 2, "input_token_details": {"cache_read": 30}}
    said_by = {"role": "assistant", "content": "Two."}
    outputs: Json = {"model": "m", "choices": [{"message": said_by}], "usage_metadata": counted}
    if client == "anthropic":
        content = [{"type": "text", "text": "Two."}]
        outputs = {"message": {"model": "m", "role": "assistant", "content": content, "usage_metadata": counted}}
    asked = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Any mail?"}]
    made = run("r1", [], None, "01", inputs={"messages": asked, "model": "m"}, outputs=outputs, total_cost="0.25")
    (transcript,) = all_of(tmp_path, [made])
    assert said(transcript) == [("user", "Any mail?"), ("assistant", "Two.")]
    assert (transcript.head.system, transcript.model) == ("Be brief.", "m")
    assert transcript.calls[0].usage == Usage(40, 2, 30, cost_usd=0.25)


def test_a_run_that_is_there_again_counts_once(tmp_path: Path) -> None:
    found = messages("dumpd")
    inner = run("r1", found[:2], found[2], "01")
    again = run("r0", found[:2], None, "00", child_runs=[inner], run_type="chain")
    (transcript,) = all_of(tmp_path, [again, inner, inner])
    assert len(transcript.calls) == 1 and any("2 x repeated run" in note for note in transcript.notes)
    # It was first exported while it ran.
    (transcript,) = all_of(tmp_path, [inner | {"outputs": None}, inner])
    assert len(transcript.calls) == 1


@pytest.mark.parametrize(("ids", "lengths"), [(True, [4, 2]), (False, [2, 4, 2])])
def test_of_the_states_of_a_conversation_the_last_counts(ids: bool, lengths: list[int], tmp_path: Path) -> None:
    made = messages("model_dump")
    whole = [one | {"id": f"m{n}" if ids else None} for n, one in enumerate(made)]
    other = [one | {"id": f"o{n}" if ids else None} for n, one in enumerate(made[:3])]
    found = all_of(tmp_path, [{"messages": some} for some in (whole[:3], whole, other)], "states.jsonl")
    assert [len(one.items) for one in found] == lengths
    told = [any("1 earlier state(s) of this conversation" in note for note in one.notes) for one in found]
    assert told == [ids, *[False] * (len(found) - 1)]


def test_failed_runs_are_counted(tmp_path: Path) -> None:
    found = messages("dumpd")
    value = [run("r1", found[:2], None, "01", error="429"), run("r2", [], found[2], "02")]
    (transcript,) = all_of(tmp_path, value)
    assert transcript.calls == ()
    assert transcript.notes == (
        "left out: 1 x llm run that failed, 1 x llm run without messages",
        "no response of the model is recorded",
    )


def test_what_the_package_itself_dumps(tmp_path: Path) -> None:
    core = pytest.importorskip("langchain_core.messages")
    from langchain_core.load import dumpd

    made = [
        core.SystemMessage("Be brief."),
        core.HumanMessage("Any mail?"),
        core.AIMessage(**ASKS),
        core.ToolMessage("2 messages", tool_call_id="c1"),
        core.AIMessage("Two."),
    ]
    expected = said(all_of(tmp_path, messages())[0])
    for value in (core.messages_to_dict(made), [dumpd(m) for m in made], [m.model_dump() for m in made]):
        (transcript,) = all_of(tmp_path, value)
        assert said(transcript) == expected
        assert transcript.calls[0].usage == Usage(90, 12, 40, None, 8)


def test_results_are_paired_by_id_by_name_or_in_order(tmp_path: Path) -> None:
    calls = [{"name": name, "args": {}, "id": call_id} for name, call_id in (("a", "c1"), ("b", None), ("c", None))]
    value = [
        dumped("messages_to_dict", "ai", {"content": "", "tool_calls": calls}),
        dumped("messages_to_dict", "tool", {"content": "of c", "name": "c"}),
        dumped("messages_to_dict", "tool", {"content": "of b", "name": "b"}),
        dumped("messages_to_dict", "tool", {"content": "of a", "tool_call_id": "c1"}),
    ]
    (transcript,) = all_of(tmp_path, value)
    assert [(item.text, item.answers) for item in transcript.items[3:]] == [("of c", 2), ("of b", 1), ("of a", 0)]
    assert [(item.tool, item.call_id) for item in transcript.items[:3]] == [("a", "c1"), ("b", ""), ("c", "")]


@pytest.mark.parametrize(("details", "written", "long"), [
    ({"cache_creation": 7}, 7, None), ({"cache_creation": 0}, 0, None), ({}, None, None),
    # Where lifetimes are told, they are what was written.
    ({"cache_creation": 0, "ephemeral_5m_input_tokens": 4, "ephemeral_1h_input_tokens": 3}, 7, 3),
    ({"ephemeral_1h_input_tokens": 3}, 3, 3), ({"ephemeral_5m_input_tokens": 4}, 4, None),
])  # fmt: skip
def test_what_was_written_to_the_cache(tmp_path: Path, details: Json, written: int | None, long: int | None) -> None:
    usage = {"input_tokens": 90, "output_tokens": 2, "input_token_details": details}
    (transcript,) = all_of(tmp_path, [dumped("model_dump", "ai", {"content": "x", "usage_metadata": usage})])
    assert transcript.calls[0].usage == Usage(90, 2, None, written, cache_write_long_tokens=long)


@pytest.mark.parametrize(("metadata", "own", "expected"), [
    # Before LangChain counted itself; what OpenRouter states in two places; what isn't usage at all.
    ({"token_usage": {"prompt_tokens": 50, "completion_tokens": 5, "cost": 0.5}}, None, Usage(50, 5, cost_usd=0.5)),
    ({"token_usage": {"prompt_tokens": 90, "prompt_tokens_details": {"cache_write_tokens": 7}}, "cost": 0.25},
     {"input_tokens": 90, "output_tokens": 2}, Usage(90, 2, None, 7, cost_usd=0.25)),
    ({"token_usage": {"prompt_tokens": "?"}}, None, None), ({"token_usage": {"prompt_tokens": 0}}, None, None),
])  # fmt: skip
def test_usage_that_the_provider_states(tmp_path: Path, metadata: Json, own: Json, expected: Usage | None) -> None:
    fields = {"content": "x", "response_metadata": metadata, "usage_metadata": own}
    (transcript,) = all_of(tmp_path, [dumped("model_dump", "ai", fields)])
    assert transcript.calls[0].usage == expected


def test_reasoning_that_is_no_text_and_content_that_is_none(tmp_path: Path) -> None:
    for extra, kept in (("", []), ([1], []), ("Hm.", [("reasoning", "Hm.")])):
        fields = {"content": "", "additional_kwargs": {"reasoning_content": extra}}
        (transcript,) = all_of(tmp_path, [dumped("messages_to_dict", "ai", fields)])
        assert said(transcript) == kept
    # Blocks of calls stand for calls only where the message has none of its own.
    block = {"type": "tool_use", "id": "c1", "name": "search", "input": {}}
    image = {"type": "image_url", "image_url": {"url": "https://x.example/y.png"}}
    (transcript,) = all_of(tmp_path, [dumped("messages_to_dict", "ai", {"content": [block, "x", image]})])
    written = json.dumps(block, separators=(",", ":"))
    assert said(transcript) == [("assistant", written), ("assistant", "x"), ("assistant", "")]
    assert len(transcript.items[2].media) == 1


def test_requests_are_in_the_order_of_their_times_and_notes_stand_once(tmp_path: Path) -> None:
    first, second = conversation("t1"), conversation("t2")
    del first[2]["start_time"]
    found = all_of(tmp_path, [*first, *second])
    assert [one.notes.count("left out: 2 x chain run") for one in found] == [1, 0]
    # The run without a time is the first.
    assert [call.time_s for call in found[0].calls] == [None, 1767268809.0]
    assert [call.time_s for call in found[1].calls] == [1767268801.0, 1767268809.0]
