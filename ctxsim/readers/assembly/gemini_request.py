"""A request to the Gemini API: its system instruction, its declared functions, and its contents.

Documentation: https://ai.google.dev/api/caching#Content
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from ctxsim.readers.assembly.assembly import Assembly, Part
from ctxsim.readers.assembly.gemini_parts import ApiPart, api_parts, response_parts, result, user_parts
from ctxsim.readers.source import compact_json, convert

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


def add_head(assembly: Assembly, value: dict[str, Any], where: str) -> None:
    """Add the system instruction and the declared functions. Raises InputError if they don't fit."""
    request = convert({HEAD_CAMEL.get(key, key): field for key, field in value.items()}, Request, where)
    # The Python library keeps both in its config.
    if isinstance(request.config, dict):
        add_head(assembly, request.config, where)
    system = request.system_instruction
    if system:
        parts = api_parts(system["parts"] if isinstance(system, dict) and "parts" in system else system, where)
        assembly.system.append("\n".join(part.text for part in parts if part.text))
    for tool in request.tools or []:
        declared = (
            tool.get("functionDeclarations", tool.get("function_declarations")) if isinstance(tool, dict) else None
        )
        assembly.tools += map(compact_json, declared if isinstance(declared, list) else [tool])


def add_contents(assembly: Assembly, contents: list[Any], where: str) -> None:
    """Add the turns; those of the model that follow each other are one response. Raises InputError for a bad one."""
    made: list[Part] | None = None
    for number, entry in enumerate(contents):
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


def _add_user(assembly: Assembly, parts: list[ApiPart], where: str) -> None:
    for part in parts:
        if part.function_response:
            answer = part.function_response
            text, media = result(answer, where)
            assembly.result(text, answer.id or "", answer.name, media)
    assembly.user(*user_parts([part for part in parts if not part.function_response]))
