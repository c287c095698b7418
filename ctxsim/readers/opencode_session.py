"""One session of OpenCode: messages and their parts as the requests and responses that they stand for.

Source of what is sent and what is not: https://github.com/sst/opencode (`session/message-v2.ts`, `toModelMessages`)
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from ctxsim.readers import assembly as base
from ctxsim.readers.assembly import Assembly, left_out
from ctxsim.readers.blocks import IMAGE_TOKENS
from ctxsim.readers.source import compact_json, time_s
from ctxsim.transcript import Media, Transcript, Usage

# Written beside the conversation: marks, snapshots of the files, and what the user interface shows.
_MARKS = ("step-start", "step-finish", "snapshot", "patch", "retry", "agent")
_CONTENT = ("text", "reasoning", "tool")
# OpenCode puts the content of such files in a text part and doesn't send the file.
_EXPANDED = ("text/plain", "application/x-directory")
_INTERRUPTED = "[Tool execution was interrupted]"


class Session(msgspec.Struct):
    """A session; `parentID` is the session whose task tool started it."""

    id: str
    parent_id: str | None = msgspec.field(default=None, name="parentID")


class Cache(msgspec.Struct):
    """Cached tokens of a request."""

    read: int | None = None
    write: int | None = None


class Tokens(msgspec.Struct):
    """Usage of a step; `input` is what was neither read from the cache nor written to it."""

    input: int = 0
    output: int | None = None
    reasoning: int | None = None
    cache: Cache | None = None

    def whole(self) -> Usage | None:
        """Tokens of the whole prompt; None if nothing was counted."""
        cache = self.cache or Cache()
        prompt = self.input + (cache.read or 0) + (cache.write or 0)
        return Usage(prompt, self.output, cache.read, cache.write, self.reasoning) if prompt else None


class Time(msgspec.Struct):
    """Milliseconds since 1970; `compacted` is when a result was cleared from later requests."""

    created: float | None = None
    start: float | None = None
    compacted: float | None = None


class Model(msgspec.Struct):
    """Which model a message is for."""

    model_id: str = msgspec.field(default="", name="modelID")


class Info(msgspec.Struct):
    """A message without its parts."""

    id: str
    role: str
    time: Time | None = None
    tokens: Tokens | None = None
    model_id: str = msgspec.field(default="", name="modelID")
    model: Model | None = None
    summary: Any = None
    error: Any = None
    system: Any = None

    @property
    def created_ms(self) -> float:
        """When the message was made."""
        return self.time.created or 0 if self.time else 0

    @property
    def aborted(self) -> bool:
        """Whether the user stopped the response, which then stays in the history."""
        return isinstance(self.error, dict) and self.error.get("name") == "MessageAbortedError"


class File(msgspec.Struct):
    """A file that a tool returned."""

    mime: str = ""


class State(msgspec.Struct):
    """What became of a tool call."""

    status: str = ""
    input: Any = None
    output: str | None = None
    error: str | None = None
    time: Time | None = None
    attachments: list[File] | None = None


class Part(msgspec.Struct):
    """A part of a message, of any type."""

    type: str
    message_id: str | None = msgspec.field(default=None, name="messageID")
    text: str = ""
    ignored: bool | None = None
    tool: str = ""
    call_id: str = msgspec.field(default="", name="callID")
    state: State | None = None
    tokens: Tokens | None = None
    mime: str = ""
    auto: bool | None = None
    time: Time | None = None

    @property
    def started_ms(self) -> float:
        """When the part began, or 0."""
        times = [self.time, self.state.time if self.state else None]
        return next((time.start for time in times if time and time.start), 0)


class Turn(msgspec.Struct):
    """A message with its parts."""

    info: Info
    parts: list[Part]


def _media(mime: str) -> Media:
    return Media(mime.partition("/")[0] or "file", IMAGE_TOKENS["anthropic"])


def transcript(name: str, format: str, session: Session, turns: list[Turn], parent: str | None) -> Transcript:
    """Return a session as a transcript."""
    reading = _Reading(Assembly(name, format, parent))
    for turn in turns:
        reading.turn(turn)
    assembly = reading.assembly
    if session.parent_id and not parent:
        assembly.notes.append(f"sub-session of {session.parent_id}, which is not in this source")
    return reading.finished()


class _Reading:
    """What has been read of a session so far."""

    def __init__(self, assembly: Assembly) -> None:
        self.assembly = assembly
        self.skipped: Counter[str] = Counter()
        self.compacted = False
        self.cleared_s: list[float] = []

    def turn(self, turn: Turn) -> None:
        """Read a message."""
        info = turn.info
        if info.system and not self.assembly.system:
            self.assembly.system += info.system if isinstance(info.system, list) else [str(info.system)]
        if info.role == "user":
            self._user(turn)
        elif info.summary is True:
            self._compaction(None)
            self.skipped["summary by the agent's own compaction"] += 1
        elif info.error and not (info.aborted and turn.parts):
            # Later requests leave such a message out, whatever it had said before it failed.
            self.skipped["response that failed"] += 1
        else:
            self._assistant(turn)

    def _user(self, turn: Turn) -> None:
        parts: list[base.Part] = []
        for part in turn.parts:
            if part.type == "text" and not part.ignored:
                parts.append(base.Part("user", part.text))
            elif part.type == "file" and part.mime not in _EXPANDED:
                parts.append(base.Part("user", media=(_media(part.mime),)))
            elif part.type == "compaction":
                self._compaction(part.auto)
            elif part.type not in _MARKS:
                kinds = {"text": "text marked as ignored", "file": "file whose content stands in a text part"}
                self.skipped[kinds.get(part.type, part.type)] += 1
        self.assembly.user(*parts)
        if not turn.parts:
            self.skipped["user message without content"] += 1

    def _compaction(self, auto: bool | None) -> None:
        note = f"recorded compaction before call {self.assembly.calls + 1}"
        self.compacted = True
        # The message that asks for a compaction is followed by the summary: one compaction, one note.
        if not any(text.startswith(f"{note} ") for text in self.assembly.notes):
            self.assembly.notes.append(
                f"{note} ({'how is not recorded' if auto is None else 'auto' if auto else 'manual'})"
            )

    def _assistant(self, turn: Turn) -> None:
        """Read a message as one response per step; without marks, text after a tool call is the next response."""
        steps: list[list[Part]] = [[]]
        marked = any(part.type == "step-start" for part in turn.parts)
        for part in turn.parts:
            starts = part.type == "step-start"
            if not marked and part.type in ("text", "reasoning"):
                starts = any(earlier.type == "tool" for earlier in steps[-1])
            if starts and any(earlier.type in _CONTENT for earlier in steps[-1]):
                steps.append([])
            steps[-1].append(part)
        steps = [step for step in steps if any(part.type in _CONTENT for part in step)]
        if not steps:
            self.skipped["response without content"] += 1
        for number, step in enumerate(steps, 1):
            usages = [part.tokens for part in step if part.type == "step-finish" and part.tokens]
            # A message carries the usage of its last step.
            tokens = usages[-1] if usages else turn.info.tokens if number == len(steps) else None
            # It was made when its first request was sent; of later requests only the response's first part has a time.
            starts_ms = [part.started_ms for part in step if part.started_ms]
            time = time_s(turn.info.created_ms if number == 1 or not starts_ms else starts_ms[0])
            self._response(turn.info, step, tokens.whole() if tokens else None, time)
        for part in turn.parts:
            if part.type == "compaction":
                self._compaction(part.auto)
            elif part.type not in (*_CONTENT, *_MARKS):
                self.skipped[part.type] += 1

    def _response(self, info: Info, step: list[Part], usage: Usage | None, time: float | None) -> None:
        parts: list[base.Part] = []
        for part in step:
            match part.type:
                case "text":
                    parts += [base.Part("assistant", part.text)] if part.text else []
                case "reasoning":
                    parts.append(base.Part("reasoning", part.text))
                case "tool":
                    arguments = compact_json(part.state.input if part.state else None)
                    parts.append(base.Part("tool_call", arguments, part.tool, part.call_id))
        cleared = time is not None and any(moment_s <= time for moment_s in self.cleared_s)
        model = info.model_id or (info.model.model_id if info.model else "")
        self.assembly.response(parts, usage, time, model, comparable=not self.compacted and not cleared)
        for part in step:
            if part.type == "tool" and part.state:
                self._result(part, part.state)

    def _result(self, part: Part, state: State) -> None:
        text = state.output if state.output is not None else state.error
        if text is None and state.status in ("pending", "running"):
            text = _INTERRUPTED
        if text is None:
            return
        media = tuple(_media(file.mime) for file in state.attachments or [])
        self.assembly.result(text, part.call_id, part.tool, media)
        if state.time and state.time.compacted:
            self.cleared_s.append(state.time.compacted / 1000)

    def finished(self) -> Transcript:
        """Return the transcript."""
        assembly = self.assembly
        assembly.head_recorded = bool(assembly.system)
        if self.cleared_s:
            assembly.notes.append(f"{len(self.cleared_s)} old result(s) were cleared from later requests: kept here")
        assembly.notes += left_out(self.skipped)
        if not assembly.calls:
            assembly.notes.append("no response of the model in this session")
        return assembly.transcript()
