"""What each format says of a log that no model answers in, and of a field of a wrong type: where it stands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from read_back import Json, all_of, text, write

from ctxsim.errors import InputError
from ctxsim.readers import read

Wrap = Callable[[list[Any]], Any] | None
"""Makes one document of messages; None: they are lines."""

ASKED = {"role": "user", "content": "Go."}
CONTENT = {"role": "user", "content": 7}
CALLED = {"role": "assistant", "content": "", "tool_calls": 3}
COUNTED = {"usage": {"prompt_tokens": "many"}}
NINE = "2026-01-05T09:00:00Z"


def under(name: str, **fields: Any) -> Wrap:
    return lambda values: fields | {name: values}


def linked(**fields: Any) -> Json:
    return {"type": "user", "uuid": "u", "parentUuid": None, "sessionId": "s", "isSidechain": False} | fields


def rollout(kind: str, **payload: Any) -> Json:
    return {"type": kind, "payload": payload}


def event(kind: str, **data: Any) -> Json:
    return {"type": kind, "data": data, "id": "x", "parentId": None}


def action(name: str, **fields: Any) -> Json:
    return {"id": 1, "source": "user", "action": name, "args": {"content": "Go."}} | fields


def answer(*blocks: Any, **fields: Any) -> Json:
    return {"role": "assistant", "content": list(blocks)} | fields


INPUT = {"role": "user", "content": [{"type": "input_text", "text": "Go."}]}
PI = {"type": "session", "version": 3, "id": "s", "cwd": "/w"}
CALL_OF_PI = {"type": "toolCall", "name": 7}
CODEX = rollout("session_meta", id="s")
COUNT = rollout("event_msg", type="token_count", info={"last_token_usage": {"input_tokens": []}})
GEMINI = {"sessionId": "s", "projectHash": "h", "kind": "main"}
MINI = under("messages", trajectory_format="mini-swe-agent-1.1", info={})
OPENCODE = under("messages", info={"id": "s"})
TAU2 = under("simulations", info={}, tasks=[])
INSPECT = under("samples", version=2, status="success", eval={})
MODEL = {"event": "model", "model": "m", "input": [{"role": "robot"}], "output": {"choices": [{"message": ASKED}]}}
HEAD_OF_DROID = {"type": "session_start", "id": "s"}
HEAD_OF_KIMI = {"type": "metadata", "protocol_version": "1.4"}

LOGS: list[tuple[str, str, Wrap, list[Any], Any, str]] = [
    ("atif", "t.json", under("steps", schema_version="ATIF-v1.7", agent={}), [{"source": "user", "message": "Go."}],
     {"source": "agent", "metrics": {"prompt_tokens": "many"}}, r"t.json step 2: .*int.*metrics.prompt_tokens"),
    ("claude-code", "s.jsonl", None, [linked(message=ASKED)], linked(uuid="v", message=CONTENT),
     r"s.jsonl:2: .*\$.message.content"),
    ("claude-code", "s.jsonl", None, [linked(message=ASKED)],
     linked(uuid="v", type="assistant", message=answer({"type": "text", "text": 7})), r"s.jsonl:2: .*\$.text"),
    ("cline", "s.json", under("messages", version=1, agent="lead", sessionId="s"), [ASKED],
     answer(metrics={"inputTokens": "many"}), r"s.json message 1: .*inputTokens"),
    ("codex-rollout", "r.jsonl", None, [CODEX], rollout("response_item", type="function_call", name=7),
     r"r.jsonl:2: .*\$.name"),
    ("codex-rollout", "r.jsonl", None, [CODEX], rollout("response_item", type="message", role="narrator"),
     "r.jsonl:2: role 'narrator'"),
    ("codex-rollout", "r.jsonl", None, [CODEX], COUNT, "r.jsonl:2: .*input_tok"),
    ("copilot-cli", "e.jsonl", None, [event("session.start"), event("user.message", content="Go.")],
     event("assistant.message", toolRequests={"name": "bash"}), "e.jsonl:3: .*toolRequests"),
    ("cursor", "t.jsonl", None, [{"role": "user", "message": {"content": [text("Go.")]}}],
     {"role": "assistant", "message": {"content": [{"type": "text", "text": 3}]}}, "t.jsonl:2: .*text"),
    ("droid", "s.jsonl", None, [HEAD_OF_DROID],
     {"type": "message", "message": {"role": "robot", "content": []}}, "s.jsonl:2: .*role"),
    ("droid", "s.jsonl", None, [{"type": "message", "role": "user", "text": "Go.", "session_id": "s"}],
     {"type": "tool_call", "toolName": 7, "session_id": "s"}, "s.jsonl:2: .*toolName"),
    ("gemini-cli", "s.json", under("messages", **GEMINI), [{"id": "1", "type": "user", "content": "Go."}],
     {"id": "2", "type": "gemini", "toolCalls": [{"name": 7}]}, r"s.json message 1: .*toolCalls\[0\].name"),
    ("gemini-cli", "s.jsonl", None, [GEMINI], {"id": "2", "type": "gemini", "tokens": []}, "s.jsonl:2: .*tokens"),
    ("gemini-contents", "c.json", list, [{"role": "user", "parts": [{"text": "Go."}]}],
     {"role": "model", "parts": [{"functionCall": "read"}]}, r"c.json content 1: .*\$.functionCall"),
    ("gemini-contents", "c.json", list, [{"role": "user", "parts": [{"text": "Go."}]}],
     {"role": "user", "parts": [7]}, "c.json content 1: a part is 7"),
    ("grok", "c.jsonl", None, [{"type": "system", "content": "Be brief."}, {"type": "user", "prompt_index": 0}],
     {"type": "assistant", "tool_calls": 3}, "c.jsonl:3: .*tool_calls"),
    ("hermes", "s.json", under("messages", session_id="s", platform="cli", session_start="x"), [ASKED], CALLED,
     "s.json message 1: .*tool_calls"),
    ("inspect-ai", "l.json", INSPECT, [], {"id": 1, "events": [{"event": "state"}, MODEL]},
     "l.json sample 0 event 1 message 0: .*role"),
    ("inspect-ai", "l.json", INSPECT, [], {"id": [], "epoch": 1}, r"l.json sample 0: .*`\$.id`"),
    ("kimi", "w.jsonl", None, [HEAD_OF_KIMI, {"type": "context.append_message", "message": ASKED}],
     {"type": "context.append_loop_event", "event": {"type": "step.end", "usage": 3}}, "w.jsonl:3: .*usage"),
    ("langchain", "t.json", list, [{"type": "human", "data": {"content": "Go."}}],
     {"type": "ai", "data": {"content": "x", "usage_metadata": 3}}, "t.json message 1: .*usage_metadata"),
    ("mini-swe-agent", "a.json", MINI, [ASKED], answer(extra={"response": COUNTED}), "message 1: .*prompt_tokens"),
    ("openai-responses", "i.json", under("input"), [INPUT],
     {"type": "function_call", "call_id": 7, "name": "x"}, "i.json item 1: .*call_id"),
    ("opencode", "s.json", OPENCODE, [{"info": {"id": "u", "role": "user"}, "parts": [text("Go.")]}],
     {"info": {"id": "a", "role": "assistant"}, "parts": [{"type": "text", "text": []}]},
     "s.json message 1 part 0: .*text"),
    ("openhands-events", "t.json", list, [action("message")],
     action("run", source="agent", tool_call_metadata={"model_response": COUNTED}), "t.json event 1: .*prompt_tokens"),
    ("pi", "s.jsonl", None, [PI], {"type": "message", "message": answer(usage={"input": "many"})},
     r"s.jsonl:2: .*\$.message.usage.input"),
    ("pi", "s.jsonl", None, [PI], {"type": "message", "message": answer(CALL_OF_PI)}, r"s.jsonl:2: .*\$.name"),
    ("qwen-code", "s.jsonl", None, [linked(message={"parts": [{"text": "Go."}]}) | {"isSidechain": None}],
     linked(uuid="v", parentUuid="u", message={"parts": [{"text": 7}]}), r"s.jsonl:2: .*\$.text"),
    ("request-log", "l.jsonl", None, [{"request": {"messages": [ASKED]}, "response": None}],
     {"request": {"messages": [ASKED, CONTENT]}, "response": {"choices": []}}, "l.jsonl:2 message 1: .*content"),
    ("swe-agent", "r.json", under("history", trajectory=[]), [ASKED], CONTENT, "r.json message 1: .*content"),
    ("tau-bench", "r.json", list, [{"task_id": 1, "traj": [ASKED]}], {"task_id": 2, "traj": [ASKED, CALLED]},
     "r.json run 1 message 1: .*tool_calls"),
    ("tau2-bench", "r.json", TAU2, [{"messages": [ASKED]}], {"messages": [ASKED, answer() | COUNTED]},
     "r.json simulation 1 message 1: .*prompt_tokens"),
]  # fmt: skip


@pytest.mark.parametrize(("format", "file", "wrap", "asked", "wrong", "told"), LOGS)
def test_what_is_wrong_is_named_with_its_place(
    tmp_path: Path, format: str, file: str, wrap: Wrap, asked: list[Any], wrong: Any, told: str
) -> None:
    values = [*asked, wrong]
    path = write(tmp_path / file, *([wrap(values)] if wrap else values))
    with pytest.raises(InputError, match=told.replace(".json", r"\.json")):
        list(read(str(path)))


# A log of Inspect without a sample says that instead; Gemini's contents may be a request.
SAID = [log[:4] for log in LOGS if log[0] not in ("inspect-ai", "gemini-contents")]


@pytest.mark.parametrize(("format", "file", "wrap", "asked"), SAID)
def test_a_log_that_no_model_answers_in_says_so(
    tmp_path: Path, format: str, file: str, wrap: Wrap, asked: list[Any]
) -> None:
    (found,) = all_of(write(tmp_path / file, *([wrap(asked)] if wrap else asked)), format)
    assert (found.calls, found.notes[-1]) == ((), "no response of the model is recorded")
    assert found.head.recorded == bool(found.head.system)
