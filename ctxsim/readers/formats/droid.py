"""Factory Droid: session files with Anthropic's blocks, and the stream that `droid exec` prints.

Documentation: https://docs.factory.ai (`droid exec --output-format stream-json`)

    {"type": "session_start", "id": "s", "title": "Mail", "cwd": "/w"}
    {"type": "message", "id": "m1", "timestamp": "2026-01-01T12:00:00Z",
     "message": {"role": "user", "content": [{"type": "text", "text": "Any mail?"}]}}

    {"type": "message", "role": "user", "text": "Any mail?", "session_id": "s", "timestamp": 1767268800000}
    {"type": "tool_call", "toolCallId": "c1", "toolName": "search", "parameters": {"q": "mail"}, "session_id": "s"}
    {"type": "tool_result", "toolCallId": "c1", "value": "2 messages", "session_id": "s"}
    {"type": "completion", "finalText": "Two.", "session_id": "s"}
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from ctxsim.readers.assembly import Assembly, Part
from ctxsim.readers.assembly.anthropic_content import Turn, add_turn
from ctxsim.readers.assembly.responses import Exchanges
from ctxsim.readers.source import Sample, Source, compact_json, convert, has, time_s
from ctxsim.transcript import Transcript

NAME = "droid"
TITLE = "Factory Droid sessions"
MARKS = ("type=session_start", "toolName", "type=completion")
VERSIONS = "session files and streams of 0.8x (2026)"
READS = "Messages, tool calls and results, times, and the model where the stream names it."
NOT_READ = "The usage at the end of a stream, which is that of the whole run; settings files beside sessions."

_STREAM_TYPES = ("system", "message", "tool_call", "tool_result", "completion", "error", "reasoning")


class _StreamLine(msgspec.Struct, rename="camel"):
    type: str
    role: str = ""
    text: str = ""
    # A call's id and tool have one of two names.
    id: str = ""
    tool_call_id: str = ""
    tool_name: str = ""
    tool_id: str = ""
    parameters: Any = None
    value: Any = None
    final_text: str = ""
    model: str = ""
    cwd: str | None = None
    timestamp: Any = None
    usage: Any = None


def matches(sample: Sample) -> bool:
    """A session file by its first line, a stream by all its types and the session on every line."""
    records = sample.records
    if not records or not all(isinstance(record, dict) for record in records):
        return False
    return _is_session(records) or (
        all(record.get("type") in _STREAM_TYPES and {"session_id", "sessionId"} & record.keys() for record in records)
        and any(
            (record["type"] == "message" and has(record, text=str))
            or (record["type"] == "tool_call" and has(record, toolName=str))
            for record in records
        )
    )


def _is_session(records: list[Any]) -> bool:
    return records[0].get("type") == "session_start" and all(
        has(record, message=dict) for record in records if record.get("type") == "message"
    )


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return the one transcript of a file."""
    assembly = Assembly(source.name, NAME)
    if _is_session(sample.records):
        _add_session(assembly, source)
    else:
        _add_stream(assembly, source)
    yield assembly.finished()


def _add_session(assembly: Assembly, source: Source) -> None:
    for kind, value, where in assembly.lines(source, ("message", "session_start")):
        if kind == "session_start":
            assembly.project = str(value.get("cwd") or "")
            continue
        # The time is that of the finished response.
        add_turn(assembly, convert(value.get("message"), Turn, where), where, time_s=time_s(value.get("timestamp")))


def _add_stream(assembly: Assembly, source: Source) -> None:
    """Put a stream's text and calls together again: a response ends where results or the user's text begin."""
    exchanges = Exchanges(assembly)
    for _, value, where in assembly.lines(source, _STREAM_TYPES):
        line = convert(value, _StreamLine, where)
        time = time_s(line.timestamp)
        tool, call_id = line.tool_name or line.tool_id, line.tool_call_id or line.id
        match line.type:
            case "system":
                exchanges.model, assembly.project = line.model, line.cwd or ""
            case "message" if line.role == "user":
                exchanges.close()
                assembly.user(line.text)
            case "message" if line.role == "assistant":
                exchanges.made(Part("assistant", line.text), time)
            case "reasoning":
                exchanges.made(Part("reasoning", line.text), time)
            case "tool_call":
                exchanges.made(Part("tool_call", compact_json(line.parameters or {}), tool, call_id), time)
            case "tool_result":
                exchanges.close()
                assembly.result("" if line.value is None else compact_json(line.value), call_id, tool)
            case "completion":
                assembly.left_out["usage of the whole run"] += line.usage is not None
                # Some versions also print the last text as a message of its own.
                if line.final_text and [part.text for part in exchanges.parts[-1:]] != [line.final_text]:
                    exchanges.made(Part("assistant", line.final_text), time)
            case _:
                assembly.left_out[f"{line.type} {line.role}".strip()] += 1
    exchanges.close()
