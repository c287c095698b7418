"""How requests were served, by what the bodies of each API and the logs of each agent state; and the server's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from read_back import Json, only, write

from ctxsim.readers import read
from ctxsim.readers.assembly.numbers import as_served, summed
from ctxsim.readers.assembly.requests.bodies import Api, answer
from ctxsim.readers.assembly.spans.messages import usage as usage_of_span
from ctxsim.readers.formats.atif.written import written
from ctxsim.readers.formats.ctxsim_jsonl import lines
from ctxsim.transcript import Call, Transcript, Usage

COUNTED = {"input_tokens": 9, "output_tokens": 2}
SAID = [{"type": "text", "text": "Yes."}]
ASKS = {"model": "claude-x", "messages": [{"role": "user", "content": "Go."}]}


def messages(**usage: Any) -> Json:
    return {"model": "claude-x", "content": SAID, "usage": COUNTED | usage}


def responses(**fields: Any) -> Json:
    return {"model": "gpt-x", "output": [], "usage": COUNTED} | fields


def chat(**fields: Any) -> Json:
    counted = {"prompt_tokens": 9, "completion_tokens": 2}
    return {"model": "gpt-x", "choices": [{"message": {"content": "Yes."}}], "usage": counted} | fields


def gemini(**usage: Any) -> Json:
    counted = {"promptTokenCount": 9, "candidatesTokenCount": 2, "thoughtsTokenCount": 0}
    return {"candidates": [{"content": {"parts": [{"text": "Yes."}]}}], "usageMetadata": counted | usage}


@pytest.mark.parametrize(("api", "body", "served", "searches"), [
    ("messages", messages(speed="fast", service_tier="standard", inference_geo="global"), "fast", None),
    ("messages", messages(speed="fast", service_tier="batch", inference_geo="us"), "fast batch us", None),
    ("messages", messages(service_tier="priority", inference_geo="not_available", speed=None), "priority", None),
    # What isn't one word says nothing.
    ("messages", messages(speed="[trimmed]", service_tier="two words", inference_geo=7), "", None),
    ("messages", messages(server_tool_use={"web_search_requests": 3, "web_fetch_requests": 5}), "", 3),
    ("messages", messages(server_tool_use={"web_search_requests": 0}), "", None),
    ("messages", messages(server_tool_use=None), "", None),
    ("responses", responses(service_tier="flex", tool_usage={"web_search": {"num_requests": 2}}), "flex", 2),
    ("responses", responses(service_tier="default", tool_usage={"image_gen": {}}), "", None),
    ("responses", responses(service_tier="auto"), "", None),
    ("chat", chat(service_tier="Priority"), "priority", None), ("chat", chat(service_tier=None), "", None),
    # LiteLLM passes on what Anthropic states.
    ("chat", chat(service_tier="batch", usage={"prompt_tokens": 9, "speed": "fast", "inference_geo": "us",
                                               "server_tool_use": {"web_search_requests": 1}}), "fast us batch", 1),
    ("gemini", gemini(serviceTier="FLEX"), "flex", None),
    ("gemini", gemini(trafficType="ON_DEMAND_PRIORITY"), "priority", None),
    ("gemini", gemini(serviceTier="STANDARD", trafficType="ON_DEMAND"), "", None),
    ("gemini", gemini(trafficType="PROVISIONED_THROUGHPUT"), "provisioned_throughput", None),
])  # fmt: skip
def test_a_body_states_how_it_was_served(api: Api, body: Json, served: str, searches: int | None) -> None:
    usage = answer(api, body, "here").usage
    assert usage and (usage.input_tokens, usage.served, usage.web_searches) == (9, served, searches)


ITERATIONS: Json = {
    "input_tokens": 3, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 120, "output_tokens": 13,
    "speed": "fast", "server_tool_use": {"web_search_requests": 1},
    "iterations": [
        {"type": "compaction", "input_tokens": 900, "output_tokens": 40},
        {"type": "message", "input_tokens": 1, "cache_read_input_tokens": 100, "output_tokens": 5},
        {"type": "advisor_message", "input_tokens": 150, "output_tokens": 70, "model": "claude-y"},
        {"type": "message", "input_tokens": 2, "cache_read_input_tokens": 20, "output_tokens": 8},
    ],
}  # fmt: skip
FAST = [(101, 5, "fast", 1)]
INSIDE = [("claude-x", 900, 40, "fast", 1), ("claude-y", 150, 70, "", 0), ("claude-x", 22, 8, "fast", 0)]


def of_calls(calls: tuple[Call, ...]) -> list[tuple[int, int | None, str, int | None]]:
    usages = [call.usage or Usage(0) for call in calls]
    return [(one.input_tokens, one.output_tokens, one.served, one.web_searches) for one in usages]


def of_beside(found: Transcript) -> list[tuple[str, int, int | None, str, int]]:
    told = [(call, call.usage or Usage(0)) for call in found.beside]
    return [(call.model, one.input_tokens, one.output_tokens, one.served, call.end) for call, one in told]


def test_requests_that_the_server_made_inside_a_logged_one_are_paid_beside_it(tmp_path: Path) -> None:
    pair = {"request": ASKS, "response": messages(**ITERATIONS)}
    found = only(write(tmp_path / "log.jsonl", pair), "request-log")
    assert (of_calls(found.calls), of_beside(found)) == (FAST, INSIDE)
    # A conversation that went on without it paid for it too.
    others = {"request": ASKS, "response": messages()}
    again = only(write(tmp_path / "log.jsonl", pair, others), "request-log")
    assert of_calls(again.calls) == [(9, 2, "", None)]
    assert [one[:4] for one in of_beside(again)] == [("claude-x", *FAST[0][:3]), *(one[:4] for one in INSIDE)]


def test_dollars_that_a_trace_states_are_those_of_the_servers_requests_too(tmp_path: Path) -> None:
    row = {"request_id": "r1", "request_created_at": "2026-01-01T12:00:00Z", "cost": 0.5,
           "request_body": ASKS, "response_body": messages(**ITERATIONS)}  # fmt: skip
    found = only(write(tmp_path / "rows.jsonl", row), "helicone")
    assert [call.usage and call.usage.cost_usd for call in (*found.calls, *found.beside)] == [0.5, 0.0, 0.0, 0.0]
    assert (of_calls(found.calls), of_beside(found)) == (FAST, INSIDE)


def test_a_rollout_states_the_tier_of_what_follows(tmp_path: Path) -> None:
    def settings(**held: Any) -> Json:
        return event("thread_settings_applied", thread_settings={"model": "gpt-x", **held})

    def event(kind: str, **fields: Any) -> Json:
        return {"type": "event_msg", "payload": {"type": kind, **fields}}

    def response(total: int) -> list[Json]:
        said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Yes."}]}
        asked = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go."}]}
        info = {"total_token_usage": {"input_tokens": total}, "last_token_usage": COUNTED}
        return [*({"type": "response_item", "payload": one} for one in (asked, said)), event("token_count", info=info)]

    start = [{"type": "session_meta", "payload": {"id": "s"}}, {"type": "turn_context", "payload": {"model": "gpt-x"}}]
    rollout = [*start, *response(9), settings(service_tier="priority"), *response(18), *response(27), settings(),
               *response(36), settings(service_tier="fast"), *response(45), settings(service_tier="default"),
               *response(54)]  # fmt: skip
    found = only(write(tmp_path / "rollout-1.jsonl", *rollout), "codex-rollout")
    assert [call.served for call in found.calls] == ["", "priority", "priority", "", "fast", ""]
    assert {call.model for call in found.calls} == {"gpt-x"}


def test_langchain_keeps_what_openai_states_beside_and_anthropic_in_the_usage(tmp_path: Path) -> None:
    def said(**metadata: Any) -> Json:
        counted = {"usage_metadata": COUNTED | {"total_tokens": 11}, "response_metadata": metadata}
        return {"type": "ai", "data": {"content": "Yes.", **counted}}

    asked = {"type": "human", "data": {"content": "Go."}}
    own = COUNTED | {"service_tier": "batch", "server_tool_use": {"web_search_requests": 2}}
    found = only(write(tmp_path / "m.json", [asked, said(service_tier="flex"), asked, said(usage=own), asked, said(),
                                             asked, said(usage="none")]), "langchain")  # fmt: skip
    assert of_calls(found.calls) == [(9, 2, "flex", None), (9, 2, "batch", 2), (9, 2, "", None), (9, 2, "", None)]


def test_a_run_of_langsmith_has_the_body_that_states_it(tmp_path: Path) -> None:
    counted = {"usage_metadata": {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12}}
    run = {"run_type": "llm", "id": "r", "trace_id": "t", "inputs": ASKS, "start_time": "2026-01-01T12:00:00"}
    flex = run | {"inputs": ASKS | {"model": "gpt-x"}, "outputs": chat(service_tier="flex") | counted}
    found = only(write(tmp_path / "flex.json", [flex]), "langchain")
    assert of_calls(found.calls) == [(10, 2, "flex", None)], "its tokens are LangChain's"
    body = {"message": messages(**ITERATIONS) | counted}
    found = only(write(tmp_path / "inside.json", [run | {"outputs": body}]), "langchain")
    assert (of_calls(found.calls), of_beside(found)) == (FAST, INSIDE)


def test_agents_that_keep_the_response_state_its_tier(tmp_path: Path) -> None:
    asked = {"role": "user", "content": "Go."}
    extra = {"response": chat(service_tier="flex"), "timestamp": 1.0}
    document = {"info": {}, "trajectory_format": "mini-swe-agent-1.1",
                "messages": [asked, {"role": "assistant", "content": "Yes.", "extra": extra}]}  # fmt: skip
    found = only(write(tmp_path / "a.traj.json", document), "mini-swe-agent")
    assert of_calls(found.calls) == [(9, 2, "flex", None)]
    event = {"event": "model", "model": "openai/m", "timestamp": "2025-01-01T12:00:00+00:00", "tools": [],
             "input": [asked], "call": {"request": {}, "response": responses(service_tier="priority")},
             "output": {"model": "m", "choices": [{"message": {"role": "assistant", "content": "Yes."}}],
                        "usage": {"input_tokens": 9, "output_tokens": 2, "total_tokens": 11}}}  # fmt: skip
    sample = {"id": 1, "epoch": 1, "input": "Go.", "messages": [], "attachments": {}, "events": [event]}
    log = {"version": 2, "status": "success", "eval": {"task": "t"}, "samples": [sample]}
    (found,) = read(str(write(tmp_path / "log.json", log)))
    assert (found.format, of_calls(found.calls)) == ("inspect-ai", [(9, 2, "priority", None)])


@pytest.mark.parametrize("name", ["openai.response.service_tier", "gen_ai.openai.response.service_tier"])
def test_a_span_states_its_tier(name: str) -> None:
    found = usage_of_span({"gen_ai.usage.input_tokens": 9, name: "flex"})
    assert found == Usage(9, served="flex")


def test_formats_of_ours_and_of_others_hold_it(tmp_path: Path) -> None:
    pair = {"request": ASKS, "response": messages(speed="fast", inference_geo="us", server_tool_use={
        "web_search_requests": 2})}  # fmt: skip
    made = only(write(tmp_path / "log.jsonl", pair), "request-log")
    for name, data in (("own.jsonl", b"\n".join(lines(made))), ("atif.json", b"".join(written([made])))):
        (tmp_path / name).write_bytes(data)
        (found,) = read(str(tmp_path / name))
        assert of_calls(found.calls) == [(9, 2, "fast us", 2)]


def test_sums_and_shares_of_usage_say_nothing_of_it() -> None:
    one = as_served(Usage(9, 2), "fast", "fast", None, searches=3)
    assert one == Usage(9, 2, served="fast", web_searches=3) and Call(0, 1, one).served == "fast"
    assert Call(0, 1).served == ""
    assert summed([("m", one), ("m", Usage(1))]) == {"m": Usage(10, 2, web_searches=3)}
    assert one.reported(0.5) == Usage(4, 1)
