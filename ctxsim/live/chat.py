"""OpenAI Chat Completions: the format of a reply, a stream and a refusal.

Documentation: https://platform.openai.com/docs/api-reference/chat
"""

from collections.abc import Iterator
from typing import Any

from ctxsim.live.exchange import Refusal, Reply, data, pieces
from ctxsim.policies.foreign.conversation import call_of

CREATED = 1_700_000_000
"""The creation time of every response, in Unix seconds. It is constant, so that equal runs give equal bytes."""


def whole(reply: Reply) -> dict[str, Any]:
    """Return the response body."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None, "refusal": None}
    if reply.calls:
        message["tool_calls"] = [call_of(call.id, call.name, call.arguments) for call in reply.calls]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(reply)}
    return {**_around(reply, "chat.completion"), "choices": [choice], **_usage(reply)}


def stream(reply: Reply) -> Iterator[bytes]:
    """Yield the server-sent events: text, calls, end, then the usage in a chunk of its own."""
    around = _around(reply, "chat.completion.chunk")

    def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return data({**around, "choices": [choice]})

    yield chunk({"role": "assistant", "content": ""})
    for text in pieces(reply.text):
        yield chunk({"content": text})
    if reply.broken:
        yield data({"error": _error("The server had an error while processing your request.", "server_error", None)})
        return
    for number, call in enumerate(reply.calls):
        yield chunk({"tool_calls": [{"index": number, **call_of(call.id, call.name, "")}]})
        for text in pieces(call.arguments):
            yield chunk({"tool_calls": [{"index": number, "function": {"arguments": text}}]})
    yield chunk({}, _finish(reply))
    if reply.used:
        yield data({**around, "choices": [], **_usage(reply)})
    yield b"data: [DONE]\n\n"


def refusal(refused: Refusal) -> tuple[dict[str, Any], int, dict[str, str]]:
    """Return the body, status and headers of a refusal."""
    if refused.reason == "rate_limited":
        headers = {"retry-after": f"{refused.retry_after_s:g}", "x-ratelimit-remaining-tokens": "0"}
        return {"error": _error(refused.message, "tokens", "rate_limit_exceeded")}, 429, headers
    code = "context_length_exceeded" if refused.reason == "overflow" else None
    return {"error": _error(refused.message, "invalid_request_error", code)}, 400, {}


def _error(message: str, kind: str, code: str | None) -> dict[str, Any]:
    return {"message": message, "type": kind, "param": None, "code": code}


def _around(reply: Reply, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{reply.id}", "object": kind, "created": CREATED, "model": reply.model}


def _finish(reply: Reply) -> str:
    return "tool_calls" if reply.calls else "stop"


def _usage(reply: Reply) -> dict[str, Any]:
    used = reply.used
    return {"usage": {
        "prompt_tokens": used.input,
        "completion_tokens": used.output,
        "total_tokens": used.input + used.output,
        "prompt_tokens_details": {"cached_tokens": used.read, "cache_write_tokens": used.write},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }} if used else {}  # fmt: skip
