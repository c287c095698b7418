"""Parts of the Gemini API's contents, as Gemini CLI and its descendants keep them.

Documentation: https://ai.google.dev/api/caching#Part
"""

from __future__ import annotations

from typing import Any

import msgspec

from ctxsim.errors import InputError
from ctxsim.readers.assembly.assembly import Part
from ctxsim.readers.assembly.blocks import IMAGE_TOKENS
from ctxsim.readers.source import compact_json, convert
from ctxsim.transcript import Media, Transcript

MASKED = "<tool_output_masked>"
SUMMARY = "<state_snapshot>"
CAMEL = {
    "function_call": "functionCall",
    "function_response": "functionResponse",
    "inline_data": "inlineData",
    "file_data": "fileData",
}


class FunctionCall(msgspec.Struct):
    """A tool call; ids are optional."""

    name: str = ""
    args: Any = None
    id: str | None = None


class FunctionResponse(msgspec.Struct):
    """The result of a tool call; `parts` are its images."""

    name: str = ""
    response: Any = None
    id: str | None = None
    parts: list[Any] | None = None


class ApiPart(msgspec.Struct, rename="camel"):
    """One part; it has one of these."""

    text: str | None = None
    thought: bool | None = None
    function_call: FunctionCall | None = None
    function_response: FunctionResponse | None = None
    inline_data: Any = None
    file_data: Any = None


def api_parts(value: Any, where: str) -> list[ApiPart]:
    """Return parts given as a list, as one part, or as a string. Raises InputError for one that doesn't fit."""
    values = value if isinstance(value, list) else [] if value is None else [value]
    return [_api_part(part, where) for part in values]


def _api_part(value: Any, where: str) -> ApiPart:
    if isinstance(value, str):
        return ApiPart(text=value)
    if not isinstance(value, dict):
        raise InputError(where, f"a part is {compact_json(value)[:40]}, expected a text or an object")
    part = convert({CAMEL.get(key, key): field for key, field in value.items()}, ApiPart, where)
    # What is none of the known, such as executed code, must not vanish.
    return part if part != ApiPart(thought=part.thought) else ApiPart(text=compact_json(value), thought=part.thought)


def response_parts(parts: list[ApiPart]) -> list[Part]:
    """Return what a model made: thoughts, text, tool calls, pictures."""
    made: list[Part] = []
    for part in parts:
        if part.function_call:
            call = part.function_call
            made.append(Part("tool_call", compact_json(call.args), call.name, call.id or ""))
        elif part.thought:
            made.append(Part("reasoning", part.text or ""))
        elif part.text or _media(part):
            made.append(Part("assistant", part.text or "", media=_media(part)))
    return made


def user_parts(parts: list[ApiPart]) -> list[Part]:
    """Return what is no result."""
    return [Part("user", part.text or "", media=_media(part)) for part in parts if part.text or _media(part)]


def _media(part: ApiPart) -> tuple[Media, ...]:
    data = part.inline_data if part.inline_data is not None else part.file_data
    if data is None:
        return ()
    mime = str((data.get("mimeType") or data.get("mime_type")) if isinstance(data, dict) else "")
    return (Media("image" if mime.startswith("image/") else mime or "file", IMAGE_TOKENS["gemini"]),)


def result(answer: FunctionResponse, where: str) -> tuple[str, tuple[Media, ...]]:
    """Return the text and the media of a result. A response that is one named text is that text."""
    media = [image for part in api_parts(answer.parts, where) for image in _media(part)]
    response = answer.response
    if isinstance(response, dict) and len(response) == 1:
        key, value = next(iter(response.items()))
        if key in ("output", "error", "result", "content") and isinstance(value, str):
            return value, tuple(media)
    return ("" if response is None else compact_json(response)), tuple(media)


def compaction_notes(transcript: Transcript) -> list[str]:
    """Return what the texts tell of compaction by Gemini CLI before they were saved: the earlier texts are gone."""
    masked = sum(item.kind == "tool_result" and MASKED in item.text for item in transcript.items)
    summaries = sum(item.kind == "user" and item.text.lstrip().startswith(SUMMARY) for item in transcript.items)
    return [
        *([f"{masked} result(s) had been masked by the agent"] if masked else []),
        *([f"{summaries} summary(s) by the agent stand for earlier history, as user text"] if summaries else []),
    ]
