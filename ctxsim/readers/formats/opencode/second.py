"""Sessions of OpenCode 2: a row for each input, each request's response, and each compaction.

Source: https://github.com/anomalyco/opencode, packages/schema/src (session-message.ts, token-usage.ts, tool.ts) and
packages/core/src/session (sql.ts, projector.ts, runner/to-llm-message.ts).

    session_v2        id ses_1, parent_id, fork_session_id, directory, version, time_created
    session_message   id msg_1, session_id ses_1, seq 3, type assistant, data {"time": {"created": 1000}, "model":
      {"id": "m"}, "content": [{"type": "tool", "id": "c1", "name": "search", "state": {"status": "completed",
      "input": {"q": "mail"}, "content": [{"type": "text", "text": "2 messages"}]}}], "tokens": {"input": 90, ...}}
"""

from base64 import b64decode
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import field

from ctxsim.readers.assembly import IMAGE_TOKENS, Assembly, Part, text_and_media
from ctxsim.readers.assembly.numbers import added, in_parts
from ctxsim.readers.assembly.stores import Connection, cell, row
from ctxsim.readers.source import compact_json, under
from ctxsim.readers.source.values import objects
from ctxsim.transcript import Media, Transcript, Usage

COLUMNS = {
    "session_v2": {"id", "parent_id", "time_created"},
    "session_message": {"id", "session_id", "type", "seq", "data"},
}
"""The columns that are read, by table."""

_MARKS = ("agent-switched", "model-switched", "location-switched", "idle")
_AS_TEXT = ("text/plain", "application/x-directory")


class _Message(msgspec.Struct):
    """A row: its type, and the fields of all types in its data."""

    type: str
    created_ms: float | None = field(default=None, name="time.created")
    # Of a user, a skill, OpenCode itself, and the command that a user ran.
    text: str = ""
    files: list[Any] | None = None
    command: str = ""
    output: str | None = field(default=None, name="output.output")
    # Of a response. Output is counted without reasoning, input without what the cache read or wrote.
    content: list[Any] | None = None
    model: str = field(default="", name="model.id")
    fresh: int | None = field(default=0, name="tokens.input")
    made: int | None = field(default=None, name="tokens.output")
    reasoning: int | None = field(default=None, name="tokens.reasoning")
    read: int | None = field(default=None, name="tokens.cache.read")
    written: int | None = field(default=None, name="tokens.cache.write")
    cost: Any = None
    # Of a compaction: `recent` is the end of the history, written out.
    status: str = ""
    reason: str = ""
    summary: str = ""
    recent: str = ""

    def usage(self) -> Usage | None:
        """Return what its request used; None if that isn't known."""
        output = added(self.made, self.reasoning)
        usage = in_parts(self.fresh, output, self.read, self.written, self.reasoning, self.cost)
        return usage if usage.input_tokens else None


def session_of(found: Connection, session: str, name: str, parent: str | None) -> Transcript | None:
    """Return a session as a transcript; None if it has no messages. Raises InputError for data that doesn't fit."""
    asked = "SELECT id, type, data FROM session_message WHERE session_id = ? ORDER BY seq"
    rows = found.execute(asked, (session,))
    messages = [cell(data, _Message, f"{name} message {message}", type=kind) for message, kind, data in rows]
    about = row(found, "session_v2", "id", session)
    if not messages or not about:
        return None
    assembly = Assembly(name, "opencode", parent)
    assembly.project, assembly.version = (str(about.get(key) or "") for key in ("directory", "version"))
    assembly.head_recorded = False
    # A fork copies messages with their times, so they are older than the session.
    forked_ms = about["time_created"] if about.get("fork_session_id") else 0
    copied = sum((message.created_ms or forked_ms) < forked_ms for message in messages)
    for number, message in enumerate(messages, 1):
        _add(assembly, message)
        if number == copied and assembly.calls:
            assembly.inherited()
    return assembly.finished()


def _add(assembly: Assembly, message: _Message) -> None:
    match message.type:
        case "user" | "synthetic" | "skill":
            assembly.user(*[Part("user", message.text)] * bool(message.text), *_files(message.files or []))
        case "shell":
            assembly.user(f"{message.command}\n{message.output or ''}")
        case "system":
            assembly.message("system", message.text)
        case "assistant":
            _respond(assembly, message)
        case "compaction":
            summary = message.status == "completed"
            if summary:
                assembly.compacted(message.reason, [message.summary, message.recent])
            assembly.beside(message.usage(), _time_s(message), message.model, summary)
        case kind if kind not in _MARKS:
            assembly.left_out[kind] += 1


def _time_s(message: _Message) -> float | None:
    return message.created_ms / 1000 if message.created_ms else None


def _files(files: list[Any]) -> Iterator[Part]:
    for file in objects(files):
        mime, data = str(file.get("mime")), file.get("data")
        if mime.startswith("image/"):
            yield Part("user", media=(Media("image", IMAGE_TOKENS["anthropic"]),))
        elif mime in _AS_TEXT and isinstance(data, str):
            with suppress(ValueError):
                yield Part("user", b64decode(data).decode(errors="replace"))


def _respond(assembly: Assembly, message: _Message) -> None:
    parts: list[Part] = []
    tools: list[dict[str, Any]] = []
    for block in objects(message.content):
        if block.get("type") == "tool":
            tools.append(block)
            given = compact_json(under(block, "state", "input"))
            parts.append(Part("tool_call", given, str(block.get("name")), str(block.get("id"))))
        elif text := block.get("text"):
            parts.append(Part("reasoning" if block.get("type") == "reasoning" else "assistant", str(text)))
    if not parts:
        # It failed before it said anything: later requests leave it out.
        assembly.left_out["response without content"] += 1
        assembly.beside(message.usage(), _time_s(message), message.model)
        return
    assembly.response(parts, message.usage(), _time_s(message), message.model)
    for tool in tools:
        state = tool.get("state")
        said = objects(state, "content") + [{"text": text} for text in [under(state, "error", "message")] if text]
        if said:
            text, media = text_and_media(said, "anthropic")
            assembly.result(text, str(tool.get("id")), media=media)
