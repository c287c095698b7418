"""Spans of six instrumentations that watched one served conversation; and what sampling, limits and redaction leave.

`spans/` was captured from opentelemetry-sdk 1.45.2 against `ctxsim serve`, an invented conversation, with addresses
taken out and ids and times made small: `oi` OpenInference (openai 0.1.66, anthropic 3.1.0), `tl` Traceloop 0.62.4,
`v2-old` opentelemetry-instrumentation-openai-v2 2.2b0 with its message events, `v2` 2.4b0 (util-genai 1.1b0) with
OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental and content in spans, in events, or in both of a stream.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from read_back import Json, all_of, called, kinds, only, write

from ctxsim.transcript import Transcript, Usage

SPANS = Path(__file__).parent / "spans"
NAMES = (
    *("oi-chat", "oi-claude", "oi-responses", "tl-chat", "tl-claude"),
    *("v2-old-chat", "v2-span", "v2-events", "v2-stream"),
)


def one(tmp_path: Path, *values: Any) -> Transcript:
    return only(write(tmp_path / "spans.json", *values), "opentelemetry")


def said(transcript: Transcript) -> list[tuple[str, str, str]]:
    # Conventions without argument texts have an object: spaces in it are not known.
    return [
        (item.kind, item.tool, item.text.replace(" ", "") if item.tool else item.text)
        for item in transcript.items
        if item.kind != "tool_result"
    ]


@pytest.mark.parametrize("name", NAMES)
def test_one_conversation_whatever_watched_it(name: str) -> None:
    transcript = only(SPANS / f"{name}.jsonl", "opentelemetry")
    assert transcript.head.system == "Be brief."
    assert said(transcript) == [
        ("user", "", "Any mail?"),
        ("assistant", "", "I look for mail first."),
        ("tool_call", "search", '{"q":"mail"}'),
        ("assistant", "", "Now the second page of it."),
        ("tool_call", "search", '{"q":"page2"}'),
        ("assistant", "", "Two messages in all."),
    ]
    results = [item.text for item in transcript.items if item.kind == "tool_result"]
    assert [text.split()[:2] for text in results] == [["result", number] for number in ("0", "1")] or [
        text.split(":")[0] for text in results
    ] == ["result 0", "result 1"]
    # The endpoint counts what it is sent: more with each call.
    sizes = [call.usage.input_tokens for call in transcript.calls if call.usage]
    assert len(sizes) == 3
    assert sizes == sorted(set(sizes))
    assert [call.usage and call.usage.output_tokens for call in transcript.calls] == [13, 16, 5]
    times = [call.time_s for call in transcript.calls]
    assert None not in times
    assert all(call.comparable for call in transcript.calls)
    assert not any("repeats them" in note for note in transcript.notes)
    restored = "2 response(s) whose text later requests leave out: taken from where they were made"
    assert (restored in transcript.notes) == (name == "v2-old-chat")
    # It tells no tools: the request is larger than what is known of it.
    told = not name.startswith("v2-")
    assert (bool(transcript.head.tools), transcript.head.recorded) == (told, told)
    assert ("the tool definitions are not recorded" in transcript.notes) == (not told)


@pytest.mark.parametrize("name", ["oi-chat", "oi-claude", "oi-responses"])
def test_attributes_tell_what_the_bodies_beside_them_tell(tmp_path: Path, name: str) -> None:
    """OpenInference has each request twice: without the whole bodies, its attributes give the same."""
    export = json.loads((SPANS / f"{name}.jsonl").read_text().splitlines()[0])
    whole = only(SPANS / f"{name}.jsonl", "opentelemetry")
    for scope in export["resourceSpans"][0]["scopeSpans"]:
        for span in scope["spans"]:
            span["attributes"] = [a for a in span["attributes"] if a["key"] not in ("input.value", "output.value")]
    bare = one(tmp_path, export)
    assert said(bare) == said(whole)
    assert bare.head.tools == whole.head.tools
    assert [call.usage and call.usage.input_tokens for call in bare.calls] == [
        call.usage and call.usage.input_tokens for call in whole.calls
    ]


def test_an_agent_inside_an_agent_is_a_child() -> None:
    outer, inner = all_of(SPANS / "oi-sub.jsonl", "opentelemetry")
    assert (outer.parent, inner.parent, inner.name) == (None, outer.name, f"{outer.name}#agent-1")
    assert (outer.head.system, inner.head.system) == ("Be brief.", "Help.")
    assert (len(outer.calls), len(inner.calls)) == (1, 2)


def message(role: str, text: str) -> Json:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def span(number: int, sent: Any, answered: Any = "ok", parent: str | None = None, **attributes: Any) -> Json:
    """One request as the SDK prints it, in the conventions since 1.37."""
    texts = {
        "gen_ai.input.messages": sent if isinstance(sent, str) else json.dumps(sent),
        "gen_ai.output.messages": json.dumps([message("assistant", answered)]),
    }
    return {
        "name": "chat m",
        "context": {"trace_id": "t", "span_id": f"s{number}"},
        "parent_id": parent,
        "start_time": f"2026-01-01T00:00:0{number}Z",
        "attributes": {"gen_ai.operation.name": "chat"} | texts | attributes,
    }


def test_spans_as_the_sdk_prints_them_and_usage_beside_the_cache(tmp_path: Path) -> None:
    ask = [message("user", "Any mail?")]
    counted = {
        "gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 2,
        "gen_ai.usage.cache_read.input_tokens": 30, "gen_ai.response.model": "m",
    }  # fmt: skip
    again = [*ask, message("assistant", "Two."), message("user", "Sure?")]
    transcript = one(tmp_path, span(1, ask, "Two.", **counted), span(2, again, "Yes."))
    assert [item.text for item in transcript.items] == ["Any mail?", "Two.", "Sure?", "Yes."]
    # 10 tokens can't hold 30 that were read from the cache: they stand beside them.
    assert transcript.calls[0].usage == Usage(40, 2, 30)
    assert (transcript.model, transcript.notes) == ("m", ())


def test_a_request_recorded_twice_is_read_where_its_content_is(tmp_path: Path) -> None:
    outer, inner = span(1, [message("user", "Any mail?")], "Two."), span(2, [message("user", "Mail?")], "2.", "s1")
    assert [item.text for item in one(tmp_path, outer, inner).items] == ["Any mail?", "Two."]
    del outer["attributes"]["gen_ai.output.messages"]
    assert [item.text for item in one(tmp_path, outer, inner).items] == ["Mail?", "2."]


def test_of_equal_records_of_a_span_the_last_counts(tmp_path: Path) -> None:
    ask = [message("user", "Any mail?")]
    assert [item.text for item in one(tmp_path, span(1, ask, "One."), span(1, ask, "Two.")).items] == [
        "Any mail?",
        "Two.",
    ]


def test_tool_results_reasoning_and_media_in_parts(tmp_path: Path) -> None:
    call = {"type": "tool_call", "id": "c1", "name": "search", "arguments": {"q": "mail"}}
    sent = [
        message("user", "Go."),
        {"role": "assistant", "parts": [{"type": "reasoning", "content": "Hm."}, call]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "2 messages"}]},
        {"role": "user", "parts": [{"type": "blob", "modality": "image", "content": "AA=="}]},
    ]
    transcript = one(tmp_path, span(1, sent))
    assert kinds(transcript) == [*("user", "reasoning", "tool_call", "tool_result", "user", "assistant")]
    assert transcript.items[4].media[0].kind == "image"


def test_requests_of_two_agents_inside_an_agent_inside_an_agent_are_two_children(tmp_path: Path) -> None:
    def agent(name: str, parent: str | None) -> Json:
        return {"name": name, "context": {"trace_id": "t", "span_id": name}, "parent_id": parent,
                "attributes": {"gen_ai.operation.name": "invoke_agent"}}  # fmt: skip

    agents = [agent("a", None), agent("b", "a"), agent("c", "b"), agent("d", "b")]
    ask = [message("user", "Any mail?")]
    asks = [*ask, message("assistant", "ok"), message("user", "And?")]
    # By its texts alone the second would go on with the first.
    file = write(tmp_path / "spans.jsonl", span(1, ask, parent="c"), span(2, asks, parent="d"), *agents)
    assert len(all_of(file, "opentelemetry")) == 2


def test_what_sampling_limits_and_redaction_leave_is_told(tmp_path: Path) -> None:
    ask = [message("user", "Any mail?")]
    long = ["a" * 100, "b" * 100]
    cut = [message("user", text) for text in long]
    silent = span(3, ask)
    del silent["attributes"]["gen_ai.output.messages"]
    odd = [{"name": "x", "attributes": [5]}]
    tool = {"name": "t", "context": {"trace_id": "t", "span_id": "x"}, "attributes": {}, "events": odd}
    transcript = one(
        tmp_path,
        span(1, cut, "__REDACTED__", parent="gone"),
        span(2, '[{"role": "user", "parts"'),
        silent,
        tool,
    )
    assert transcript.notes == (
        "1 span(s) that are no request to a model left out",
        "1 request(s) without recorded content left out: capture of messages is off, or no response came",
        "1 attribute(s) of messages that are cut, no complete JSON: their requests left out",
        "1 text(s) redacted before export: counts are of what stands for them",
        "1 span(s) whose parent is missing: sampled away, or exported elsewhere",
        "2 different texts are 100 characters long and none is longer: cut by a limit on attributes?",
    )


def test_lost_attributes_of_otlp_are_told(tmp_path: Path) -> None:
    export = json.loads((SPANS / "tl-chat.jsonl").read_text().splitlines()[0])
    export["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["droppedAttributesCount"] = 3
    assert one(tmp_path, export).notes[-1].startswith("3 attribute(s) or event(s) lost at the SDK's limits")


def test_traceloops_older_attributes(tmp_path: Path) -> None:
    value = span(1, [])
    value["attributes"] = {
        "llm.request.type": "chat",
        "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "Any mail?",
        "gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.finish_reason": "tool_calls",
        "gen_ai.completion.0.tool_calls.0.id": "c1", "gen_ai.completion.0.tool_calls.0.name": "search",
        "gen_ai.completion.0.tool_calls.0.arguments": "{}",
        "llm.request.functions.0.name": "search", "gen_ai.usage.prompt_tokens": 40,
    }  # fmt: skip
    transcript = one(tmp_path, value)
    assert called(transcript) == [
        ("user", "", "Any mail?"), ("tool_call", "search", "{}"),
    ]  # fmt: skip
    assert transcript.head.tools == ('{"name":"search"}',)
    assert transcript.calls[0].usage == Usage(40)
    # Spans of the Responses API state no type.
    del value["attributes"]["llm.request.type"]
    assert one(tmp_path, value) == transcript


def test_a_file_without_any_request_to_a_model(tmp_path: Path) -> None:
    assert one(tmp_path, {"resourceSpans": []}).notes == ("no response of the model is recorded",)


@pytest.mark.parametrize("number", [10**400, "1" + "0" * 400, float("inf")], ids=["integer", "text", "infinite"])
def test_numbers_beyond_all_that_can_be_are_noted_or_none(tmp_path: Path, number: Any) -> None:
    answer = {"stringValue": json.dumps([message("assistant", "Two.")])}
    told = {"gen_ai.operation.name": {"stringValue": "chat"}, "gen_ai.output.messages": answer}
    attributes = [{"key": name, "value": value} for name, value in (told | {"x": {"intValue": number}}).items()]
    span = {"traceId": "t", "spanId": "s", "startTimeUnixNano": number, "attributes": attributes}
    transcript = one(tmp_path, {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]})
    assert [call.time_s for call in transcript.calls] == [None]
    assert transcript.notes == ("1 x time that can't be: taken as not recorded",)


def test_an_answer_is_the_models_whatever_role_it_has(tmp_path: Path) -> None:
    attributes = {"openinference.span.kind": "LLM", "llm.output_messages.0.message.role": "user",
                  "llm.output_messages.0.message.content": "Two."}  # fmt: skip
    span = {"name": "x", "context": {"trace_id": "t", "span_id": "s"}, "parent_id": None, "attributes": attributes}
    assert said(one(tmp_path, span)) == [("assistant", "", "Two.")]
