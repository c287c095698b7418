"""What the four APIs say, to the letter: a reply, its events, a reply without usage, a broken stream, and refusals."""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any

import pytest

from ctxsim.live import chat, gemini, messages, responses
from ctxsim.live.exchange import PIECE_CHARS, Refusal, Reply, Tool, ToolCall, Used, data, pieces
from ctxsim.live.session import VENDORS
from ctxsim.live.tools import tools_of
from ctxsim.readers.assembly.requests.bodies import Api

CALL = ToolCall("call_1", "read", '{"file": "a"}')
REPLY = Reply("00000007", "m", "Look.", (CALL,), Used(1_000, 20, 600, 300))
"""600 of 1,000 tokens are read from the cache, 300 written to it: 100 are neither."""
BARE = Reply("00000008", "m", "Done.")
ONLY_CALLS = Reply("00000009", "m", "", (CALL, ToolCall("call_2", "list", "")), Used(10, 2))


def events(shape: ModuleType, reply: Reply) -> list[tuple[str, Any]]:
    """Each event of a stream: its name, '' where it has none, and what it holds."""
    found = []
    for event in b"".join(shape.stream(reply)).decode().removesuffix("\n\n").split("\n\n"):
        *name, held = event.split("\n")
        assert held.startswith("data: ")
        text = held.removeprefix("data: ")
        found.append(("".join(name).removeprefix("event: "), text if text == "[DONE]" else json.loads(text)))
    return found


# what they have in common


def test_an_event_is_a_line_of_json_and_may_have_a_name() -> None:
    assert data({"a": "ß"}) == 'data: {"a":"ß"}\n\n'.encode()
    assert data({"a": 1}, "ping") == b'event: ping\ndata: {"a":1}\n\n'


def test_a_text_is_sent_in_pieces_of_four_hundred_characters() -> None:
    assert PIECE_CHARS == 400
    assert [len(piece) for piece in pieces("x" * 801)] == [400, 400, 1]
    assert (list(pieces("ab")), list(pieces(""))) == (["ab"], [])


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        ('{"a": 1}', {"a": 1}),
        ("", {}),
        ("[1]", {"input": "[1]"}),
        ("no json", {"input": "no json"}),
        ("7", {"input": "7"}),
        # What no answer in JSON can hold: a number that isn't one, and half an emoji.
        ('{"a": NaN}', {"input": '{"a": NaN}'}),
        (r'{"a": "\ud83d"}', {"a": "\ufffd"}),
    ],
)
def test_arguments_that_are_no_object_get_a_name(arguments: str, given: dict[str, Any]) -> None:
    assert ToolCall("i", "n", arguments).input == given


SCHEMA = {"type": "object", "properties": {"file": {"type": "string"}}, "required": ["file", 7]}
READ = Tool("read", {"file": {"type": "string"}}, ("file",))


@pytest.mark.parametrize(
    ("api", "tool", "found"),
    [
        ("chat", {"type": "function", "function": {"name": "read", "parameters": SCHEMA}}, [READ]),
        ("chat", {"type": "function", "function": {"name": "read"}}, [Tool("read", {})]),
        ("chat", {"type": "function", "function": {"parameters": {"properties": [], "required": "file"}}},
         [Tool("", {})]),
        ("chat", {"type": "custom"}, []), ("chat", {"function": "read"}, []),
        ("responses", {"type": "function", "name": "read", "parameters": SCHEMA}, [READ]),
        ("responses", {"type": "web_search", "name": "read"}, []),
        ("messages", {"name": "read", "input_schema": SCHEMA}, [READ]),
        ("messages", {"input_schema": 7}, [Tool("", {})]),
        ("gemini", {"functionDeclarations": [{"name": "read", "parameters": SCHEMA}, 7]}, [READ]),
        # The newer form holds, where a declaration has both.
        ("gemini", {"functionDeclarations": [{"name": "read", "parameters": {}, "parametersJsonSchema": SCHEMA}]},
         [READ]),
        # LiteLLM writes fields as the Python library does.
        ("gemini", {"function_declarations": [{"name": "read", "parameters_json_schema": SCHEMA}]}, [READ]),
        ("gemini", {"functionDeclarations": {"name": "read"}}, []), ("gemini", {"googleSearch": {}}, []),
    ],
)  # fmt: skip
def test_the_tools_that_a_request_offers(api: Api, tool: dict[str, Any], found: list[Tool]) -> None:
    assert list(tools_of(api, tool)) == found


# OpenAI Chat Completions

CHAT_CALL = {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": '{"file": "a"}'}}
CHAT_USAGE = {
    "prompt_tokens": 1_000, "completion_tokens": 20, "total_tokens": 1_020,
    "prompt_tokens_details": {"cached_tokens": 600, "cache_write_tokens": 300},
    "completion_tokens_details": {"reasoning_tokens": 0},
}  # fmt: skip


def test_whose_apis_they_are() -> None:
    assert VENDORS == {"chat": "openai", "responses": "openai", "messages": "anthropic", "gemini": "google"}


def test_chat_whole() -> None:
    around = {"object": "chat.completion", "created": 1_700_000_000, "model": "m"}
    message = {"role": "assistant", "content": "Look.", "refusal": None, "tool_calls": [CHAT_CALL]}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "tool_calls"}
    assert chat.whole(REPLY) == {"id": "chatcmpl-00000007", **around, "choices": [choice], "usage": CHAT_USAGE}
    message = {"role": "assistant", "content": "Done.", "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    assert chat.whole(BARE) == {"id": "chatcmpl-00000008", **around, "choices": [choice]}
    assert chat.whole(ONLY_CALLS)["choices"][0]["message"]["content"] is None


def chat_deltas(reply: Reply) -> list[Any]:
    """What the events add, each with how it ended, or else an event as it is."""
    found: list[Any] = []
    for name, event in events(chat, reply):
        assert not name
        if event == "[DONE]" or "error" in event or not event["choices"]:
            found.append(event)
            continue
        assert {key: event[key] for key in event if key != "choices"} == {
            "id": f"chatcmpl-{reply.id}", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "m",
        }  # fmt: skip
        ((choice,)) = event["choices"]
        assert (choice["index"], choice["logprobs"]) == (0, None)
        found.append((choice["delta"], choice["finish_reason"]))
    return found


def test_chat_streamed() -> None:
    begin = ({"role": "assistant", "content": ""}, None)
    around = {"id": "chatcmpl-00000007", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "m"}
    started = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "read", "arguments": ""}}
    goes_on = {"index": 0, "function": {"arguments": '{"file": "a"}'}}
    assert chat_deltas(REPLY) == [
        begin, ({"content": "Look."}, None), ({"tool_calls": [started]}, None), ({"tool_calls": [goes_on]}, None),
        ({}, "tool_calls"), {**around, "choices": [], "usage": CHAT_USAGE}, "[DONE]",
    ]  # fmt: skip
    assert chat_deltas(BARE) == [begin, ({"content": "Done."}, None), ({}, "stop"), "[DONE]"]
    second = {"index": 1, "id": "call_2", "type": "function", "function": {"name": "list", "arguments": ""}}
    assert chat_deltas(ONLY_CALLS)[3] == ({"tool_calls": [second]}, None)
    failed = {"message": "The server had an error while processing your request.", "type": "server_error",
              "param": None, "code": None}  # fmt: skip
    assert chat_deltas(broken(REPLY)) == [begin, ({"content": "Look."}, None), {"error": failed}]


def broken(reply: Reply) -> Reply:
    return Reply(reply.id, reply.model, reply.text, reply.calls, reply.used, True)


# OpenAI Responses

RESPONSE = {
    "object": "response", "created_at": 1_700_000_000, "status": "completed", "error": None, "incomplete_details": None,
    "instructions": None, "metadata": {}, "model": "m", "parallel_tool_calls": True, "temperature": None,
    "tool_choice": "auto", "tools": [], "top_p": None, "usage": None,
}  # fmt: skip
RESPONSE_USAGE = {
    "input_tokens": 1_000, "input_tokens_details": {"cached_tokens": 600, "cache_write_tokens": 300},
    "output_tokens": 20, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 1_020,
}  # fmt: skip
PART = {"type": "output_text", "text": "Look.", "annotations": [], "logprobs": []}
MESSAGE = {"type": "message", "id": "msg_00000007", "status": "completed", "role": "assistant", "content": [PART]}
FUNCTION = {
    "type": "function_call", "id": "fc_call_1", "call_id": "call_1", "name": "read", "arguments": '{"file": "a"}',
    "status": "completed",
}  # fmt: skip


def test_responses_whole() -> None:
    assert responses.whole(REPLY) == {
        **RESPONSE, "id": "resp_00000007", "output": [MESSAGE, FUNCTION], "usage": RESPONSE_USAGE,
    }  # fmt: skip
    said = {**MESSAGE, "id": "msg_00000008", "content": [{**PART, "text": "Done."}]}
    assert responses.whole(BARE) == {**RESPONSE, "id": "resp_00000008", "output": [said]}
    assert [item["call_id"] for item in responses.whole(ONLY_CALLS)["output"]] == ["call_1", "call_2"]


def test_responses_streamed() -> None:
    begun = {**RESPONSE, "id": "resp_00000007", "status": "in_progress", "output": []}
    text = {"item_id": "msg_00000007", "output_index": 0, "content_index": 0}
    call = {"item_id": "fc_call_1", "output_index": 1}
    arguments = '{"file": "a"}'
    told: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.output_item.added", "output_index": 0,
         "item": {**MESSAGE, "status": "in_progress", "content": []}},
        {"type": "response.content_part.added", **text, "part": {**PART, "text": ""}},
        {"type": "response.output_text.delta", **text, "delta": "Look.", "logprobs": []},
        {"type": "response.output_text.done", **text, "text": "Look.", "logprobs": []},
        {"type": "response.content_part.done", **text, "part": PART},
        {"type": "response.output_item.done", "output_index": 0, "item": MESSAGE},
        {"type": "response.output_item.added", "output_index": 1,
         "item": {**FUNCTION, "status": "in_progress", "arguments": ""}},
        {"type": "response.function_call_arguments.delta", **call, "delta": arguments},
        {"type": "response.function_call_arguments.done", **call, "arguments": arguments, "name": "read"},
        {"type": "response.output_item.done", "output_index": 1, "item": FUNCTION},
        {"type": "response.completed", "response": responses.whole(REPLY)},
    ]  # fmt: skip
    assert events(responses, REPLY) == [(one["type"], {**one, "sequence_number": n}) for n, one in enumerate(told)]
    error = {"code": "server_error", "message": "The server had an error while processing your request."}
    failed = {"type": "response.failed", "response": {**begun, "status": "failed", "error": error}}
    assert events(responses, broken(REPLY)) == [
        (one["type"], {**one, "sequence_number": n}) for n, one in enumerate([*told[:7], failed])
    ]
    # Without a text there is no middle: its calls are sent, and then it fails.
    kinds = [name for name, _ in events(responses, broken(ONLY_CALLS))]
    assert kinds[-1] == "response.failed" and kinds.count("response.output_item.done") == 2


# Anthropic Messages

AROUND = {"type": "message", "role": "assistant", "model": "m", "stop_sequence": None}
TOOL_USE = {"type": "tool_use", "id": "call_1", "name": "read", "input": {"file": "a"}}
PARTS = {"input_tokens": 100, "cache_creation_input_tokens": 300, "cache_read_input_tokens": 600}
NOTHING = {"input_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 0}


def test_messages_whole() -> None:
    assert messages.whole(REPLY) == {
        "id": "msg_00000007", **AROUND, "content": [{"type": "text", "text": "Look."}, TOOL_USE],
        "stop_reason": "tool_use", "usage": {**PARTS, "output_tokens": 20},
    }  # fmt: skip
    # Its clients need the usage: nothing known is zeros.
    assert messages.whole(BARE) == {
        "id": "msg_00000008", **AROUND, "content": [{"type": "text", "text": "Done."}], "stop_reason": "end_turn",
        "usage": NOTHING,
    }  # fmt: skip
    assert messages.whole(ONLY_CALLS)["content"][0] == TOOL_USE


def test_messages_streamed() -> None:
    start = {"id": "msg_00000007", **AROUND, "content": [], "stop_reason": None, "usage": {**PARTS, "output_tokens": 0}}
    json_delta = {"type": "input_json_delta", "partial_json": '{"file": "a"}'}
    told: list[dict[str, Any]] = [
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Look."}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {**TOOL_USE, "input": {}}},
        {"type": "content_block_delta", "index": 1, "delta": json_delta},
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": None},
         "usage": {"output_tokens": 20}},
        {"type": "message_stop"},
    ]  # fmt: skip
    assert events(messages, REPLY) == [(one["type"], one) for one in told]
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    assert events(messages, broken(REPLY)) == [(one["type"], one) for one in [*told[:4], overloaded]]
    # Calls alone begin at 0; one without arguments has an empty object.
    alone = [event for _, event in events(messages, ONLY_CALLS)]
    assert [one["index"] for one in alone if "index" in one] == [0, 0, 0, 1, 1, 1]
    assert [one["delta"]["partial_json"] for one in alone if "partial_json" in one.get("delta", {})] == [
        '{"file": "a"}', "{}",
    ]  # fmt: skip
    end = events(messages, BARE)[-2][1]
    assert (end["delta"]["stop_reason"], end["usage"]) == ("end_turn", {"output_tokens": 0})


# Gemini

GEMINI_CALL = {"functionCall": {"id": "call_1", "name": "read", "args": {"file": "a"}}}
GEMINI_USAGE = {
    "promptTokenCount": 1_000, "candidatesTokenCount": 20, "totalTokenCount": 1_020, "cachedContentTokenCount": 600,
}  # fmt: skip


def generated(*parts: dict[str, Any], number: str = "00000007", **last: Any) -> dict[str, Any]:
    ends = {"finishReason": "STOP"} if last else {}
    candidate = {"content": {"role": "model", "parts": list(parts)}, "index": 0, **ends}
    usage = {"usageMetadata": last["usage"]} if last.get("usage") else {}
    return {"candidates": [candidate], "modelVersion": "m", "responseId": number, **usage}


def test_gemini_whole() -> None:
    assert gemini.whole(REPLY) == generated({"text": "Look."}, GEMINI_CALL, usage=GEMINI_USAGE)
    assert gemini.whole(BARE) == generated({"text": "Done."}, number="00000008", usage=None)
    second = {"functionCall": {"id": "call_2", "name": "list", "args": {}}}
    assert gemini.whole(ONLY_CALLS)["candidates"][0]["content"]["parts"] == [GEMINI_CALL, second]


def test_gemini_streamed() -> None:
    assert events(gemini, REPLY) == [
        ("", generated({"text": "Look."})), ("", generated(GEMINI_CALL, usage=GEMINI_USAGE)),
    ]  # fmt: skip
    error = {"code": 503, "message": "The model is overloaded. Please try again later.", "status": "UNAVAILABLE"}
    assert events(gemini, broken(REPLY)) == [("", generated({"text": "Look."})), ("", {"error": error})]


# refusals

WAITS = Refusal("rate_limited", "Wait.", 7.5)
OVERFLOW, INVALID = Refusal("overflow", "Too long."), Refusal("invalid", "Wrong.")


def of_chat(message: str, kind: str, code: str | None) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def of_messages(message: str, kind: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}


@pytest.mark.parametrize("shape", [chat, responses])
def test_refusals_of_openai(shape: ModuleType) -> None:
    left = {"retry-after": "7.5", "x-ratelimit-remaining-tokens": "0"}
    assert shape.refusal(WAITS) == (of_chat("Wait.", "tokens", "rate_limit_exceeded"), 429, left)
    overflow = of_chat("Too long.", "invalid_request_error", "context_length_exceeded")
    assert shape.refusal(OVERFLOW) == (overflow, 400, {})
    assert shape.refusal(INVALID) == (of_chat("Wrong.", "invalid_request_error", None), 400, {})


def test_refusals_of_anthropic() -> None:
    left = {"retry-after": "7.5", "anthropic-ratelimit-input-tokens-remaining": "0"}
    assert messages.refusal(WAITS) == (of_messages("Wait.", "rate_limit_error"), 429, left)
    assert messages.refusal(OVERFLOW) == (of_messages("Too long.", "invalid_request_error"), 400, {})
    assert messages.refusal(INVALID) == (of_messages("Wrong.", "invalid_request_error"), 400, {})


def test_refusals_of_gemini() -> None:
    retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7.5s"}
    error = {"code": 429, "message": "Wait.", "status": "RESOURCE_EXHAUSTED", "details": [retry]}
    assert gemini.refusal(WAITS) == ({"error": error}, 429, {})
    for refused in (OVERFLOW, INVALID):
        error = {"code": 400, "message": refused.message, "status": "INVALID_ARGUMENT"}
        assert gemini.refusal(refused) == ({"error": error}, 400, {})
    assert Refusal("invalid", "Wrong.").retry_after_s == 0
