"""Qwen Code sessions: `~/.qwen/projects/<project>/chats/<session>.jsonl`, lines with Gemini parts that form a tree.

Lines of one uuid are one message. A rewind starts a new branch; the one that the session ended on is read.

Documentation: https://github.com/QwenLM/qwen-code/blob/main/packages/core/src/services/chatRecordingService.ts

    {"uuid": "u1", "parentUuid": null, "sessionId": "s", "type": "user",
      "message": {"role": "user", "parts": [{"text": "Any mail?"}]}}
    {"uuid": "a1", "parentUuid": "u1", "sessionId": "s", "type": "assistant", "model": "m",
      "usageMetadata": {"promptTokenCount": 9000, "candidatesTokenCount": 20},
      "message": {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "mail", "args": {"q": "new"}}}]}}
    {"uuid": "r1", "parentUuid": "a1", "sessionId": "s", "type": "tool_result", "message": {"role": "user",
      "parts": [{"functionResponse": {"id": "c1", "name": "mail", "response": {"output": "2 messages"}}}]}}
"""

from __future__ import annotations

from collections import Counter as Frequencies
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any

import msgspec

from ctxsim.readers.assembly import Assembly, left_out
from ctxsim.readers.assembly.gemini_parts import ApiPart, api_parts, response_parts, result, user_parts
from ctxsim.readers.assembly.new_history import kept_and_new
from ctxsim.readers.assembly.session_tree import (
    CHAT,
    Envelope,
    beside,
    branch,
    compaction_notes,
    conversations,
    link,
    where,
)
from ctxsim.readers.source import Sample, Source, convert, time_s
from ctxsim.transcript import Kind, Transcript, Usage

NAME = "qwen-code"
TITLE = "Qwen Code sessions"
DOCS = "https://github.com/QwenLM/qwen-code/blob/main/packages/core/src/services/chatRecordingService.ts"
MARKS = ("systemPayload", "parts")
VERSIONS = "0.21"
READS = "the branch a session ended on, sub-agents as transcripts of their own"
NOT_READ = "toolCallResult (what the terminal showed), abandoned branches, system lines other than compressions"

DISPLAY_ONLY = {"realtime_message", "code_mode_tool_result"}
"""Subtypes of lines that have a message but are not in the history sent to the model (session-api-history.ts)."""


class Message(msgspec.Struct):
    """A Gemini content; its parts are decoded by `api_parts`."""

    parts: Any = None
    role: str = ""


class UsageMetadata(msgspec.Struct, rename="camel"):
    """Gemini's usage; the prompt is whole, cached tokens included."""

    prompt_token_count: int | None = None
    candidates_token_count: int | None = None
    cached_content_token_count: int | None = None
    thoughts_token_count: int | None = None
    total_token_count: int | None = None

    def request(self) -> Usage | None:
        """Return the usage of the request, or None if it holds no numbers."""
        if not self.prompt_token_count:
            return None
        # Whether thoughts are part of the candidates depends on the provider; the total has both.
        output = self.candidates_token_count
        if self.total_token_count and self.total_token_count > self.prompt_token_count:
            output = self.total_token_count - self.prompt_token_count
        return Usage(
            self.prompt_token_count,
            output,
            self.cached_content_token_count,
            reasoning_tokens=self.thoughts_token_count,
        )


class CompressionInfo(msgspec.Struct, rename="camel"):
    """Sizes of a history before and after."""

    original_token_count: int | None = None
    new_token_count: int | None = None


class Compression(msgspec.Struct, rename="camel"):
    """A compression: what the history was replaced by."""

    info: CompressionInfo = msgspec.field(default_factory=CompressionInfo)
    compressed_history: list[Message] = []


class Line(Envelope):
    """A line that can be part of the conversation."""

    message: Message | None = None
    model: str | None = None
    usage_metadata: UsageMetadata | None = None
    system_payload: dict[str, Any] | None = None
    decoded: list[ApiPart] = msgspec.field(default_factory=list)
    """The parts of the message, and of further lines with the same uuid."""


def matches(sample: Sample) -> bool:
    """Lines with uuid, parent and session whose messages have parts, or that have a system payload."""
    return any(
        isinstance(record, dict)
        and record.keys() >= {"uuid", "parentUuid", "sessionId"}
        and str(record.get("type")) in CHAT | {"system"}
        and ("systemPayload" in record or _has_parts(record.get("message")))
        for record in sample.records
    )


def _has_parts(message: Any) -> bool:
    return isinstance(message, dict) and isinstance(message.get("parts"), list)


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return the session, then the sub-agents that are in its file. The file of a sub-agent is one transcript."""
    notes: list[str] = []
    counts: Frequencies[str] = Frequencies()
    main, agents = conversations(_lines(source, notes, counts))
    if len(agents) == 1 and not any(line.type in CHAT for line in main):
        ((_, lines),) = agents.items()
        session = next((line.session_id for line in lines if line.session_id), "")
        yield _transcript(source.name, _parent_name(source.name, session), lines, notes, counts)
        return
    spawner = next((_spawner(line) for line in main if line.subtype == "parent_session"), None)
    yield _transcript(source.name, beside(source.name, spawner) if spawner else None, main, notes, counts)
    for agent, lines in agents.items():
        yield _transcript(f"{source.name}#{agent}", source.name, lines, [], Frequencies())


def _lines(source: Source, notes: list[str], counts: Frequencies[str]) -> Iterator[Envelope]:
    known: dict[tuple[str, str], Line] = {}
    for record in source.records(notes):
        value = record.value
        kind = str(value.get("type")) if isinstance(value, dict) else "JSON that is no object"
        if kind not in CHAT and kind != "system":
            counts[kind] += 1
            other = link(value, kind, record.line) if isinstance(value, dict) else None
            if other:
                yield other
            continue
        where = f"{source.name}:{record.line}"
        line = convert(value, Line, where)
        line.line = record.line
        if kind in CHAT and line.message is None:
            counts[f"{kind} line without a message"] += 1
        line.decoded = api_parts(line.message.parts if line.message else None, where)
        earlier = known.setdefault((kind, line.uuid), line) if line.uuid else line
        if earlier is line:
            yield line
        else:
            _merge(earlier, line, counts)


def _merge(earlier: Line, line: Line, counts: Frequencies[str]) -> None:
    """Add what a later line of the same uuid has: it is the same message, written in two parts or written again."""
    new = [part for part in line.decoded if part not in earlier.decoded]
    if not new:
        counts["repeated line"] += 1
    earlier.decoded += new
    earlier.model = line.model or earlier.model
    earlier.usage_metadata = line.usage_metadata or earlier.usage_metadata


def _spawner(line: Envelope) -> str | None:
    payload = line.system_payload if isinstance(line, Line) else None
    session = (payload or {}).get("parentSessionId")
    return session if isinstance(session, str) else None


def _parent_name(name: str, session: str) -> str | None:
    """The session that a sub-agent's file belongs to: `subagents/<session>/agent-x.jsonl` is of `chats/<session>`."""
    folders = PurePath(name).parents
    project = next((folder.parent for folder in folders if folder.name == "subagents"), None)
    if project is None:
        return beside(name, session) if session else None
    return str(project / "chats" / f"{session or PurePath(name).parent.name}.jsonl")


def _transcript(
    name: str, parent: str | None, lines: Sequence[Envelope], notes: list[str], counts: Frequencies[str]
) -> Transcript:
    conversation = _Conversation(Assembly(name, NAME, parent), counts)
    kept = branch(lines)
    for position, line in enumerate(lines):
        if isinstance(line, Line):
            conversation.add(line, on_branch=position in kept)
    assembly = conversation.assembly
    assembly.project, assembly.version = where(lines)
    assembly.head_recorded = False
    assembly.notes += [*notes, *compaction_notes(conversation.compactions, assembly.calls), *left_out(counts)]
    if not assembly.calls:
        assembly.notes.append("no response of a model in it")
    return assembly.transcript()


class _Conversation:
    """One transcript in the making."""

    def __init__(self, assembly: Assembly, counts: Frequencies[str]) -> None:
        self.assembly = assembly
        self.counts = counts
        self.whole_history = True
        self.compactions: list[tuple[int, str, str]] = []

    def add(self, line: Line, on_branch: bool) -> None:
        """Add a line, or count it as left out."""
        if line.type == "system" and not (on_branch and line.subtype in ("chat_compression", "agent_bootstrap")):
            self.counts[f"system {line.subtype or 'line'}"] += 1
        elif line.type == "system":
            self._history_replaced(line)
        elif not on_branch:
            self.counts["line of an abandoned branch"] += 1
        elif line.subtype in DISPLAY_ONLY:
            self.counts[f"{line.subtype} line"] += 1
        elif line.type == "assistant":
            usage = line.usage_metadata.request() if line.usage_metadata else None
            parts = response_parts(line.decoded)
            # The time at which the response was written; the start of the request isn't recorded.
            self.assembly.response(parts, usage, time_s(line.timestamp), line.model or "", self.whole_history)
        else:
            self._user(line)

    def _user(self, line: Line) -> None:
        for part in line.decoded:
            if part.function_response:
                text, media = result(part.function_response, f"{self.assembly.name}:{line.line}")
                self.assembly.result(text, part.function_response.id or "", part.function_response.name, media)
        self.assembly.user(*user_parts([part for part in line.decoded if not part.function_response]))

    def _history_replaced(self, line: Line) -> None:
        """From here on requests hold the history that stands in the line itself."""
        payload = line.system_payload or {}
        if line.subtype == "agent_bootstrap":
            self.assembly.notes.append("starts with the history of the session it was forked from, which is left out")
            self.whole_history = False
        elif not self.assembly.calls:
            self.counts["compaction before the first response"] += 1
            return
        else:
            compression = convert(payload, Compression, f"{self.assembly.name}:{line.line}")
            tokens, info = compression.info.original_token_count, compression.info
            said = f"{tokens} tokens" if tokens is not None else ""
            self.compactions.append((self.assembly.calls + 1, "recorded compaction", said))
            kept, new = kept_and_new(self.assembly.items, self._said(compression, line.line))
            self.assembly.compacted("", new, kept, tokens, info.new_token_count)
            self.whole_history = True

    def _said(self, compression: Compression, number: int) -> Iterator[tuple[Kind, str]]:
        """Kinds and texts of the new history."""
        for content in compression.compressed_history:
            where = f"{self.assembly.name}:{number} compressedHistory"
            parts = api_parts(content.parts, where)
            for part in parts:
                if part.function_response:
                    yield "tool_result", result(part.function_response, where)[0]
            others = [part for part in parts if not part.function_response]
            made = response_parts(others) if content.role == "model" else user_parts(others)
            yield from ((part.kind, part.text) for part in made)
