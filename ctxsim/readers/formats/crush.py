"""Crush: the database `.crush/crush.db` of a project, each message with its parts as JSON.

A summary is an assistant's message. Requests after it begin with its text, as a user's. A response's row is made when
its request is sent. A session's cost includes that of its sub-agents.

Documentation: https://github.com/charmbracelet/crush (`internal/db/migrations`, `internal/message/content.go`,
`internal/agent/agent.go`, `internal/agent/coordinator.go`)

    sessions   id s1, parent_session_id NULL, cost 0.02, summary_message_id NULL
    messages   id m1, session_id s1, role user, parts [{"type": "text", "data": {"text": "Any mail?"}}]
    messages   id m2, role assistant, model m, parts [{"type": "tool_call", "data": {"id": "c1", "name": "bash",
                 "input": "{\\"command\\": \\"ls\\"}"}}, {"type": "finish", "data": {"reason": "tool_use"}}]
    messages   id m3, role tool, parts [{"type": "tool_result", "data": {"tool_call_id": "c1", "content": "2 mails"}}]
"""

from base64 import b64decode
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import field

from ctxsim.readers.assembly import Assembly, Part, content_parts, dollars
from ctxsim.readers.assembly.anthropic_content import unshown
from ctxsim.readers.assembly.stores import Connection, cell, of_database, row
from ctxsim.readers.source import Sample, Source, convert_all, time_s
from ctxsim.transcript import Transcript

NAME = "crush"
TITLE = "Crush sessions"
MARKS = ("sessions",)
VERSIONS = "crush.db with the migrations of 2025 and 2026, as Crush's source code defines them; not tested on real ones"
READS = "Every session with its sub-agents: texts, thinking, tool calls and results, models, times, summaries, cost."
NOT_READ = "Not stored: system prompts, tools, the tokens of each request (of the last one, without cache writes)."

_COLUMNS = {
    "sessions": {"id", "parent_session_id", "cost", "created_at", "summary_message_id"},
    "messages": {"id", "session_id", "role", "parts", "model", "created_at"},
}


class _Piece(msgspec.Struct):
    """A part of a message, of any type."""

    type: str
    text: str = field(default="", name="data.text")
    thinking: str = field(default="", name="data.thinking")
    signature: str = field(default="", name="data.signature")
    id: str = field(default="", name="data.id")
    name: str = field(default="", name="data.name")
    input: str = field(default="", name="data.input")
    call_id: str = field(default="", name="data.tool_call_id")
    content: str = field(default="", name="data.content")
    # An image that a tool returned, or an attachment of the user.
    mime_type: str = field(default="", name="data.mime_type")
    attached: str = field(default="", name="data.MIMEType")
    path: str = field(default="", name="data.Path")
    data: str = field(default="", name="data.Data")
    # A command that the user ran, and what it printed.
    command: str = field(default="", name="data.command")
    output: str = field(default="", name="data.output")
    exit_code: int = field(default=0, name="data.exit_code")


def matches(sample: Sample) -> bool:
    """A database with Crush's tables of sessions and messages."""
    return sample.has_tables(_COLUMNS)


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return one transcript per session that has messages, in order of time."""
    flag = "is_summary_message" if "is_summary_message" in sample.tables["messages"] else "0"
    asked = f"""SELECT id, role, parts, model, created_at, {flag} FROM messages WHERE session_id = ?
    ORDER BY created_at, rowid"""

    def one(found: Connection, session: str, name: str, parent: str | None) -> Transcript | None:
        assembly, about = Assembly(name, NAME, parent), row(found, "sessions", "id", session)
        assembly.cost_usd = None if parent else dollars(about.get("cost"))
        messages = found.execute(asked, (session,)).fetchall()
        for key, role, parts, model, created, summary in messages:
            where = f"{name} message {key}"
            pieces = convert_all(cell(parts, list[Any], where), _Piece, where)
            if summary or key == about.get("summary_message_id"):
                assembly.compacted("", ["".join(piece.text for piece in pieces)])
            elif role == "assistant":
                _response(assembly, pieces, time_s(created), model or "")
            else:
                _given(assembly, pieces)
        return assembly.finished() if messages else None

    listed = "SELECT id, parent_session_id FROM sessions ORDER BY created_at, rowid"
    return of_database(source, lambda found: found.execute(listed), one)


def _response(assembly: Assembly, pieces: list[_Piece], sent_s: float | None, model: str) -> None:
    parts: list[Part] = []
    for piece in pieces:
        match piece.type:
            case "reasoning":
                parts.append(Part("reasoning", piece.thinking, media=unshown(piece.thinking, piece.signature)))
            case "text" if piece.text:
                parts.append(Part("assistant", piece.text))
            case "tool_call":
                parts.append(Part("tool_call", piece.input, piece.name, piece.id))
    if parts:
        assembly.response(parts, None, sent_s, model)
    else:
        assembly.left_out["empty response, aborted or failed"] += 1


def _given(assembly: Assembly, pieces: list[_Piece]) -> None:
    texts: list[str] = []
    images = 0
    for piece in pieces:
        match piece.type:
            case "tool_result":
                shown = [{"type": "text", "text": piece.content}]
                shown += [{"type": "image"}] if piece.mime_type.startswith("image/") else []
                assembly.message("tool", shown, piece.call_id, piece.name, "anthropic")
            case "text":
                texts.append(piece.text)
            case "binary" if piece.attached.startswith("text/"):
                with suppress(ValueError):
                    text = b64decode(piece.data).decode("utf-8", "replace")
                    texts.append(f"<file path='{piece.path}'>\n\n{text}\n</file>\n")
            case "binary":
                images += 1
            case _ if piece.command:
                texts.append(f"$ {piece.command}\n{piece.output}\n(exit code {piece.exit_code})")
            case "finish":
                pass
            case other:
                assembly.left_out[other] += 1
    blocks: list[Any] = [*({"type": "text", "text": text} for text in texts), *[{"type": "image"}] * images]
    assembly.user(*content_parts("user", blocks, "anthropic"))
