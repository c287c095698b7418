"""Conversations of OpenHands' SDK: responses, what is sent of results, condensations, usage by response, dollars."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from read_back import Json, all_of, said, text

from ctxsim.readers.assembly import IMAGE_TOKENS
from ctxsim.transcript import Compaction, Media, Transcript, Usage


def event(kind: str, **fields: Any) -> Json:
    return {"kind": kind, "source": "environment", "timestamp": "2026-11-01T10:00:10"} | fields


def user(of: str, *more: Json) -> Json:
    return event("MessageEvent", source="user", llm_message={"role": "user", "content": [text(of)]},
                 extended_content=list(more))  # fmt: skip


def acts(call_id: str, response: str, *thought: Json, **fields: Any) -> Json:
    call = {"id": call_id, "name": "terminal", "arguments": '{"command": "ls"}', "origin": "completion"}
    return event("ActionEvent", source="agent", thought=list(thought), tool_call=call, tool_call_id=call_id,
                 llm_response_id=response, **fields)  # fmt: skip


def sees(call_id: str, *content: Json, **fields: Any) -> Json:
    return event("ObservationEvent", tool_call_id=call_id, observation={"content": list(content)} | fields)


def says(of: str, response: str, **fields: Any) -> Json:
    made = {"role": "assistant", "content": [text(of)]} | fields
    return event("MessageEvent", source="agent", llm_message=made, llm_response_id=response)


def spent(response: str, prompt: int, read: int = 0) -> Json:
    return {"model": "m", "prompt_tokens": prompt, "completion_tokens": 5, "cache_read_tokens": read,
            "cache_write_tokens": 0, "reasoning_tokens": 0, "response_id": response}  # fmt: skip


def conversation(folder: Path, *events: Json, **metrics: Json) -> Transcript:
    """Return the transcript of a conversation whose events have their numbers as ids."""
    (folder / "abc" / "events").mkdir(parents=True)
    state = {"stats": {"usage_to_metrics": metrics}, "workspace": {"working_dir": "/w"},
             "agent": {"llm": {"max_input_tokens": 9000}}}  # fmt: skip
    (folder / "abc" / "base_state.json").write_text(json.dumps(state))
    for number, one in enumerate(events):
        file = folder / "abc" / "events" / f"event-{number:05}-x.json"
        file.write_text(json.dumps({"id": str(number)} | one))
    (found,) = all_of(folder / "abc", "openhands-sdk")
    return found


def test_responses_with_their_usage_and_results_as_they_are_sent(tmp_path: Path) -> None:
    told = {"exit_code": 1, "working_dir": "/w", "py_interpreter_path": None, "prefix": "", "suffix": "!"}
    image = {"type": "image", "image_urls": ["https://example.org/1.png", "https://example.org/2.png"]}
    found = conversation(
        tmp_path,
        event("SystemPromptEvent", system_prompt=text("Be brief."), dynamic_context=text("Today."), tools=[{"a": 1}]),
        user("Any mail?", text("A skill.")),
        acts("c1", "r1", text("I look."), thinking_blocks=[{"type": "thinking", "thinking": "Where?"}]),
        sees("c1", text("one"), metadata=told, is_error=True),
        acts("c2", "r1"),
        sees("c2", text("two"), image),
        event("PauseEvent"),
        acts("c3", "r2", reasoning_content="Hm."),
        event("AgentErrorEvent", tool_call_id="c3", error="No such tool."),
        says("Two.", "r3", reasoning_content="Yes."),
        agent={"token_usages": [spent("r1", 40), spent("r2", 60, 40), spent("r3", 70)],
               "costs": [{"cost": 0.5}, {"cost": 0.25}, {"cost": 0.125}],
               "response_latencies": [{"response_id": "r1", "latency": 4}]},
    )  # fmt: skip
    assert (found.head.system, found.head.tools, found.project) == ("Be brief.\n\nToday.", ('{"a":1}',), "/w")
    assert said(found) == [
        ("user", "Any mail?\nA skill."), ("reasoning", "Where?"), ("assistant", "I look."),
        ("tool_call", '{"command": "ls"}'), ("tool_call", '{"command": "ls"}'),
        ("tool_result", "[An error occurred during execution.]\n\none!\n[Current working directory: /w]\n"
                        "[Command finished with exit code 1]"),
        ("tool_result", "two"), ("reasoning", "Hm."), ("tool_call", '{"command": "ls"}'),
        ("tool_result", "No such tool."), ("reasoning", "Yes."), ("assistant", "Two."),
    ]  # fmt: skip
    # Two images, each of the size that OpenAI's rule gives to one of unknown size.
    assert found.items[6].media == (Media("image", IMAGE_TOKENS["openai"]),) * 2
    assert [one.usage for one in found.calls] == [
        Usage(40, 5, 0, 0, 0, 0.5), Usage(60, 5, 40, 0, 0, 0.25), Usage(70, 5, 0, 0, 0, 0.125),
    ]  # fmt: skip
    # The first request was sent four seconds before its response was there.
    start = found.calls[1].time_s
    assert start and [(one.time_s, one.model, one.window) for one in found.calls] == [
        (start - 4, "m", 9000), (start, "m", 9000), (start, "m", 9000),
    ]  # fmt: skip
    assert found.notes == ("left out: 1 x PauseEvent",)


def test_a_condensation_forgets_events_and_its_request_is_paid_for(tmp_path: Path) -> None:
    found = conversation(
        tmp_path,
        user("Any mail?"),
        acts("c1", "r1"),
        sees("c1", text("one")),
        acts("c2", "r2"),
        event("UserRejectObservation", tool_call_id="c2", rejection_reason="no"),
        event("Condensation", forgotten_event_ids=["1", "2"], summary="Looked once.", llm_response_id="k"),
        says("One.", "r3"),
        event("CondensationRequest", reason="manual"),
        event("Condensation", forgotten_event_ids=["3", "4"], summary="Looked twice.", llm_response_id="none"),
        says("Two.", "r4"),
        agent={"token_usages": [spent("r1", 40), spent("r2", 60), spent("r3", 50), spent("r4", 55)], "costs": []},
        condenser={"token_usages": [spent("k", 80)], "costs": [{"cost": 0.5}]},
        delegate={"token_usages": [spent("d", 30)]},
    )
    # Items: question 0, call 1, result 2, call 3, refusal 4, answer 5, answer 6.
    assert said(found)[4] == ("tool_result", "Action rejected: no")
    assert found.compactions == (
        Compaction(3, 5, "auto", ("Looked once.",), (0, 3, 4)),
        Compaction(4, 6, "manual", ("Looked twice.",), (0, 5)),
    )
    assert [(one.usage, one.end) for one in found.beside] == [
        (Usage(80, 5, 0, 0, 0, 0.5), 5),
        (Usage(30, 5, 0, 0, 0), 0),
    ]
