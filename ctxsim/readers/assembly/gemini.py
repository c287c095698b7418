"""Requests to the Gemini API, and the parts of their contents, as Gemini CLI and its descendants keep them.

Documentation: https://ai.google.dev/api/caching#Content, https://ai.google.dev/api/caching#Part
"""

from itertools import groupby
from typing import Any, Literal

import msgspec

from ctxsim.errors import InputError
from ctxsim.readers.assembly import IMAGE_TOKENS, Assembly, Part
from ctxsim.readers.assembly.numbers import as_served, with_thoughts
from ctxsim.readers.source import compact_json, convert, has
from ctxsim.transcript import Media, Transcript, Usage


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


class GeminiUsage(msgspec.Struct, rename="camel"):
    """Usage of a response; the prompt is whole, cached tokens included, but for what Google's own tools read."""

    prompt_token_count: int | None = None
    tool_use_prompt_token_count: int | None = None
    candidates_token_count: int | None = None
    cached_content_token_count: int | None = None
    thoughts_token_count: int | None = None
    # Of the Gemini API, and of Vertex AI.
    service_tier: Any = None
    traffic_type: Any = None

    def whole(self) -> Usage | None:
        """Return it as `Usage`; None if the prompt's size is missing."""
        counts = (self.candidates_token_count, self.cached_content_token_count, self.thoughts_token_count)
        if self.prompt_token_count is None:
            return None
        usage = with_thoughts(self.prompt_token_count + (self.tool_use_prompt_token_count or 0), *counts)
        return as_served(usage, self.service_tier, self.traffic_type)


class ApiPart(msgspec.Struct, rename="camel"):
    """One part of a turn: a text, which may be a thought, or one of the other fields."""

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
    part = convert(camel(value), ApiPart, where)
    # Parts of unknown kind, such as executed code, are kept as JSON text.
    return part if part != ApiPart(thought=part.thought) else ApiPart(text=compact_json(value), thought=part.thought)


def camel(value: dict[str, Any]) -> dict[str, Any]:
    """Return an object whose fields have the names of the Python library under the API's names."""
    words = ((key.split("_"), field) for key, field in value.items())
    return {first + "".join(word.capitalize() for word in others): field for (first, *others), field in words}


def response_parts(parts: list[ApiPart]) -> list[Part]:
    """Return the parts of a model's response: thoughts, texts, tool calls, images."""
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
    """Return the parts with text or media, but no tool results, as user parts."""
    said = [part for part in parts if not part.function_response and (part.text or _media(part))]
    return [Part("user", part.text or "", media=_media(part)) for part in said]


def add_user_parts(assembly: Assembly, parts: list[ApiPart], where: str) -> None:
    """Add a user's turn: its tool results, then its other parts as one message."""
    for part in parts:
        if answer := part.function_response:
            text, media = result(answer, where)
            assembly.result(text, answer.id or "", answer.name, media)
    assembly.user(*user_parts(parts))


def _media(part: ApiPart) -> tuple[Media, ...]:
    data = part.inline_data if part.inline_data is not None else part.file_data
    if data is None:
        return ()
    mime = str((data.get("mimeType") or data.get("mime_type")) if isinstance(data, dict) else "")
    return (Media("image" if mime.startswith("image/") else mime or "file", IMAGE_TOKENS["gemini"]),)


def result(answer: FunctionResponse, where: str) -> tuple[str, tuple[Media, ...]]:
    """Return the text and the media of a result. A response that is one named text becomes that text."""
    media = [image for part in api_parts(answer.parts, where) for image in _media(part)]
    response = answer.response
    if isinstance(response, dict) and len(response) == 1:
        key, value = next(iter(response.items()))
        if key in ("output", "error", "result", "content") and isinstance(value, str):
            return value, tuple(media)
    return ("" if response is None else compact_json(response)), tuple(media)


def with_compaction_notes(transcript: Transcript) -> Transcript:
    """Return a transcript with notes on compactions by Gemini CLI before it, whose traces are in its texts."""
    items = transcript.items
    masked = sum(item.kind == "tool_result" and "<tool_output_masked>" in item.text for item in items)
    summaries = sum(item.kind == "user" and item.text.lstrip().startswith("<state_snapshot>") for item in items)
    notes = [f"{masked} result(s) had been masked by the agent"] if masked else []
    if summaries:
        notes.append(f"{summaries} summary(s) by the agent stand for earlier history, as user text")
    return msgspec.structs.replace(transcript, notes=(*transcript.notes, *notes))


class Content(msgspec.Struct):
    """One turn. Tool results are in a `user` turn, in older clients in a `function` turn."""

    role: Literal["user", "model", "function"] | None = None
    parts: Any = None


class _Request(msgspec.Struct, rename="camel"):
    system_instruction: Any = None
    tools: list[Any] | None = None
    config: Any = None


def add_head(assembly: Assembly, value: dict[str, Any], where: str) -> None:
    """Add the system instruction and the declared functions. Raises InputError if they don't fit."""
    request = convert(camel(value), _Request, where)
    # The Python library keeps both in its config.
    if isinstance(request.config, dict):
        add_head(assembly, request.config, where)
    system = request.system_instruction
    if system:
        parts = api_parts(system["parts"] if has(system, parts=object) else system, where)
        assembly.system.append("\n".join(part.text for part in parts if part.text))
    for tool in request.tools or []:
        declared = camel(tool).get("functionDeclarations") if isinstance(tool, dict) else None
        assembly.tools += map(compact_json, declared if isinstance(declared, list) else [tool])


def add_contents(assembly: Assembly, contents: list[Any], where: str) -> None:
    """Add the turns; successive turns of the model are one response. Raises InputError for a turn that doesn't fit."""
    turns: list[tuple[bool, list[ApiPart], str]] = []
    for number, entry in enumerate(contents):
        place = f"{where} content {number}"
        content = convert(entry, Content, place)
        turns.append((content.role == "model", api_parts(content.parts, place), place))
    for by_model, some in groupby(turns, key=lambda turn: turn[0]):
        if by_model:
            # Streamed pieces of one response can be turns of their own.
            assembly.response([made for _, parts, _ in some for made in response_parts(parts)])
        else:
            for _, parts, place in some:
                add_user_parts(assembly, parts, place)
