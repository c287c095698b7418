"""Anthropic Messages: the format of a reply, a stream and a refusal.

Documentation: https://docs.anthropic.com/en/api/messages, https://docs.anthropic.com/en/api/messages-streaming,
https://docs.anthropic.com/en/api/errors
"""

from collections.abc import Iterator
from typing import Any

from ctxsim.errors import InputError
from ctxsim.live.exchange import Refusal, Reply, Used, data, items_of, pieces
from ctxsim.readers.assembly.requests.bodies import caught
from ctxsim.readers.source import under
from ctxsim.readers.source.values import objects
from ctxsim.simulator.ledger.request import HEAD


def marks_of(body: dict[str, Any], end: int) -> dict[int, bool]:
    """Return the positions that a valid request marks for the cache, oldest first, and whether each for an hour.

    `end` is the request's last position. Raises InputError for more marks than the API allows.
    """
    said = body["messages"]
    heads = [(at, one.get("cache_control")) for at, key in enumerate(("tools", "system")) for one in objects(body, key)]
    inside = [
        (number, many, mark)
        for number, message in enumerate(said)
        for many, block in enumerate(objects(message, "content"), 1)
        for one in (block, *objects(block, "content"))
        if (mark := one.get("cache_control"))
    ]
    marks, last = [one for one in heads if one[1]], body.get("cache_control")
    if (count := len(marks) + len(inside) + bool(last)) > 4:
        raise InputError("request", f"A maximum of 4 blocks with cache_control may be provided. Found {count}.")
    for number, many, mark in inside:
        until = [*said[:number], {**said[number], "content": said[number]["content"][:many]}]
        marks.append((HEAD - 1 + len(items_of(caught("messages", {"messages": until}, "your"))), mark))
    if last:
        marks.append((end, last))
    return {at: under(mark, "ttl") == "1h" for at, mark in marks}


def whole(reply: Reply) -> dict[str, Any]:
    """Return the response body."""
    content: list[dict[str, Any]] = [{"type": "text", "text": reply.text}] if reply.text else []
    content += [{"type": "tool_use", "id": call.id, "name": call.name, "input": call.input} for call in reply.calls]
    return {**_around(reply), "content": content, "stop_reason": _stop(reply), "usage": _usage(reply.used)}


def stream(reply: Reply) -> Iterator[bytes]:
    """Yield the server-sent events, each with its name."""
    used = reply.used
    start = {**_around(reply), "content": [], "stop_reason": None, "usage": {**_usage(used), "output_tokens": 0}}
    yield _event("message_start", message=start)
    if reply.text:
        yield _event("content_block_start", index=0, content_block={"type": "text", "text": ""})
        for text in pieces(reply.text):
            yield _event("content_block_delta", index=0, delta={"type": "text_delta", "text": text})
        yield _event("content_block_stop", index=0)
    if reply.broken:
        yield _event("error", error={"type": "overloaded_error", "message": "Overloaded"})
        return
    for number, call in enumerate(reply.calls, 1 if reply.text else 0):
        block = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
        yield _event("content_block_start", index=number, content_block=block)
        for text in pieces(call.arguments or "{}"):
            yield _event("content_block_delta", index=number, delta={"type": "input_json_delta", "partial_json": text})
        yield _event("content_block_stop", index=number)
    delta = {"stop_reason": _stop(reply), "stop_sequence": None}
    yield _event("message_delta", delta=delta, usage={"output_tokens": used.output if used else 0})
    yield _event("message_stop")


def refusal(refused: Refusal) -> tuple[dict[str, Any], int, dict[str, str]]:
    """Return the body, status and headers of a refusal."""
    if refused.reason == "rate_limited":
        headers = {"retry-after": f"{refused.retry_after_s:g}", "anthropic-ratelimit-input-tokens-remaining": "0"}
        return _error("rate_limit_error", refused.message), 429, headers
    return _error("invalid_request_error", refused.message), 400, {}


def _error(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}


def _event(kind: str, /, **fields: Any) -> bytes:
    return data({"type": kind, **fields}, kind)


def _around(reply: Reply) -> dict[str, Any]:
    return {
        "id": f"msg_{reply.id}", "type": "message", "role": "assistant", "model": reply.model, "stop_sequence": None,
    }  # fmt: skip


def _stop(reply: Reply) -> str:
    return "tool_use" if reply.calls else "end_turn"


def _usage(used: Used | None) -> dict[str, Any]:
    """Return the prompt's tokens in the vendor's three parts. Clients need the field: zeros if no usage is reported."""
    used = used or Used(0, 0)
    return {
        "input_tokens": used.input - used.read - used.write, "cache_creation_input_tokens": used.write,
        "cache_read_input_tokens": used.read, "output_tokens": used.output,
    }  # fmt: skip
