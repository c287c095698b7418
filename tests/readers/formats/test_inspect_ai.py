"""Inspect logs: documents and archives, attachments and pools, threads, compaction, and the package itself."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
import read_back
from read_back import Json, kinds, said, write

from ctxsim.errors import InputError
from ctxsim.readers import read
from ctxsim.transcript import NO_RESULT, Media, Transcript, Usage

SYSTEM = {"role": "system", "content": "Be brief."}
USER = {"role": "user", "content": "Any mail?", "source": "input"}
FINAL = {"role": "assistant", "content": "Two.", "source": "generate"}
TOOLS = [{"name": "search", "description": "attachment://d1", "parameters": {"type": "object"}}]


def asks(call_id: str, **arguments: Any) -> Json:
    call = {"id": call_id, "function": "search", "arguments": arguments, "type": "function"}
    return {"role": "assistant", "content": "", "source": "generate", "tool_calls": [call]}


def result(call_id: str, content: Any, error: str | None = None) -> Json:
    made = {"role": "tool", "content": content, "tool_call_id": call_id, "function": "search"}
    return made | ({"error": {"type": "unknown", "message": error}} if error else {})


def model(messages: list[Json], reply: Json, tokens: Json | None = None, **fields: Any) -> Json:
    output = {"model": "m-1", "choices": [{"message": reply, "stop_reason": "stop"}], "usage": tokens}
    event = {"event": "model", "model": "openai/m", "timestamp": "2025-01-01T12:00:00+00:00", "output": output}
    return event | {"input": messages, "tools": [], "completed": "2025-01-01T12:00:09+00:00"} | fields


def used(prompt: int, output: int, **parts: int) -> Json:
    return {
        "input_tokens": prompt - sum(parts.values()),
        "output_tokens": output,
        "total_tokens": prompt + output,
        **parts,
    }


def sample(*events: Json, **fields: Any) -> Json:
    made = {"id": 1, "epoch": 1, "input": "Any mail?", "messages": [], "attachments": {}, "events": list(events)}
    return made | fields


def log(*samples: Json, **fields: Any) -> Json:
    return {"version": 2, "status": "success", "eval": {"task": "mail"}, "samples": list(samples)} | fields


def all_of(tmp_path: Path, document: Json) -> list[Transcript]:
    return read_back.all_of(write(tmp_path / "log.json", document), "inspect-ai")


def one(tmp_path: Path, *events: Json, **fields: Any) -> Transcript:
    (transcript,) = all_of(tmp_path, log(sample(*events, **fields)))
    return transcript


def test_requests_with_attachments_and_usage(tmp_path: Path) -> None:
    first = [SYSTEM | {"content": "attachment://a1"}, USER]
    second = [*first, asks("c1", q="mail"), result("c1", "attachment://a2")]
    transcript = one(
        tmp_path,
        model(first, asks("c1", q="mail"), used(100, 7, input_tokens_cache_read=60), tools=TOOLS),
        {"event": "tool", "id": "c1", "function": "search", "arguments": {}, "result": "2 messages", "events": []},
        model(second, FINAL, used(120, 2), tools=TOOLS),
        attachments={"a1": "Be brief.", "a2": "2 messages", "d1": "Searches."},
    )
    assert transcript.name.endswith("log.json#1_epoch_1")
    assert transcript.head.system == "Be brief."
    assert transcript.head.tools == ('{"name":"search","description":"Searches.","parameters":{"type":"object"}}',)
    assert said(transcript) == [
        ("user", "Any mail?"),
        ("tool_call", '{"q":"mail"}'),
        ("tool_result", "2 messages"),
        ("assistant", "Two."),
    ]
    # total - output = the whole prompt, whatever `input_tokens` leaves out
    assert [call.usage for call in transcript.calls] == [Usage(100, 7, 60), Usage(120, 2)]
    assert [call.time_s for call in transcript.calls] == [1735732800.0] * 2
    assert transcript.model == "m-1"
    assert transcript.notes == ()


def test_pooled_messages(tmp_path: Path) -> None:
    pool = [USER, asks("c1"), result("c1", "2 messages"), USER | {"content": "And now?"}]
    # The last request skips nothing: two ranges, [0, 3) and [3, 4).
    events = [model([], asks("c1"), input_refs=[[0, 1]]), model([], FINAL, input_refs=[[0, 3], [3, 4]])]
    for place in ({"message_pool": pool}, {"events_data": {"messages": pool, "calls": []}}):
        found = one(tmp_path, *events, **place)
        assert kinds(found) == ["user", "tool_call", "tool_result", "user", "assistant"]


def test_exact_tools_of_the_request_and_an_error_in_place_of_the_content(tmp_path: Path) -> None:
    request = {"request": {"tools": [{"type": "function", "function": {"name": "search"}}], "messages": []}}
    history = [USER, asks("c1"), result("c1", "half of it", "it broke")]
    transcript = one(
        tmp_path, model([USER], asks("c1"), call=request, tools=TOOLS), model(history, FINAL, call=request, tools=TOOLS)
    )
    assert transcript.head.tools == ('{"type":"function","function":{"name":"search"}}',)
    assert transcript.items[2].text == "it broke"


def test_reasoning_images_and_redacted_reasoning(tmp_path: Path) -> None:
    image = [
        {"type": "text", "text": "What is this?"},
        {"type": "image", "image": "data:image/png;base64," + "A" * 9000},
    ]
    plain = {
        "role": "assistant",
        "content": [{"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": "A cat."}],
    }
    # Without its reasoning it is still the same message.
    history = [USER | {"content": image}, {"role": "assistant", "content": "A cat."}, USER]
    hidden = {"role": "assistant", "content": [{"type": "reasoning", "reasoning": "gAAA", "redacted": True}]}
    transcript = one(
        tmp_path,
        model(history[:1], plain),
        model(history, hidden, used(50, 40, reasoning_tokens=30), model="anthropic/m"),
    )
    assert said(transcript) == [
        ("user", "What is this?"),
        ("reasoning", "Hm."),
        ("assistant", "A cat."),
        ("user", "Any mail?"),
        ("reasoning", ""),
    ]
    assert transcript.items[0].media == (Media("image", 765),)
    assert transcript.items[4].media == (Media("encrypted_reasoning", 30),)


def test_sub_agents_and_scorers_by_their_spans(tmp_path: Path) -> None:
    def span(identity: str, kind: str, name: str, parent: str | None = None) -> Json:
        return {"event": "span_begin", "id": identity, "type": kind, "name": name, "parent_id": parent}

    sub = [SYSTEM | {"content": "You help."}, USER | {"content": "Look in b."}]
    transcripts = all_of(
        tmp_path,
        log(
            sample(
                span("a", "agent", "lead"),
                model([SYSTEM, USER], asks("c1"), used(10, 1), span_id="a"),
                span("t", "tool", "helper", "a"),
                span("h", "agent", "helper", "t"),
                model(sub, asks("s1"), used(20, 1), span_id="h"),
                model([*sub, asks("s1"), result("s1", "b seen")], FINAL, used(30, 1), span_id="h"),
                model([SYSTEM, USER, asks("c1"), result("c1", "helped")], FINAL, used(40, 1), span_id="a"),
                span("g", "scorer", "grader"),
                model([USER | {"content": "Grade it."}], FINAL, used(50, 1), span_id="g"),
                {"event": "score"},
                {"event": "telepathy"},
            )
        ),
    )
    main, helper = transcripts
    assert [call.usage.input_tokens for call in main.calls if call.usage] == [10, 40]
    assert [call.usage.input_tokens for call in helper.calls if call.usage] == [20, 30]
    assert helper.parent == main.name
    assert helper.name == f"{main.name}:helper-1"
    assert helper.head.system == "You help."
    assert main.notes == ("left out: 1 x model call of a scorer, 1 x telepathy",)


def test_older_logs_keep_events_in_a_transcript_and_nest_them(tmp_path: Path) -> None:
    nested = model([USER | {"content": "tc://x"}], FINAL)
    tool = {"event": "tool", "id": "c1", "function": "helper", "events": [nested]}
    score = [
        {"event": "step", "action": "begin", "type": "scorer", "name": "s"},
        model([USER | {"content": "Grade."}], FINAL),
    ]
    end = {"event": "step", "action": "end", "type": "scorer", "name": "s"}
    events = [model([USER], asks("c1")), tool, model([USER, asks("c1"), result("c1", "ok")], FINAL), *score, end]
    value = sample(transcript={"events": events, "content": {"x": "Look in b."}})
    del value["events"], value["attachments"]
    main, helper = all_of(tmp_path, log(value))
    assert kinds(main) == ["user", "tool_call", "tool_result", "assistant"]
    assert said(helper)[0] == ("user", "Look in b.")
    assert helper.name.endswith(":helper-1")
    assert main.notes == ("left out: 1 x model call of a scorer",)


def test_a_compaction_by_a_summary_keeps_the_whole_history(tmp_path: Path) -> None:
    summary = {"role": "user", "content": "Summary so far: one room seen.", "metadata": {"summary": True}}
    ask = {"role": "user", "content": "Summarize."}
    history = [SYSTEM, USER, asks("c1"), result("c1", "a long text")]
    transcript = one(
        tmp_path,
        model([SYSTEM, USER], asks("c1"), used(10, 1)),
        model([*history, ask], {"role": "assistant", "content": "one room seen."}, used(99, 9)),
        {"event": "compaction", "type": "summary", "tokens_before": 90},
        model([SYSTEM, USER, summary], asks("c2"), used(20, 1)),
        model([SYSTEM, USER, summary, asks("c2"), result("c2", "short")], FINAL, used(30, 1)),
    )
    assert said(transcript) == [
        ("user", "Any mail?"),
        ("tool_call", "{}"),
        ("tool_result", "a long text"),
        ("tool_call", "{}"),
        ("tool_result", "short"),
        ("assistant", "Two."),
    ]
    assert [call.comparable for call in transcript.calls] == [True, False, False]
    # The request for the summary stands after the two texts and the call that it read.
    assert [(made.start, made.usage) for made in transcript.beside] == [(3, Usage(99, 9))]
    assert transcript.notes == (
        "recorded compaction before call 2 (auto, summary, 90 tokens)",
        "left out: 1 x request for a summary",
    )


def test_cleared_results_keep_their_text_and_end_comparability(tmp_path: Path) -> None:
    old, cleared = result("c1", "a long text"), result("c1", "(removed)")
    transcript = one(
        tmp_path,
        model([USER], asks("c1")),
        model([USER, asks("c1"), old], asks("c2")),
        model([USER, asks("c1"), cleared, asks("c2"), result("c2", "x")], FINAL),
    )
    assert [item.text for item in transcript.items if item.kind == "tool_result"] == ["a long text", "x"]
    assert [call.comparable for call in transcript.calls] == [True, True, False]
    assert transcript.notes == ("unrecorded change of the history before call 3",)


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    transcript = one(
        tmp_path,
        model([USER], FINAL, error="429"),
        model([USER], FINAL, pending=True),
        model([USER], {"role": "assistant", "content": "Three."}, used(30, 4) | {"total_cost": 0.5}),
        model([USER], FINAL, tools=TOOLS),
        model([USER, FINAL, USER], FINAL, tools=[]),
    )
    assert len(transcript.calls) == 2
    assert [made.usage for made in transcript.beside] == [Usage(30, 4, cost_usd=0.5)]
    assert transcript.notes == (
        "the tool definitions change during the run: those of the first request are kept",
        "left out: 2 x model call that failed or was cut off, 1 x response that no later request holds",
    )


def test_what_came_from_the_harness_s_cache_is_said_but_was_not_sent(tmp_path: Path) -> None:
    asked, answer = [USER], asks("c1", q="mail")
    later = [USER, answer, result("c1", "2 messages")]
    transcript = one(tmp_path, model(asked, answer, used(100, 7), cache="read"), model(later, FINAL, used(120, 2)))
    assert kinds(transcript) == ["user", "tool_call", "tool_result", "assistant"]
    assert [call.usage for call in transcript.calls] == [None, Usage(120, 2)]
    assert transcript.notes == ("1 response(s) came from the harness's own cache, with no request: no usage",)


def test_responses_that_came_with_the_first_request(tmp_path: Path) -> None:
    shots = [USER, {"role": "assistant", "content": "None."}, USER, SYSTEM]
    transcript = one(tmp_path, model(shots, FINAL, used(30, 1)))
    assert [(call.usage, call.comparable) for call in transcript.calls] == [(None, False), (Usage(30, 1), True)]
    assert transcript.notes == (
        "1 response(s) came with a request, made by no request of this thread: no usage",
        "1 system message(s) in mid-conversation kept as user text",
    )


def test_without_model_events_the_final_messages_are_read(tmp_path: Path) -> None:
    messages = [SYSTEM, USER, asks("c1"), FINAL, result("c9", "orphan")]
    transcript = one(tmp_path, messages=messages)
    assert kinds(transcript) == ["user", "tool_call", "tool_result", "assistant"]
    assert transcript.items[2].text == NO_RESULT
    assert transcript.notes[0].startswith("no usable model events")
    assert transcript.notes[-1] == "1 result(s) without a call left out"


def test_a_log_without_samples(tmp_path: Path) -> None:
    (transcript,) = all_of(tmp_path, log())
    assert transcript.calls == ()
    assert transcript.notes[0] == "the log has no samples: its run was not finished, or it is a header alone"


def test_archives_with_whole_and_with_chunked_samples(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    events = [model([], asks("c1"), input_refs=[[0, 1]]), model([], FINAL, input_refs=[[0, 3]])]
    pool = [USER, asks("c1"), result("c1", "attachment://1")]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps({"version": 2}))
        archive.writestr("summaries.json", "[]")
        archive.writestr("samples/2_epoch_1.json", json.dumps(sample(model([USER], FINAL), id=2)))
        folder = "samples/1_epoch_1"
        archive.writestr(f"{folder}/sample.json", json.dumps({"id": 1, "epoch": 1, "input": "x"}))
        # Named by their first index: 10 comes after 2.
        for start, event in (("0", events[:1]), ("2", [{"event": "state"}]), ("10", events[1:])):
            archive.writestr(f"{folder}/events/{start}.json", json.dumps(event))
        archive.writestr(f"{folder}/events/stats.json", "{}")
        archive.writestr(f"{folder}/messages/0.json", json.dumps(pool))
        archive.writestr(f"{folder}/attachments/0.json", json.dumps(["unused", "2 messages"]))
    chunked, whole = read_back.all_of(path, "inspect-ai")
    assert [chunked.name, whole.name] == [f"{path}#1_epoch_1", f"{path}#2_epoch_1"]
    assert said(chunked) == [
        ("user", "Any mail?"),
        ("tool_call", "{}"),
        ("tool_result", "2 messages"),
        ("assistant", "Two."),
    ]


def test_a_damaged_member_says_which(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", "{}")
        archive.writestr("samples/1_epoch_1.json", '{"id": 1, ')
    with pytest.raises(InputError, match=r"log.eval!samples/1_epoch_1.json: is not complete JSON"):
        list(read(str(path)))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_same_requests_as_the_package_reads(tmp_path: Path) -> None:
    """An agent with a sub-agent, run by the package on a mock model: equal requests, tools and usage, call by call."""
    pytest.importorskip("inspect_ai")
    from inspect_ai import Task, eval
    from inspect_ai.agent import as_tool, react
    from inspect_ai.dataset import Sample
    from inspect_ai.log import read_eval_log
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.tool import tool

    @tool
    def look() -> Any:
        async def execute(where: str) -> str:
            """Look somewhere.

            Args:
                where: Place.
            """
            return f"saw {where} " * 50

        return execute

    outputs = [("look", {"where": "a"}), ("helper", {"input": "Look in b."}), ("look", {"where": "b"})]
    outputs += [("submit", {"answer": "b"}), ("submit", {"answer": "done"})]
    made = [ModelOutput.for_tool_call("mockllm/model", name, arguments) for name, arguments in outputs]
    for number, output in enumerate(made):
        output.usage = ModelUsage(input_tokens=100 * number + 1, output_tokens=9, total_tokens=100 * number + 10)
    helper = react(name="helper", description="Helps.", prompt="You help.", tools=[look()])
    task = Task(
        dataset=[Sample(input="Find the key.")], solver=react(prompt="You lead.", tools=[as_tool(helper), look()])
    )
    for form in ("eval", "json"):
        folder = tmp_path / form
        run = eval(
            task,
            model=get_model("mockllm/model", custom_outputs=made),
            log_dir=str(folder),
            log_format=form,
            display="none",
        )
        assert run[0].status == "success"
        (path,) = folder.iterdir()
        upstream = [
            event
            for event in read_eval_log(str(path), resolve_attachments=True).samples[0].events
            if event.event == "model"
        ]
        transcripts = list(read(str(path)))
        assert [len(transcript.calls) for transcript in transcripts] == [3, 2]
        ours = {call.usage.input_tokens: (t, call) for t in transcripts for call in t.calls if call.usage}
        assert len(ours) == len(upstream) == 5
        for event in upstream:
            transcript, call = ours[event.output.usage.input_tokens]
            sent = [
                transcript.head.system,
                *(item.text for item in transcript.items[: call.start] if item.kind != "tool_call"),
            ]
            assert "\n".join(filter(None, sent)) == "\n".join(filter(None, (message.text for message in event.input)))
            calls = [(c.function, c.arguments) for m in event.input if m.role == "assistant" for c in m.tool_calls]
            items = transcript.items[: call.start]
            assert [(i.tool, json.loads(i.text)) for i in items if i.kind == "tool_call"] == calls
            assert [json.loads(tool)["name"] for tool in transcript.head.tools] == [info.name for info in event.tools]


@pytest.mark.parametrize("sent", [[], None, "none"])
def test_where_a_request_tells_no_tools_those_of_the_event_are_its(tmp_path: Path, sent: Any) -> None:
    tools = [{"name": "search"}]
    transcript = one(tmp_path, model([USER], FINAL, tools=tools, call={"request": {"tools": sent, "messages": []}}))
    assert transcript.head.tools == ('{"name":"search"}',)
