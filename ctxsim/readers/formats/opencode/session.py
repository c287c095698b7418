"""One session of OpenCode: turns messages and their parts into the requests and responses that they stand for.

Source of what is sent and what is not: https://github.com/sst/opencode (`session/message-v2.ts`, `toModelMessages`)
"""

import math
from heapq import heappop, heappush
from itertools import pairwise
from typing import Any

import msgspec
from msgspec import field

from ctxsim.readers import assembly
from ctxsim.readers.assembly import IMAGE_TOKENS, Assembly
from ctxsim.readers.assembly.numbers import in_parts
from ctxsim.readers.assembly.stores import runs
from ctxsim.readers.source import compact_json, under
from ctxsim.transcript import Media, Transcript, Usage

# Written beside the conversation: marks, snapshots of the files, and what the user interface shows.
_MARKS = ("step-start", "step-finish", "snapshot", "patch", "retry", "agent")
_CONTENT = ("text", "reasoning", "tool")
# OpenCode puts the content of such files in a text part and doesn't send the file.
_EXPANDED = ("text/plain", "application/x-directory")

OTHER_USAGE = "message(s) whose tokens are not those of their last step: the step's are used"


class Session(msgspec.Struct):
    """A session; a task tool of the session `parentID` started it. `version` is OpenCode's, `directory` its project."""

    id: str
    parent_id: str | None = field(default=None, name="parentID")
    version: Any = ""
    directory: Any = ""
    created_ms: float | None = field(default=None, name="time.created")


class _Tokens(msgspec.Struct):
    # Tokens neither read from the cache nor written to it.
    input: int | None = 0
    output: int | None = None
    reasoning: int | None = None
    total: int | None = None
    cache: dict[str, int | None] | None = None

    def whole(self, cost_usd: Any) -> Usage | None:
        """Return usage of the whole prompt, with its cost; None if nothing was counted.

        Versions that state a total may count reasoning apart from the output, as the sum tells: Session.getUsage in
        https://github.com/Mai0313/VibeCodingTracker/pull/214.
        """
        read, written = under(self.cache, "read"), under(self.cache, "write")
        output, apart = self.output or 0, self.reasoning or 0
        summed = sum(part or 0 for part in (self.input, output, apart, read, written)) == self.total
        made = output + apart if summed else self.output
        usage = in_parts(self.input, made, read, written, self.reasoning, cost_usd)
        return usage if usage.input_tokens else None


class Info(msgspec.Struct):
    """A message without its parts."""

    id: str
    role: str
    created_ms: float | None = field(default=None, name="time.created")
    tokens: _Tokens | None = None
    cost: Any = None
    model_id: str = field(default="", name="modelID")
    model: str = field(default="", name="model.modelID")
    summary: Any = None
    error: Any = None
    parent_id: str = field(default="", name="parentID")
    system: Any = None


class Part(msgspec.Struct):
    """A part of a message, of any type."""

    type: str
    message_id: str | None = field(default=None, name="messageID")
    text: str = ""
    ignored: bool | None = None
    tool: str = ""
    call_id: str = field(default="", name="callID")
    # State and result of a tool call.
    state: Any = None
    status: str = field(default="", name="state.status")
    input: Any = field(default=None, name="state.input")
    output: str | None = field(default=None, name="state.output")
    error: str | None = field(default=None, name="state.error")
    attachments: list[Any] | None = field(default=None, name="state.attachments")
    # Milliseconds since 1970: when a call began, and when its result was cleared from later requests.
    called_ms: float | None = field(default=None, name="state.time.start")
    compacted_ms: float | None = field(default=None, name="state.time.compacted")
    tokens: _Tokens | None = None
    cost: Any = None
    mime: str = ""
    tail_start_id: str | None = None
    overflow: bool | None = None
    auto: bool | None = None
    started_ms: float | None = field(default=None, name="time.start")


class Message(msgspec.Struct):
    """A message with its parts."""

    info: Info
    parts: list[Part]


def _finished(parts: list[Part]) -> list[Part]:
    """The ends of steps that state tokens."""
    return [part for part in parts if part.type == "step-finish" and part.tokens]


def _media(mime: str) -> Media:
    return Media(mime.partition("/")[0] or "file", IMAGE_TOKENS["anthropic"])


def transcript(assembly: Assembly, session: Session, messages: list[Message]) -> Transcript:
    """Return a session as a transcript."""
    failed = {
        one.info.parent_id or before.info.id
        for before, one in pairwise(messages) if one.info.summary is True and one.info.error
    }  # fmt: skip
    reading = _Reading(assembly, failed)
    stated = (one if isinstance(one, str) else "" for one in (session.directory, session.version))
    assembly.project, assembly.version = stated
    # A fork copies messages with their times, so they are older than the session.
    forked_ms = session.created_ms or 0
    times = enumerate((message.info.created_ms or math.inf for message in messages), 1)
    copied = max((number for number, created_ms in times if created_ms < forked_ms), default=0)
    for number, message in enumerate(messages, 1):
        reading.message(message)
        if number == copied and assembly.calls:
            reading.inherited(forked_ms / 1000)
    if session.parent_id and not assembly.parent:
        assembly.notes.append(f"sub-session of {session.parent_id}, which is not in this source")
    return assembly.finished()


class _Reading(msgspec.Struct):
    assembly: Assembly
    # Messages that asked for a summary of which nothing came: the history stays.
    failed: set[str]
    # Old results that are cleared at some time: a heap of (time, place) to come, and the places done.
    to_clear: list[tuple[float, int]] = []
    cleared: set[int] = set()

    def inherited(self, forked_s: float) -> None:
        """End what a fork has copied. Results that were cleared before the fork are gone from its history."""
        self._clear(forked_s)
        moved = self.assembly.inherited()
        self.to_clear = [(when, place - moved) for when, place in self.to_clear if place >= moved]
        self.cleared = set()

    def message(self, message: Message) -> None:
        info = message.info
        self.assembly.place_of[info.id] = len(self.assembly.items)
        if info.system and not self.assembly.system:
            said = info.system if isinstance(info.system, list) else [info.system]
            self.assembly.system += map(str, said)
        if info.role == "user":
            self._user(message)
        elif info.summary is True and not info.error:
            self._compaction(Part("compaction"))
            self.assembly.compacted(summary=[part.text for part in message.parts if part.type == "text"])
            self._paid(message, summary=True)
        elif info.error and not (under(info.error, "name") == "MessageAbortedError" and message.parts):
            # Later requests leave it out, whatever it had said before it failed; what the user stopped stays.
            self.assembly.left_out["response that failed"] += 1
            self._paid(message)
        else:
            self._assistant(message)

    def _paid(self, message: Message, summary: bool = False) -> None:
        info = message.info
        each: list[Part] | list[Info] = _finished(message.parts) or [info]
        for one in each:
            usage = one.tokens.whole(one.cost) if one.tokens else None
            self.assembly.beside(usage, (info.created_ms or 0) / 1000, info.model_id or info.model, summary)

    def _user(self, message: Message) -> None:
        parts: list[assembly.Part] = []
        for part in message.parts:
            if part.type == "text" and not part.ignored:
                parts.append(assembly.Part("user", part.text))
            elif part.type == "file" and part.mime not in _EXPANDED:
                parts.append(assembly.Part("user", media=(_media(part.mime),)))
            elif part.type == "compaction":
                if message.info.id not in self.failed:
                    self._compaction(part)
            elif part.type not in _MARKS:
                kinds = {"text": "text marked as ignored", "file": "file whose content stands in a text part"}
                self.assembly.left_out[kinds.get(part.type, part.type)] += 1
        self.assembly.user(*parts)
        if not message.parts:
            self.assembly.left_out["user message without content"] += 1

    def _compaction(self, part: Part) -> None:
        """Add a compaction: a summary replaces the history before `tail_start_id`; the rest is kept."""
        items = self.assembly.items
        start = self.assembly.place_of.get(part.tail_start_id or "", len(items))
        by = "overflow" if part.overflow else "" if part.auto is None else "auto" if part.auto else "manual"
        self.assembly.compacted(by, (), range(start, len(items)))

    def _assistant(self, message: Message) -> None:
        """Read a message as one response per step; without marks, text after a tool call is the next response."""
        marked = any(part.type == "step-start" for part in message.parts)
        begins, after = (("step-start",), _CONTENT) if marked else (("text", "reasoning"), ("tool",))

        def goes_on(step: list[Part], part: Part) -> bool:
            return part.type not in begins or all(earlier.type not in after for earlier in step)

        steps = [step for step in runs(message.parts, goes_on) if any(part.type in _CONTENT for part in step)]
        if not steps:
            self.assembly.left_out["response without content"] += 1
        stated = [part.tokens for step in steps for part in _finished(step)]
        for number, step in enumerate(steps, 1):
            finished = _finished(step)
            # A message carries the usage of its last finished step, and the cost of all.
            last = number == len(steps)
            own = message.info.tokens if last and message.info.tokens not in stated[-1:] else None
            tokens = finished[-1].tokens if finished else own
            cost = finished[-1].cost if finished else message.info.cost if len(steps) == 1 else None
            differs = last and finished and message.info.tokens and tokens != message.info.tokens
            self.assembly.counts[OTHER_USAGE] += bool(differs)
            # A message's time is that of its first request; for later ones only the response's first part has a time.
            starts_ms = [start for part in step if (start := part.started_ms or part.called_ms)]
            made_ms = (message.info.created_ms or 0) if number == 1 or not starts_ms else starts_ms[0]
            self._response(message.info, step, tokens.whole(cost) if tokens else None, made_ms / 1000)
        for part in message.parts:
            if part.type == "compaction":
                self._compaction(part)
            elif part.type not in (*_CONTENT, *_MARKS):
                self.assembly.left_out[part.type] += 1

    def _response(self, info: Info, step: list[Part], usage: Usage | None, time_s: float) -> None:
        parts: list[assembly.Part] = []
        for part in step:
            match part.type:
                case "text":
                    parts += [assembly.Part("assistant", part.text)] if part.text else []
                case "reasoning":
                    parts.append(assembly.Part("reasoning", part.text))
                case "tool":
                    parts.append(assembly.Part("tool_call", compact_json(part.input), part.tool, part.call_id))
        cleared = self._clear(time_s)
        self.assembly.response(parts, usage, time_s, info.model_id or info.model, comparable=not cleared)
        for part in step:
            if part.type == "tool" and part.state:
                self._result(part)

    def _clear(self, time_s: float) -> bool:
        """Clear the results due at a request's time. Return whether it lacks old results of its segment's history."""
        due = set()
        while self.to_clear and self.to_clear[0][0] <= time_s:
            due.add(heappop(self.to_clear)[1])
        for place in sorted(due - self.cleared):
            self.assembly.cleared(place)
        self.cleared |= due
        if not self.cleared or not self.assembly.compactions:
            return bool(self.cleared)
        last = self.assembly.compactions[-1]
        return max(self.cleared) >= last.at or not self.cleared.isdisjoint(last.kept)

    def _result(self, part: Part) -> None:
        text = part.output if part.output is not None else part.error
        if text is None and part.status in ("pending", "running"):
            text = "[Tool execution was interrupted]"
        if text is None:
            return
        media = tuple(_media(str(under(file, "mime") or "")) for file in part.attachments or [])
        self.assembly.result(text, part.call_id, part.tool, media)
        place = len(self.assembly.items) - 1
        if part.compacted_ms and self.assembly.items[place].kind == "tool_result":
            self.assembly.counts["old result(s) were cleared from later requests: kept here"] += 1
            heappush(self.to_clear, (part.compacted_ms / 1000, place))
