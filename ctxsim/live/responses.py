"""OpenAI Responses: the format of a reply, a stream and a refusal.

Documentation: https://platform.openai.com/docs/api-reference/responses,
https://platform.openai.com/docs/api-reference/responses-streaming
"""

from collections.abc import Iterator
from itertools import count
from typing import Any

from ctxsim.live.chat import CREATED, refusal
from ctxsim.live.exchange import Reply, data, pieces

__all__ = ["refusal", "stream", "whole"]


def whole(reply: Reply) -> dict[str, Any]:
    """Return the response body."""
    return _response(reply, "completed", _output(reply))


def stream(reply: Reply) -> Iterator[bytes]:
    """Yield the server-sent events, each with its name and number."""
    numbers = count()

    def event(kind: str, /, **fields: Any) -> bytes:
        return data({"type": kind, "sequence_number": next(numbers), **fields}, kind)

    yield event("response.created", response=_response(reply, "in_progress", []))
    output = _output(reply)
    for index, item in enumerate(output):
        if item["type"] == "message":
            yield from _text_events(event, index, item)
            if reply.broken:
                break
        else:
            yield from _call_events(event, index, item)
    if reply.broken:
        failed = _response(reply, "failed", [])
        failed["error"] = {"code": "server_error", "message": "The server had an error while processing your request."}
        yield event("response.failed", response=failed)
        return
    yield event("response.completed", response=_response(reply, "completed", output))


def _text_events(event: Any, index: int, item: dict[str, Any]) -> Iterator[bytes]:
    place = {"item_id": item["id"], "output_index": index, "content_index": 0}
    part = item["content"][0]
    yield event("response.output_item.added", output_index=index, item={**item, "status": "in_progress", "content": []})
    yield event("response.content_part.added", **place, part={**part, "text": ""})
    for text in pieces(part["text"]):
        yield event("response.output_text.delta", **place, delta=text, logprobs=[])
    yield event("response.output_text.done", **place, text=part["text"], logprobs=[])
    yield event("response.content_part.done", **place, part=part)
    yield event("response.output_item.done", output_index=index, item=item)


def _call_events(event: Any, index: int, item: dict[str, Any]) -> Iterator[bytes]:
    place = {"item_id": item["id"], "output_index": index}
    started = {**item, "status": "in_progress", "arguments": ""}
    yield event("response.output_item.added", output_index=index, item=started)
    for text in pieces(item["arguments"]):
        yield event("response.function_call_arguments.delta", **place, delta=text)
    yield event("response.function_call_arguments.done", **place, arguments=item["arguments"], name=item["name"])
    yield event("response.output_item.done", output_index=index, item=item)


def _output(reply: Reply) -> list[dict[str, Any]]:
    output: list[dict[str, Any]] = []
    if reply.text:
        content = [{"type": "output_text", "text": reply.text, "annotations": [], "logprobs": []}]
        output.append(
            {"type": "message", "id": f"msg_{reply.id}", "status": "completed", "role": "assistant", "content": content}
        )
    return output + [
        {
            "type": "function_call", "id": f"fc_{call.id}", "call_id": call.id, "name": call.name,
            "arguments": call.arguments, "status": "completed",
        }
        for call in reply.calls
    ]  # fmt: skip


def _response(reply: Reply, status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
    used = reply.used if status == "completed" else None
    usage = {
        "input_tokens": used.input,
        "input_tokens_details": {"cached_tokens": used.read, "cache_write_tokens": used.write},
        "output_tokens": used.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": used.input + used.output,
    } if used else None  # fmt: skip
    return {
        "id": f"resp_{reply.id}", "object": "response", "created_at": CREATED, "status": status, "error": None,
        "incomplete_details": None, "instructions": None, "metadata": {}, "model": reply.model, "output": output,
        "parallel_tool_calls": True, "temperature": None, "tool_choice": "auto", "tools": [], "top_p": None,
        "usage": usage,
    }  # fmt: skip
