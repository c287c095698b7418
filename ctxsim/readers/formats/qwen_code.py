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

from collections import Counter as Frequencies
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any

import msgspec

from ctxsim.readers.assembly import Assembly, gemini, kept_and_new, session_tree
from ctxsim.readers.source import Sample, Source, convert, has, time_s, under
from ctxsim.transcript import Kind, Transcript, Usage

NAME = "qwen-code"
TITLE = "Qwen Code sessions"
MARKS = ("systemPayload", "parts")
VERSIONS = "Qwen Code 0.21 to 0.24"
READS = "the branch a session ended on, sub-agents as transcripts of their own"
NOT_READ = "toolCallResult (what the terminal showed), abandoned branches, system lines without compression or usage"

KNOWN = session_tree.CHAT | {"system"}

COUNTS = {
    "input_token_count": "promptTokenCount", "output_token_count": "candidatesTokenCount",
    "cached_content_token_count": "cachedContentTokenCount", "thoughts_token_count": "thoughtsTokenCount",
    "total_token_count": "totalTokenCount",
}  # fmt: skip
"""Names of counts in lines of telemetry, which state every request, each with the name in a message."""

DISPLAY_ONLY = {"realtime_message", "code_mode_tool_result"}
"""Subtypes of lines that have a message but are not in the history sent to the model (session-api-history.ts)."""


class _Message(msgspec.Struct):
    parts: Any = None
    role: str = ""


class _Usage(gemini.GeminiUsage, rename="camel"):
    total_token_count: int | None = None

    def request(self) -> Usage | None:
        """The usage of the request, or None if it holds no numbers."""
        if not self.prompt_token_count:
            return None
        # Whether thoughts are part of the candidates depends on the provider; the total has both.
        output = self.candidates_token_count
        if self.total_token_count and self.total_token_count > self.prompt_token_count:
            output = self.total_token_count - self.prompt_token_count
        return Usage(self.prompt_token_count, output, self.cached_content_token_count, None, self.thoughts_token_count)


class _Compression(msgspec.Struct):
    tokens_before: int | None = msgspec.field(default=None, name="info.originalTokenCount")
    tokens_after: int | None = msgspec.field(default=None, name="info.newTokenCount")
    history: list[_Message] = msgspec.field(default=[], name="compressedHistory")


class _Line(session_tree.Envelope):
    message: _Message | None = None
    model: str | None = None
    usage_metadata: _Usage | None = None
    system_payload: dict[str, Any] | None = None
    decoded: list[gemini.ApiPart] = msgspec.field(default_factory=list, name="(decoded)")
    """The parts of the message, and of further lines with the same uuid."""


def matches(sample: Sample) -> bool:
    """Lines with uuid, parent and session whose messages have parts, or that have a system payload."""
    return any(
        isinstance(record, dict)
        and record.keys() >= {"uuid", "parentUuid", "sessionId"}
        and str(record.get("type")) in KNOWN
        and ("systemPayload" in record or has(record.get("message"), parts=list))
        for record in sample.records
    )


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return the session, then the sub-agents that are in its file. The file of a sub-agent is one transcript."""
    notes: list[str] = []
    counts: Frequencies[str] = Frequencies()
    stated: set[Usage] = set()
    lines_of = _lines(source, notes, counts, stated)

    def main_of(project: PurePath, session: str) -> str:
        return str(project / "chats" / f"{session or PurePath(source.name).parent.name}.jsonl")

    for name, parent, lines in session_tree.conversations(source.name, lines_of, main_of):
        spawned = (line for line in lines if line.subtype == "parent_session")
        spawner = under(next((line.system_payload for line in spawned), None), "parentSessionId")
        if isinstance(spawner, str) and spawner and not parent:
            parent = session_tree.beside(source.name, spawner)
        yield _Conversation(Assembly(name, NAME, parent), counts, stated).transcript(lines, notes)
        # Notes and counts of the file go to its first conversation.
        notes, counts = [], Frequencies()


def _lines(source: Source, notes: list[str], counts: Frequencies[str], stated: set[Usage]) -> Iterator[_Line]:
    """Yield the lines; `stated` gets the usage that messages state."""
    known: dict[tuple[str, str], _Line] = {}
    for line in session_tree.tree_lines(source.records(notes), counts, KNOWN, _Line):
        if line.type not in KNOWN:
            yield line
            continue
        if line.type != "system" and line.message is None:
            counts[f"{line.type} line without a message"] += 1
        if line.type == "system":
            _telemetry(line, source)
        elif line.usage_metadata and (usage := line.usage_metadata.request()):
            stated.add(_same(usage))
        parts = line.message.parts if line.message else None
        line.decoded = gemini.api_parts(parts, f"{source.name}:{line.line}")
        earlier = known.setdefault((line.type, line.uuid), line) if line.uuid else line
        if earlier is line:
            yield line
            continue
        # A later line of the same uuid is the same message, written in two parts or written again.
        new = [part for part in line.decoded if part not in earlier.decoded]
        if not new:
            counts["repeated line"] += 1
        earlier.decoded += new
        earlier.model = line.model or earlier.model
        earlier.usage_metadata = line.usage_metadata or earlier.usage_metadata


def _telemetry(line: _Line, source: Source) -> None:
    """Give a line of telemetry the usage and the model of its request, unless the file of a sub-agent states them."""
    event = under(line.system_payload, "uiEvent")
    if not has(event, input_token_count=int):
        return
    # `SESSION########NUMBER`; of sub-agents `SESSION#NAME-ID#NUMBER`.
    _, name, *rest = [*str(event.get("prompt_id")).split("#"), ""]
    if name and rest:
        session = source.place.parent.parent / "subagents" / source.place.name.partition(".")[0]
        own = f"agent-{name.rpartition('-')[0]}-"
        if any(file.startswith(own) and ".jsonl" in file for file in source.files_in(session)):
            return
    where = f"{source.name}:{line.line}"
    line.usage_metadata = convert({new: event.get(old) for old, new in COUNTS.items()}, _Usage, where)
    line.model = str(event.get("model") or "")


def _same(usage: Usage) -> Usage:
    """Return usage without the counts that a message may leave out; telemetry has 0 for them."""
    return Usage(usage.input_tokens, usage.output_tokens, usage.cache_read_tokens or None)


class _Conversation:
    def __init__(self, assembly: Assembly, counts: Frequencies[str], stated: set[Usage]) -> None:
        self.assembly, self.stated = assembly, stated
        assembly.left_out = counts
        # A request that no message states: the summary's if a compression follows.
        self.asked: tuple[Usage, float | None, str] | None = None
        self.whole_history = True

    def transcript(self, lines: Sequence[_Line], notes: list[str]) -> Transcript:
        kept = session_tree.branch(lines)
        for position, line in enumerate(lines):
            if line.type in KNOWN:
                self.add(line, on_branch=position in kept)
        self.paid()
        self.assembly.project, self.assembly.version = session_tree.where(lines)
        self.assembly.notes += notes
        return self.assembly.finished()

    def add(self, line: _Line, on_branch: bool) -> None:
        usage = line.usage_metadata.request() if line.usage_metadata else None
        if line.type != "system":
            self.paid()
        if line.type == "system" and not (on_branch and line.subtype in ("chat_compression", "agent_bootstrap")):
            self.assembly.left_out[f"system {line.subtype or 'line'}"] += 1
            if usage and _same(usage) not in self.stated:
                self.stated.add(_same(usage))
                self.paid()
                self.asked = usage, time_s(line.timestamp), line.model or ""
        elif line.type == "system":
            self._history_replaced(line)
        elif not on_branch:
            self.assembly.left_out["line of an abandoned branch"] += 1
            if line.type == "assistant":
                self.assembly.beside(usage, time_s(line.timestamp), line.model or "")
        elif line.subtype in DISPLAY_ONLY:
            self.assembly.left_out[f"{line.subtype} line"] += 1
        elif line.type == "assistant":
            parts = gemini.response_parts(line.decoded)
            # The time at which the response was written; the start of the request isn't recorded.
            self.assembly.response(parts, usage, time_s(line.timestamp), line.model or "", self.whole_history)
        else:
            gemini.add_user_parts(self.assembly, line.decoded, f"{self.assembly.name}:{line.line}")

    def paid(self, summary: bool = False) -> None:
        """Add the last request that no message states."""
        asked, self.asked = self.asked, None
        if asked:
            self.assembly.beside(*asked, summary)

    def _history_replaced(self, line: _Line) -> None:
        """Add a compaction, or note a fork: requests from here on hold another history."""
        payload = line.system_payload or {}
        if line.subtype == "agent_bootstrap":
            self.assembly.notes.append("starts with the history of the session it was forked from, which is left out")
            self.whole_history = False
        else:
            where = f"{self.assembly.name}:{line.line}"
            compression = convert(payload, _Compression, where)
            history = _said(compression.history, f"{where} compressedHistory")
            kept, new = kept_and_new(self.assembly.items, history)
            self.assembly.compacted("", new, kept, compression.tokens_before, compression.tokens_after)
            self.paid(summary=True)
            self.whole_history = True


def _said(history: list[_Message], where: str) -> Iterator[tuple[Kind, str]]:
    for content in history:
        parts = gemini.api_parts(content.parts, where)
        for part in parts:
            if part.function_response:
                yield "tool_result", gemini.result(part.function_response, where)[0]
        others = [part for part in parts if not part.function_response]
        made = gemini.response_parts(others) if content.role == "model" else gemini.user_parts(others)
        yield from ((part.kind, part.text) for part in made)
