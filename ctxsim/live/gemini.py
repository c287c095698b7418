"""Gemini generateContent: the format of a reply, a stream and a refusal.

Documentation: https://ai.google.dev/api/generate-content, https://ai.google.dev/gemini-api/docs/troubleshooting
"""

from collections.abc import Iterator
from typing import Any

from ctxsim.live.exchange import Refusal, Reply, data, pieces


def whole(reply: Reply) -> dict[str, Any]:
    """Return the response body."""
    parts: list[dict[str, Any]] = [{"text": reply.text}] if reply.text else []
    return _body(reply, [*parts, *_calls(reply)], last=True)


def stream(reply: Reply) -> Iterator[bytes]:
    """Yield the server-sent events. Each is a whole response with some of the parts; the last one has the usage."""
    for text in pieces(reply.text):
        yield data(_body(reply, [{"text": text}], last=False))
    if reply.broken:
        yield data(_error(503, "UNAVAILABLE", "The model is overloaded. Please try again later."))
        return
    yield data(_body(reply, _calls(reply), last=True))


def refusal(refused: Refusal) -> tuple[dict[str, Any], int, dict[str, str]]:
    """Return the body, status and headers of a refusal."""
    if refused.reason != "rate_limited":
        return _error(400, "INVALID_ARGUMENT", refused.message), 400, {}
    body = _error(429, "RESOURCE_EXHAUSTED", refused.message)
    retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{refused.retry_after_s:g}s"}
    body["error"]["details"] = [retry]
    return body, 429, {}


def _calls(reply: Reply) -> list[dict[str, Any]]:
    return [{"functionCall": {"id": call.id, "name": call.name, "args": call.input}} for call in reply.calls]


def _body(reply: Reply, parts: list[dict[str, Any]], last: bool) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if last:
        candidate["finishReason"] = "STOP"
    body: dict[str, Any] = {"candidates": [candidate], "modelVersion": reply.model, "responseId": reply.id}
    if last and reply.used:
        used = reply.used
        body["usageMetadata"] = {
            "promptTokenCount": used.input, "candidatesTokenCount": used.output,
            "totalTokenCount": used.input + used.output, "cachedContentTokenCount": used.read,
        }  # fmt: skip
    return body


def _error(code: int, status: str, message: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "status": status}}
