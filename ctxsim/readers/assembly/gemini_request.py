"""A request to the Gemini API: its system instruction, its declared functions, and its contents.

Documentation: https://ai.google.dev/api/caching#Content
"""

from typing import Any, Literal

import msgspec

from ctxsim.readers.assembly import Assembly, Part
from ctxsim.readers.assembly.gemini_parts import add_user_parts, api_parts, response_parts
from ctxsim.readers.source import compact_json, convert


class Content(msgspec.Struct):
    """One turn. Results stand in a `user` turn, in older clients in a `function` turn."""

    role: Literal["user", "model", "function"] | None = None
    parts: Any = None


class _Request(msgspec.Struct, rename="camel"):
    system_instruction: Any = None
    tools: list[Any] | None = None
    config: Any = None


def add_head(assembly: Assembly, value: dict[str, Any], where: str) -> None:
    """Add the system instruction and the declared functions. Raises InputError if they don't fit."""
    names = {"system_instruction": "systemInstruction"}
    request = convert({names.get(key, key): field for key, field in value.items()}, _Request, where)
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
        add_user_parts(assembly, parts, place)
    if made is not None:
        assembly.response(made)
