"""Kimi Code sessions: `wire.jsonl`, one for each agent of a session, and the folder that holds them.

Documentation: https://github.com/MoonshotAI/kimi-code (`packages/agent-core/src/agent/context`, and
`tool-result-render.ts` in it for what the model is sent of a result)

    {"type": "metadata", "protocol_version": "1.4", "created_at": 1000}
    {"type": "config.update", "systemPrompt": "Be brief."}
    {"type": "context.append_message", "message": {"role": "user", "content": [{"type": "text", "text": "Any mail?"}]}}
    {"type": "context.append_loop_event", "event": {"type": "step.begin", "uuid": "s1"}}
    {"type": "context.append_loop_event", "event": {"type": "tool.call", "stepUuid": "s1", "toolCallId": "c1",
      "name": "Search", "args": {"q": "mail"}}}
    {"type": "context.append_loop_event", "event": {"type": "tool.result", "toolCallId": "c1",
      "result": {"output": "2 messages"}}}
    {"type": "context.append_loop_event", "event": {"type": "step.end", "uuid": "s1",
      "usage": {"inputOther": 90, "output": 12, "inputCacheRead": 0, "inputCacheCreation": 0}}}
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any

import msgspec

from ctxsim.readers.assembly import Assembly, Part, content_parts, text_and_media
from ctxsim.readers.assembly.numbers import in_parts
from ctxsim.readers.assembly.responses import Exchanges
from ctxsim.readers.source import Sample, Source, compact_json, convert, has, json_file, time_s
from ctxsim.transcript import RESPONSE_KINDS, Item, Transcript, Usage

NAME = "kimi"
TITLE = "Kimi Code sessions"
MARKS = ("protocol_version",)
VERSIONS = "wire protocols 1.4 and 1.5 (2026)"
READS = "Every step with its usage, the system prompt and the tools, sub-agents, and the agent's own compactions."
NOT_READ = "Texts of requests without a response, permissions, and what the user interface shows."

WIRE_FILE = "wire.jsonl"
STATE_FILE = "state.json"

# Repetitions of `context.append_message` and `step.end`, and records that are not part of a conversation.
_BESIDE = (
    *("metadata", "turn.prompt", "turn.steer", "turn.ended", "usage.record", "tools.set_active_tools"),
    *("permission.set_mode", "permission.record_approval_result", "full_compaction.complete"),
    *("plugin.session_start", "runtime.set_binding", "token_counting.measured", "token_counting.turn_recorded"),
    *("token_counting.rebased", "agent.message.appended", "agent.turn.started", "agent.turn.ended", "prompt.completed"),
)


class _UserMessage(msgspec.Struct):
    role: str
    content: str | list[Any] | None = None
    origin: dict[str, Any] | None = None


class _Settings(msgspec.Struct, rename="camel"):
    system_prompt: str | None = None
    tools: Any = None
    folder: str | None = msgspec.field(default=None, name="environmentDisclosure.cwd")


class _TokenUsage(msgspec.Struct, rename="camel"):
    input_other: int | None = 0
    output: int | None = None
    input_cache_read: int | None = None
    input_cache_creation: int | None = None

    def whole(self) -> Usage:
        return in_parts(self.input_other, self.output, self.input_cache_read, self.input_cache_creation)


class _Result(msgspec.Struct, rename="camel"):
    output: str | list[Any] = ""
    # Sent to the model only.
    note: str = ""
    is_error: bool = False


class _Event(msgspec.Struct, rename="camel"):
    type: str
    part: dict[str, Any] | None = None
    tool_call_id: str = ""
    name: str = ""
    args: Any = None
    result: _Result | None = None
    usage: _TokenUsage | None = None


class _Request(msgspec.Struct):
    # Milliseconds since 1970 at which it was sent. Of several attempts the last one was answered.
    time: float | None = None
    model: str = ""
    # Of a request outside all turns.
    usage: _TokenUsage | None = None


class _Compaction(msgspec.Struct, rename="camel"):
    tokens_before: int | None = None
    tokens_after: int | None = None
    summary: str | None = None
    # The summary as it was sent: between fixed texts.
    context_summary: str | None = None
    compacted_count: int | None = None
    # How many of the user's own texts stayed: the newest, and so many of the oldest. If unknown, all later messages.
    kept_user_message_count: int | None = None
    kept_head_user_message_count: int | None = None


class _State(msgspec.Struct):
    agents: dict[str, dict[str, Any]]


def owns(folder: Path) -> bool:
    """Whether a folder is a session's."""
    return (folder / STATE_FILE).is_file() and any((folder / "agents").glob(f"*/{WIRE_FILE}"))


def matches(sample: Sample) -> bool:
    """A first line that names the protocol's version, and dotted types after it, which Kimi CLI's lines lack."""
    of_cli = any(has(record, timestamp=object, message=dict) for record in sample.records)
    return has(sample.first, protocol_version=object) and sample.first.get("type") == "metadata" and not of_cli


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return one transcript per agent, the main agent first."""
    if not sample.folder:
        yield _Reading(source, None).transcript()
        return
    state = json_file(sample.folder / STATE_FILE, _State)
    names = {agent: source.name if agent == "main" else f"{source.name}#{agent}" for agent in state.agents}
    # An agent's name is untrusted, and no path: it is looked up among the existing folders.
    kept = {path.name: path for path in (sample.folder / "agents").iterdir()}
    for agent in sorted(names, key=lambda agent: (agent != "main", agent)):
        if agent in kept and (path := kept[agent] / WIRE_FILE).is_file():
            parent = names.get(str(state.agents[agent].get("parentAgentId")))
            yield _Reading(Source(names[agent], path), parent).transcript()


class _Reading(Exchanges):
    def __init__(self, source: Source, parent: str | None) -> None:
        super().__init__(Assembly(source.name, NAME, parent))
        self.source = source
        self.in_step = False
        self.request = _Request()
        self.history: list[list[int]] = []
        self.history_end = 0
        # The texts that the user wrote, among those that are sent as a user's.
        self.own: set[str] = set()
        self.started_by = ""
        # A request outside all turns: the summary's if a compaction follows.
        self.asked: _Request | None = None

    def transcript(self) -> Transcript:
        for line in self.assembly.lines(self.source):
            self._record(*line)
        self._step_ended()
        self._paid()
        return self.finished()

    def _record(self, kind: str, value: dict[str, Any], where: str) -> None:
        match kind:
            case "config.update" | "profile.bind" | "llm.tools_snapshot":
                self._settings(convert(value, _Settings, where))
            case "context.append_message":
                self._user(convert(value.get("message"), _UserMessage, where))
            case "context.append_loop_event":
                self._event(convert(value.get("event"), _Event, where))
            case "llm.request" if value.get("kind") == "loop":
                self.request = convert(value, _Request, where)
                self.model = self.request.model
            case "llm.request":
                self.left_out[f"request for a {value.get('kind')}"] += 1
            case "full_compaction.begin":
                self.started_by = str(value.get("source") or self.started_by)
            case "context.apply_compaction":
                self._step_ended()
                self._compacted(convert(value, _Compaction, where))
                self._paid(summary=True)
            case "usage.record" if value.get("usageScope") == "session":
                self._paid()
                self.asked = convert(value, _Request, where)
            case _ if kind not in _BESIDE:
                self.left_out[kind] += 1

    def _paid(self, summary: bool = False) -> None:
        asked, self.asked = self.asked, None
        if asked and asked.usage:
            self.assembly.beside(asked.usage.whole(), time_s(asked.time), asked.model or self.model, summary)

    def _compacted(self, compaction: _Compaction) -> None:
        # The count is of the previous history's messages: after an earlier compaction, its summary is the first.
        history = [*self.history, *_messages(self.assembly.items[self.history_end :])]
        summary = [compaction.context_summary or compaction.summary or ""]
        rest = [] if compaction.compacted_count is None else history[compaction.compacted_count :]
        oldest, items = compaction.kept_head_user_message_count or 0, self.assembly.items
        if compaction.kept_user_message_count is not None:
            users = [message for message in history if message and items[message[0]].kind == "user"]
            own = [message for message in users if items[message[0]].text in self.own]
            first, last = own[:oldest], own[max(0, len(own) + oldest - compaction.kept_user_message_count) :]
            rest = [*first, *(message for message in last if message not in first)]
            if oldest:
                start, end = ("\n\n".join(items[place].text for place, *_ in part) for part in (first, last))
                summary[:0] = [_beginning(start, 2_000), _beginning(end[::-1], 18_000)[::-1]]
        kept = [place for message in rest for place in message if not oldest]
        self.assembly.compacted(self.started_by, summary, kept, compaction.tokens_before, compaction.tokens_after)
        self.history, self.history_end = [[], *rest], len(self.assembly.items)

    def _settings(self, settings: _Settings) -> None:
        self.assembly.project = self.assembly.project or settings.folder or ""
        # The first request's head is kept: later ones differ in dates and lists of files.
        if settings.system_prompt and not self.assembly.calls and not self.in_step:
            self.assembly.system = [settings.system_prompt]
        if isinstance(settings.tools, list) and settings.tools and not self.assembly.calls:
            self.assembly.tools = [*map(compact_json, settings.tools)]

    def _user(self, message: _UserMessage) -> None:
        parts = content_parts("user", message.content)
        origin = message.origin or {"kind": "user"}
        if origin.get("kind") == "user" or origin.get("trigger") == "user-slash":
            self.own.update(part.text for part in parts)
        for part in parts:
            self.give(part)

    def _event(self, event: _Event) -> None:
        sent_s = time_s(self.request.time)
        match event.type:
            case "step.begin":
                self._step_ended()
                self.in_step = True
            case other if not self.in_step:
                self.left_out[f"{other} outside a step"] += 1
            case "content.part":
                self.made(_said(event.part or {}), sent_s, goes_on=True)
            case "tool.call":
                arguments = compact_json({} if event.args is None else event.args)
                self.made(Part("tool_call", arguments, event.name, event.tool_call_id), sent_s, goes_on=True)
            case "tool.result" if event.result:
                self.give(_shown(event.tool_call_id, event.result))
            case "step.end":
                spent = event.usage.whole() if event.usage else None
                if spent and not self.usage(spent):
                    self.assembly.beside(spent, sent_s, self.model)
                self._step_ended()
            case other:
                self.left_out[other] += 1

    def _step_ended(self) -> None:
        self.left_out["step without a response"] += self.in_step and not self.parts
        self.in_step = False
        self.close()


def _messages(items: Sequence[Item]) -> list[list[int]]:
    """Return the places of each message as Kimi counts them: each input is one, each response is one."""
    messages = groupby(items, lambda item: -item.message if item.kind in RESPONSE_KINDS else item.place)
    return [[item.place for item in message] for _, message in messages]


def _beginning(text: str, tokens: int) -> str:
    """Return the longest beginning of at most `tokens`: four ASCII characters, or one other, are one."""
    sizes = [*accumulate(0.25 if character.isascii() else 1 for character in text[: 4 * tokens])]
    return text[: bisect_right(sizes, tokens)]


def _said(part: dict[str, Any]) -> Part:
    if part.get("type") == "think":
        return Part("reasoning", str(part.get("think") or ""))
    return Part("assistant", str(part.get("text") or "") if part.get("type") == "text" else compact_json(part))


_FAILED = "ERROR: Tool execution failed."
_EMPTY = "Tool output is empty."


def _shown(call_id: str, result: _Result) -> Part:
    """Return a result as the model is sent it: a line for failure or emptiness, the output, the note."""
    text, media = text_and_media(result.output)
    if not text.strip() and not media:
        text = f"{_FAILED} {_EMPTY}" if result.is_error else _EMPTY
    elif result.is_error and not text.lstrip().startswith("ERROR:"):
        text = f"{_FAILED}\n{text}"
    text = f"{text}\n{result.note}" if result.note else text
    return Part("tool_result", text, call_id=call_id, media=media)
