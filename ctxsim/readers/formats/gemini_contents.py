"""Gemini API contents: a list of `user` and `model` turns with `parts`, a request that holds one, or JSONL of either.

Documentation: https://ai.google.dev/api/caching#Content; Gemini CLI saves them as checkpoints and with `/chat save`.

    {"systemInstruction": {"parts": [{"text": "Be brief."}]}, "contents": [
      {"role": "user", "parts": [{"text": "Any mail?"}]},
      {"role": "model", "parts": [{"functionCall": {"name": "search", "args": {"q": "mail"}}}]},
      {"role": "user", "parts": [{"functionResponse": {"name": "search", "response": {"output": "2 messages"}}}]},
      {"role": "model", "parts": [{"text": "Two."}]}]}
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from ctxsim.readers.assembly import Assembly, Part
from ctxsim.readers.assembly.conversations import conversations
from ctxsim.readers.assembly.gemini_parts import (
    ApiPart,
    api_parts,
    compaction_notes,
    response_parts,
    result,
    user_parts,
)
from ctxsim.readers.source import Sample, Source, compact_json, convert
from ctxsim.transcript import Transcript

NAME = "gemini-contents"
TITLE = "Gemini API contents"
DOCS = "https://ai.google.dev/api/caching#Content"
VERSIONS = "Gemini API v1beta, REST and Python field names; Gemini CLI checkpoints and saved chats"
READS = "Contents with all their parts, the system instruction, and function declarations."
NOT_READ = "Thought signatures, generation settings, and the screen history of checkpoints."

HOLDERS = ("contents", "clientHistory", "history")
HEAD_CAMEL = {"system_instruction": "systemInstruction"}


class Content(msgspec.Struct):
    """One turn. Results stand in a `user` turn, in older clients in a `function` turn."""

    role: Literal["user", "model", "function"] | None = None
    parts: Any = None


class Request(msgspec.Struct, rename="camel"):
    """What stands around the contents of a request."""

    system_instruction: Any = None
    tools: list[Any] | None = None
    config: Any = None


def matches(sample: Sample) -> bool:
    """A list of turns with parts, an object that holds one, or JSONL of either."""
    if not sample.records:
        return False
    return looks_like_contents(_contents(sample.records[0])) or looks_like_contents(sample.records)


def looks_like_contents(values: list[Any]) -> bool:
    """Whether these are contents: all have parts, and roles of Gemini."""
    return bool(values) and all(
        isinstance(value, dict) and "parts" in value and value.get("role") in ("user", "model", "function", None)
        for value in values
    )


def _contents(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    held = [value[key] for key in HOLDERS if isinstance(value.get(key), list)] if isinstance(value, dict) else []
    return next((contents for contents in held if looks_like_contents(contents)), [])


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return one transcript per list of contents."""
    for found in conversations(source, sample, one_per_line=bool(_contents(sample.records[0]))):
        yield _one(*found)


def _one(name: str, where: str, value: Any, notes: list[str]) -> Transcript:
    assembly = Assembly(name, NAME)
    assembly.notes += notes
    if isinstance(value, dict):
        _add_head(assembly, value, where)
    made: list[Part] | None = None
    for number, entry in enumerate(_contents(value) or [value]):
        place = f"{where} content {number}"
        content = convert(entry, Content, place)
        parts = api_parts(content.parts, place)
        if content.role == "model":
            # Streamed pieces of one response can be turns of their own.
            made = [*(made or []), *response_parts(parts)]
            continue
        if made is not None:
            assembly.response(made)
            made = None
        _add_user(assembly, parts, place)
    if made is not None:
        assembly.response(made)
    assembly.head_recorded = bool(assembly.system)
    transcript = assembly.transcript()
    return msgspec.structs.replace(transcript, notes=(*transcript.notes, *compaction_notes(transcript)))


def _add_head(assembly: Assembly, value: dict[str, Any], where: str) -> None:
    request = convert({HEAD_CAMEL.get(key, key): field for key, field in value.items()}, Request, where)
    # The Python library keeps both in its config.
    if isinstance(request.config, dict):
        _add_head(assembly, request.config, where)
    system = request.system_instruction
    if system:
        parts = api_parts(system["parts"] if isinstance(system, dict) and "parts" in system else system, where)
        assembly.system.append("\n".join(part.text for part in parts if part.text))
    for tool in request.tools or []:
        declared = (
            tool.get("functionDeclarations", tool.get("function_declarations")) if isinstance(tool, dict) else None
        )
        assembly.tools += map(compact_json, declared if isinstance(declared, list) else [tool])


def _add_user(assembly: Assembly, parts: list[ApiPart], where: str) -> None:
    for part in parts:
        if part.function_response:
            answer = part.function_response
            text, media = result(answer, where)
            assembly.result(text, answer.id or "", answer.name, media)
    assembly.user(*user_parts([part for part in parts if not part.function_response]))
