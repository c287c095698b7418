"""A request's tools, and the one for a step: the recorded one or, if results lie in files, one that reads a file."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ctxsim.live.exchange import Tool, ToolCall
from ctxsim.live.script import Wanted
from ctxsim.readers.assembly.gemini import camel
from ctxsim.readers.assembly.requests.bodies import Api
from ctxsim.readers.source import under
from ctxsim.readers.source.values import objects

SHELL = ("command", "cmd", "script")
"""Names of the parameter that takes the command, in tools that run one."""

READ = ("file_path", "filePath", "absolute_path", "path", "target_file")
"""Names of the parameter that takes the path, in tools that read a file."""

Template = Mapping[str, Any]
"""A tool's arguments, with the placeholder `{file}` for the file's path."""


SCHEMAS = ("parametersJsonSchema", "parameters", "inputSchema")
"""Names of a tool's JSON schema in the APIs, in camel case; of several the first one holds."""


def tools_of(api: Api, entry: dict[str, Any]) -> Iterator[Tool]:
    """Yield the tools of an entry in a request's list of tools; none for one that the vendor runs itself.

    A missing or invalid part of a tool counts as empty.
    """
    declared: Any = [entry]
    if api == "chat":
        declared = [entry.get("function")]
    elif api == "gemini":
        declared = camel(entry).get("functionDeclarations")
    elif api == "responses" and entry.get("type") != "function":
        return
    for function in map(camel, objects(declared)):
        schema = next((function[key] for key in SCHEMAS if key in function), None)
        found, required = under(schema, "properties"), under(schema, "required")
        yield Tool(
            str(function.get("name", "")),
            found if isinstance(found, dict) else {},
            tuple(name for name in required if isinstance(name, str)) if isinstance(required, list) else (),
        )


def tool_call(
    wanted: Wanted, tools: Sequence[Tool], preferred: Mapping[str, Template], folder: str | None
) -> tuple[str, str] | None:
    """Return the name and the JSON arguments of a call that gives the wanted result; None if no tool can give it.

    If `folder`, which holds the results, is None, only the recorded tool will do. Otherwise a tool that reads a file is
    chosen: the first offered one of `preferred`, which are templates by tool name, or one with a known parameter.
    """
    offered = {tool.name: tool for tool in tools}
    if folder is None:
        return (wanted.call.tool, wanted.call.text) if wanted.call.tool in offered else None
    path = f"{folder}/{wanted.file}" if folder else wanted.file
    for name, template in preferred.items():
        if name in offered:
            return name, json.dumps(template).replace("{file}", json.dumps(path)[1:-1])
    for names, value in ((SHELL, f"cat {path}"), (READ, path)):
        for tool in tools:
            key = next((name for name in names if name in tool.parameters), None)
            if key is not None:
                return tool.name, json.dumps(_arguments(tool, key, value))
    return None


def ending(tools: Sequence[Tool], ends: Mapping[str, Template], call_id: str) -> tuple[ToolCall, ...]:
    """Return the call that ends a turn, in a tuple that is empty if the agent needs none."""
    offered = {tool.name for tool in tools}
    found = [ToolCall(call_id, name, json.dumps(arguments)) for name, arguments in ends.items() if name in offered]
    return tuple(found[:1])


def _arguments(tool: Tool, key: str, value: str) -> dict[str, Any]:
    """Return arguments that fit the schema: `key` with its value, and some value for each other required one."""
    schema = tool.parameters[key]
    whole: Any = value.split(" ", 1) if isinstance(schema, dict) and schema.get("type") == "array" else value
    return {key: whole, **{name: _something(tool.parameters.get(name)) for name in tool.required if name != key}}


def _something(schema: Any) -> Any:
    schema = schema if isinstance(schema, dict) else {}
    if schema.get("enum"):
        return schema["enum"][0]
    by_type = {"boolean": False, "integer": 1, "number": 1, "array": [], "object": {}}
    return by_type.get(str(schema.get("type", "")), "result")
