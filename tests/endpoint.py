"""A small endpoint that plays an invented conversation, and a client that speaks its four APIs by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from samples import conversation

pytest.importorskip("starlette")
pytest.importorskip("httpx")

from starlette.testclient import TestClient

from ctxsim.live.app import Endpoint, application
from ctxsim.live.faults import parse_faults
from ctxsim.live.log import Log
from ctxsim.live.script import script_of
from ctxsim.live.session import Session
from ctxsim.simulator.provider import Provider
from ctxsim.transcript import Transcript

FIRST = "\n".join(f"first result, line {n} of many" for n in range(40))
SECOND = "\n".join(f"second result, line {n} of many" for n in range(40))
APIS = ("chat", "responses", "messages", "gemini")


def sample() -> Transcript:
    """Two results that are called for by `tool`, then an answer: three steps."""
    return conversation(FIRST, SECOND, system="You help.")


def sessions(
    transcript: Transcript | None = None, folder: str | None = None, faults: tuple[str, ...] = (), **provider: Any
) -> Callable[[str], Session]:
    """What opens a session of an endpoint."""
    script = script_of(transcript or sample())
    return lambda name: Session(script, Provider(**provider), parse_faults(faults), folder=folder)


@contextmanager
def client(path: Path | None = None, host: str = "127.0.0.1", **how: Any) -> Iterator[TestClient]:
    """A client of such an endpoint; `path` is its log."""
    with (
        Log(path) as log,
        TestClient(application(Endpoint(sessions(**how), log)), base_url=f"http://{host}") as made,
    ):
        yield made


class Call(NamedTuple):
    """A tool call that was answered."""

    id: str
    name: str
    arguments: Any


class Answer(NamedTuple):
    """What one request got: usage is None where none was reported."""

    status: int
    body: Any
    headers: Any
    text: str = ""
    calls: tuple[Call, ...] = ()
    input: int | None = None
    read: int | None = None


class Spoken:
    """A conversation of one client, in the form of one API."""

    def __init__(self, http: TestClient, api: str, stream: bool = False, session: str = "") -> None:
        self._http, self.api, self._stream = http, api, stream
        self._prefix = f"/s/{session}" if session else ""
        self.messages: list[Any] = []
        self.tools = ["tool"]

    def user(self, text: str) -> None:
        """Say something."""
        self.messages.append(
            {"role": "user", "parts": [{"text": text}]} if self.api == "gemini" else {"role": "user", "content": text}
        )

    def result(self, call: Call, text: str) -> None:
        """Answer a call."""
        answer = {"name": call.name, "response": {"output": text}}
        self.messages.append({
            "chat": {"role": "tool", "tool_call_id": call.id, "content": text},
            "responses": {"type": "function_call_output", "call_id": call.id, "output": text},
            "messages": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": text}]},
            "gemini": {"role": "user", "parts": [{"functionResponse": answer}]},
        }[self.api])  # fmt: skip

    @property
    def body(self) -> dict[str, Any]:
        """The next request."""
        schema = {"type": "object", "properties": {}}
        match self.api:
            case "chat":
                tools = [{"type": "function", "function": {"name": one, "parameters": schema}} for one in self.tools]
                system = {"role": "system", "content": "You help."}
                body = {"model": "m", "messages": [system, *self.messages], "tools": tools}
                body |= {"stream_options": {"include_usage": True}} if self._stream else {}
            case "responses":
                tools = [{"type": "function", "name": one, "parameters": schema} for one in self.tools]
                body = {"model": "m", "instructions": "You help.", "input": self.messages, "tools": tools}
            case "messages":
                tools = [{"name": one, "input_schema": schema} for one in self.tools]
                body = {"model": "m", "max_tokens": 9, "system": "You help.", "messages": self.messages, "tools": tools}
            case _:
                declared = [{"name": one, "parameters": schema} for one in self.tools]
                system = {"parts": [{"text": "You help."}]}
                tools = [{"functionDeclarations": declared}]
                return {"systemInstruction": system, "contents": self.messages, "tools": tools}
        return {**body, "stream": self._stream}

    @property
    def path(self) -> str:
        """Where it goes."""
        method = "streamGenerateContent?alt=sse" if self._stream else "generateContent"
        ends = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}
        return self._prefix + ends.get(self.api, f"/v1beta/models/m:{method}")

    def ask(self) -> Answer:
        """Send the conversation, and let the answer join it."""
        done = self._http.post(self.path, json=self.body)
        if done.status_code != 200:
            return Answer(done.status_code, done.json(), done.headers)
        body = self._whole(done.text) if self._stream else done.json()
        return self._taken(body, done.headers)

    def _whole(self, text: str) -> Any:
        """The last state of a stream, put together as the vendor documents it."""
        events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
        match self.api:
            case "responses":
                return events[-1]["response"]
            case "gemini":
                parts = [part for event in events for part in event["candidates"][0]["content"]["parts"]]
                return {**events[-1], "candidates": [{"content": {"role": "model", "parts": parts}}]}
            case "chat":
                return _whole_chat(events)
        return _whole_message(events)

    def _taken(self, body: Any, headers: Any) -> Answer:
        match self.api:
            case "chat":
                message, used = body["choices"][0]["message"], body.get("usage") or {}
                self.messages.append(message)
                calls = [(one["id"], one["function"]["name"], json.loads(one["function"]["arguments"]))
                         for one in message.get("tool_calls") or []]  # fmt: skip
                text, size = message["content"] or "", used.get("prompt_tokens")
                read = used.get("prompt_tokens_details", {}).get("cached_tokens")
            case "responses":
                self.messages += body["output"]
                calls = [(one["call_id"], one["name"], json.loads(one["arguments"]))
                         for one in body["output"] if one["type"] == "function_call"]  # fmt: skip
                text = "".join(one["content"][0]["text"] for one in body["output"] if one["type"] == "message")
                used = body["usage"] or {}
                size, read = used.get("input_tokens"), used.get("input_tokens_details", {}).get("cached_tokens")
            case "messages":
                self.messages.append({"role": "assistant", "content": body["content"]})
                calls = [(one["id"], one["name"], one["input"]) for one in body["content"] if one["type"] == "tool_use"]
                text = "".join(one["text"] for one in body["content"] if one["type"] == "text")
                used = body["usage"]
                read = used["cache_read_input_tokens"]
                size = used["input_tokens"] + read + used["cache_creation_input_tokens"]
            case _:
                content, used = body["candidates"][0]["content"], body.get("usageMetadata", {})
                self.messages.append(content)
                found = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
                calls = [(one["id"], one["name"], one["args"]) for one in found]
                text = "".join(part.get("text", "") for part in content["parts"])
                size, read = used.get("promptTokenCount"), used.get("cachedContentTokenCount")
        return Answer(200, body, headers, text, tuple(Call(*one) for one in calls), size, read)


def _whole_chat(events: list[Any]) -> Any:
    message: dict[str, Any] = {"role": "assistant", "content": ""}
    calls: list[Any] = []
    for event in events:
        for choice in event["choices"]:
            delta = choice["delta"]
            message["content"] += delta.get("content") or ""
            for piece in delta.get("tool_calls", []):
                if "id" in piece:
                    calls.append({"id": piece["id"], "type": "function", "function": dict(piece["function"])})
                else:
                    calls[piece["index"]]["function"]["arguments"] += piece["function"]["arguments"]
    return {"choices": [{"message": {**message, "tool_calls": calls}}], "usage": events[-1].get("usage")}


def _whole_message(events: list[Any]) -> Any:
    content: list[Any] = []
    for event in events:
        if event["type"] == "content_block_start":
            content.append({**event["content_block"], "json": ""})
        elif event["type"] == "content_block_delta":
            content[-1]["text" if "text" in event["delta"] else "json"] += (
                event["delta"].get("text") or event["delta"].get("partial_json") or ""
            )
    for block in content:
        given = block.pop("json")
        if block["type"] == "tool_use":
            block["input"] = json.loads(given)
    return {"content": content, "usage": events[0]["message"]["usage"]}
