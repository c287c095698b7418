"""What each format is told by: values that are one, and values that lack just one thing of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from read_back import taken

BLOCK = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]}
USER = {"role": "user", "content": "Go."}
CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c", "output": "x"}
HELICONE = {"request_id": "r", "request_created_at": "2026", "request_body": {}}
LANGFUSE = {"type": "SPAN", "traceId": "t", "startTime": "2026"}
WEAVE = {"op_name": "f", "trace_id": "t", "started_at": "2026", "inputs": {}}
COMPLETION = {"messages": [], "response": {"choices": []}, "kwargs": {}}
TAU = {"simulations": [], "info": {}, "tasks": None}
CHAT_REQUEST = {"model": "m", "messages": [USER]}
PAIR = {"request": CHAT_REQUEST, "response": None}
LINE = {"type": "request", "request_params": CHAT_REQUEST}
GROK = [{"type": "user", "content": "Go.", "prompt_index": 0}, {"type": "assistant", "content": "Done."}]
RESULT = {"role": "user", "content": "<returncode>0</returncode>"}
COMMAND = {"role": "assistant", "content": "So:\n```bash\nls\n```"}
SESSION = {"type": "session", "id": "s", "cwd": "/w"}
HEADER = {"id": "s", "timestamp": "2026", "instructions": "Use tabs."}
SAID: dict[str, Any] = {"type": "message", "role": "user", "content": []}
ALL_OF_RESPONSES = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go."}]}


def without(value: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: held for key, held in value.items() if key != name}


DOCUMENTS: list[tuple[str, Any, bool]] = [
    ("anthropic_messages", [BLOCK], True), ("anthropic_messages", {"messages": [USER, BLOCK]}, True),
    ("anthropic_messages", [USER], False), ("anthropic_messages", [BLOCK, {"role": "tool", "content": "x"}], False),
    ("anthropic_messages", [BLOCK, 5], False), ("anthropic_messages", {"messages": [{**BLOCK, "role": "system"}]},
    True),
    ("openai_chat", [{"role": "user", "text": "Go."}], False), ("openai_chat", [{"role": "user"}, USER], True),
    ("openai_chat", [USER], True), ("openai_chat", {"messages": [USER]}, True), ("openai_chat", [], False),
    ("openai_chat", [{"role": "bot", "content": "x"}], False), ("openai_chat", [{"role": "bot"}, USER], True),
    ("openai_chat", [USER, {"content": "x"}], False), ("openai_chat", [USER, BLOCK], False),
    ("openai_chat", [USER, {"role": "user", "parts": []}], False),
    ("openai_responses", [USER, CALL], True), ("openai_responses", [USER], False),
    ("openai_responses", [ALL_OF_RESPONSES], True), ("openai_responses", {"input": [CALL]}, True),
    ("openai_responses", {"items": [OUTPUT]}, True), ("openai_responses", {"output": [OUTPUT, USER]}, True),
    ("openai_responses", [without(CALL, "name")], False), ("openai_responses", [without(OUTPUT, "output")], False),
    ("openai_responses", [{"type": "reasoning", "summary": []}], True), ("openai_responses", [{"type": "reasoning"}],
    False),
    ("openai_responses", [CALL, {"type": "item_reference"}, {"type": "mcp_x"}, {"type": "compaction_y"}], True),
    ("openai_responses", [CALL, {"type": "new"}], False), ("openai_responses", [CALL, {"type": 5}], False),
    ("openai_responses", [CALL, {"type": "message"}], False), ("openai_responses", [CALL, "x"], False),
    ("openai_responses", [{**CALL, "type": "custom_tool_call"}], True), ("openai_responses",
    [{"type": "local_shell_call"}], False),
    ("helicone", [HELICONE], True), ("helicone", {"data": [HELICONE]}, True), ("helicone", [without(HELICONE,
    "request_body")], False),
    ("helicone", [without(HELICONE, "request_id")], False), ("helicone", [without(HELICONE, "request_created_at")],
    False),
    ("helicone", [without(HELICONE, "request_body") | {"signed_body_content": {}}], True),
    ("langfuse", [LANGFUSE], True), ("langfuse", [without(LANGFUSE, "startTime")], False),
    ("langfuse", [without(LANGFUSE, "startTime") | {"parentObservationId": None}], True),
    ("langfuse", [{**LANGFUSE, "type": "NEW"}], False), ("langfuse", [without(LANGFUSE, "traceId")], False),
    ("langfuse", [{**LANGFUSE, "type": 5}], False), ("langfuse", [{**LANGFUSE, "traceId": ""} | {"trace_id": "t"}],
    False),
    ("weave", [WEAVE], True), ("weave", {"calls": [WEAVE]}, True), *(("weave", [{**WEAVE, name: None}],
    False) for name in WEAVE),
    ("openhands.completions", COMPLETION, True), ("openhands.completions", without(COMPLETION,
    "kwargs") | {"tools": []}, True),
    *(("openhands.completions", without(COMPLETION, name), False) for name in COMPLETION),
    ("openhands.completions", {**COMPLETION, "response": {}}, False),
    ("tau2_bench", TAU, True), *(("tau2_bench", without(TAU, name), False) for name in TAU),
    ("request_log", PAIR, True), ("request_log", [PAIR], True), ("request_log", [5, 5, PAIR], True),
    ("request_log", [5, 5, 5, PAIR], False), ("request_log", without(PAIR, "response"), False),
    ("request_log", {**PAIR, "request": {}}, False), ("request_log", LINE, True), ("request_log", {**LINE,
    "type": "x"}, False),
    ("request_log", {**PAIR, "request": {"body": json.dumps(CHAT_REQUEST)}}, True),
    ("mini_swe_agent", {"trajectory_format": "mini-swe-agent-1.1", "messages": []}, True),
    ("mini_swe_agent", {"trajectory_format": "other", "messages": []}, False),
    ("mini_swe_agent", {"trajectory_format": "mini-swe-agent-1.1"}, False), ("mini_swe_agent", [USER, COMMAND,
    RESULT], True),
    ("mini_swe_agent", [RESULT, COMMAND], False), ("mini_swe_agent", [COMMAND, USER], False),
    ("mini_swe_agent", [USER, RESULT], False), ("mini_swe_agent", [{**COMMAND, "content": "So."}, RESULT], False),
    ("mini_swe_agent", [COMMAND, {**RESULT, "role": "tool"}], False),
    *(("copilot", value, False) for value in (None, 1, [], {"type": "user.message"},
      {"type": "user.message", "data": {}})),
    *(("gemini_cli", value, False) for value in (None, [], {"sessionId": "s"}, {"projectHash": "h"},
      {"sessionId": 1, "projectHash": "h", "kind": "main"})),
    *(("gemini_contents", value, False) for value in ([], [1], [USER], [{"role": ["user"], "parts": []}],
      [{"role": "gemini", "parts": []}], {"history": [{"role": "assistant", "parts": []}]}, {"contents": "x"})),
    *(("openai_responses", value, False) for value in ([], [1, None], {"messages": [USER]}, [{"type": ["message"]}],
      [{"type": "assistant", "content": "x"}, {"type": "reasoning", "summary": []}],
      [{"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "x", "input": {}}]}],
      {"type": "function_call", "function": {"name": "translate"}})),
]  # fmt: skip
LINES: list[tuple[str, list[Any], bool]] = [
    ("anthropic_messages", [USER, BLOCK], True), ("anthropic_messages", [{"messages": [BLOCK]}, {"messages": []}],
    True),
    ("openai_chat", [USER, USER], True), ("openai_chat", [{"messages": [USER]}] * 2, True),
    ("openai_chat", [USER, {"role": "user"}], False), ("openai_responses", [CALL, OUTPUT], True),
    ("grok", GROK, True), ("grok", [{**GROK[0], "type": "x"}, GROK[1]], False), ("grok", [GROK[1], GROK[1]], False),
    ("grok", [*GROK, {**GROK[1], "timestamp": 1}], False), ("grok", [*GROK, 5], False),
    ("grok", [GROK[1], {**GROK[1], "model_id": "m"}], True), ("request_log", [PAIR, 5], True),
    ("pi", [SESSION], True),
    ("pi", [SESSION, {"type": "anything"}, "text", {"type": "message", "message": USER}], True),
    *(("pi", [SESSION | {name: value}], False) for name, value in (("type", "message"), ("id", 7), ("cwd", None))),
    ("pi", ["session"], False), ("pi", [SESSION, {"type": "message", "message": "Go."}], False),
    ("pi", [SESSION, {"type": "message", "message": USER}, {"type": "message", "message": {"role": 7}}], False),
    # A line of Codex's without its payload, and somebody else's with one.
    ("codex", [{"type": "session_meta", "payload": {}}], True), ("codex", [{"type": "session_meta"}], False),
    ("codex", [{"type": "session_meta", "payload": "s"}], False), ("codex", [{"type": "x", "payload": {}}], False),
    ("codex", ["a text"], False),
    # Its first versions: a header with instructions or git, then items and states.
    ("codex", [HEADER, SAID], True), ("codex", [HEADER, {"type": "function_call"}], True),
    ("codex", [without(HEADER, "instructions") | {"git": {}}, {"record_type": "state"}, SAID], True),
    ("codex", [without(HEADER, "instructions"), SAID], False), ("codex", [HEADER | {"type": "header"}, SAID], False),
    ("codex", [HEADER | {"id": 7}, SAID], False), ("codex", [HEADER | {"timestamp": 7}, SAID], False),
    # Nothing but states, something unknown, or nothing at all behind it.
    ("codex", [HEADER, {"record_type": "state"}], False), ("codex", [HEADER, SAID, {"role": "user"}], False),
    ("codex", [HEADER, SAID, 7], False), ("codex", [HEADER], False),
    # The stream of `codex exec --json`: refused when it is read, with the reason.
    ("codex", [{"type": "thread.started", "thread_id": "t"}, {"type": "turn.started"}], True),
    ("codex", [{"type": "thread.started"}, {"type": "turn.started"}], False),
    ("codex", [{"type": "turn.started", "thread_id": "t"}, SAID], False),
]  # fmt: skip


@pytest.mark.parametrize(
    ("format", "values", "matched"), [*((name, [value], is_one) for name, value, is_one in DOCUMENTS), *LINES]
)
def test_what_is_taken(format: str, values: list[Any], matched: bool) -> None:
    assert taken(format, *values) is matched
