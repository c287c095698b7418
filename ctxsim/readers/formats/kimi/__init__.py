"""Kimi Code sessions: `wire.jsonl`, one for each agent of a session, and the folder that holds them.

Documentation: https://github.com/MoonshotAI/kimi-code (`packages/agent-core/src/agent/context`)

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

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ctxsim.readers.assembly import IMAGE_TOKENS, Assembly, Part, started_by, text_and_media
from ctxsim.readers.formats.kimi.wire import Compaction, Event, Request, Step, result_text
from ctxsim.readers.source import Sample, Source, compact_json, convert, has, json_file
from ctxsim.transcript import Item, Transcript

NAME = "kimi"
TITLE = "Kimi Code sessions"
MARKS = ("protocol_version",)
VERSIONS = "wire protocol 1.4 (2026)"
READS = "Every step with its usage, the system prompt and the tools, sub-agents, and the agent's own compactions."
NOT_READ = "Requests without a response, permissions, and what the user interface shows."

WIRE_FILE = "wire.jsonl"
STATE_FILE = "state.json"

# Repeats of what `context.append_message` and `step.end` say, and what is not part of a conversation.
_BESIDE = (
    *("metadata", "turn.prompt", "turn.steer", "turn.ended", "usage.record", "tools.set_active_tools"),
    *("permission.set_mode", "permission.record_approval_result", "full_compaction.complete"),
    *("plugin.session_start", "runtime.set_binding", "token_counting.measured", "token_counting.turn_recorded"),
)


class _UserMessage(msgspec.Struct):
    role: str
    content: str | list[Any] | None = None


class _Settings(msgspec.Struct, rename="camel"):
    system_prompt: str | None = None
    tools: Any = None


class _Agent(msgspec.Struct, rename="camel"):
    parent_agent_id: str | None = None


class _State(msgspec.Struct):
    agents: dict[str, _Agent]


def owns(folder: Path) -> bool:
    """Whether a folder is a session's."""
    return (folder / STATE_FILE).is_file() and any((folder / "agents").glob(f"*/{WIRE_FILE}"))


def matches(sample: Sample) -> bool:
    """A first line that names the protocol's version, and dotted types after it."""
    return has(sample.first, protocol_version=object) and sample.first.get("type") == "metadata"


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return one transcript per agent, the main agent first."""
    if not sample.folder:
        yield _Reading(source, None).transcript()
        return
    state = json_file(sample.folder / STATE_FILE, _State)
    names = {agent: source.name if agent == "main" else f"{source.name}#{agent}" for agent in state.agents}
    # Looked up among the folders that are there: an agent's name is anybody's text, and no path.
    kept = {path.name: path for path in (sample.folder / "agents").iterdir()}
    for agent in sorted(names, key=lambda agent: (agent != "main", agent)):
        if agent in kept and (path := kept[agent] / WIRE_FILE).is_file():
            parent = names.get(state.agents[agent].parent_agent_id or "")
            yield _Reading(Source(names[agent], path), parent).transcript()


class _Reading:
    def __init__(self, source: Source, parent: str | None) -> None:
        self.source = source
        self.assembly = Assembly(source.name, NAME, parent)
        self.skipped = self.assembly.left_out
        self.head = _Settings()
        self.step: Step | None = None
        self.waiting: list[Part] = []
        self.request = Request()
        self.history: list[list[int]] = []
        self.history_end = 0
        self.started_by = "how is not recorded"

    def transcript(self) -> Transcript:
        for record in self.source.records(self.assembly.notes):
            value = record.value if isinstance(record.value, dict) else {}
            self._record(str(value.get("type") or "line without a type"), value, record.where)
        self._close()
        self.assembly.system += filter(None, [self.head.system_prompt])
        self.assembly.tools += map(compact_json, self.head.tools if isinstance(self.head.tools, list) else [])
        return self.assembly.finished("no response of the model in this file")

    def _record(self, kind: str, value: dict[str, Any], where: str) -> None:
        match kind:
            case "config.update" | "profile.bind" | "llm.tools_snapshot":
                self._settings(convert(value, _Settings, where))
            case "context.append_message":
                self._message(convert(value.get("message"), _UserMessage, where))
            case "context.append_loop_event":
                self._event(convert(value.get("event"), Event, where))
            case "llm.request" if value.get("kind") == "loop":
                self.request = convert(value, Request, where)
            case "llm.request":
                self.skipped[f"request for a {value.get('kind')}"] += 1
            case "full_compaction.begin":
                self.started_by = str(value.get("source") or self.started_by)
            case "context.apply_compaction":
                self._close()
                self._compacted(convert(value, Compaction, where))
            case _ if kind not in _BESIDE:
                self.skipped[kind] += 1

    def _compacted(self, compaction: Compaction) -> None:
        tokens = compaction.tokens_before
        self.assembly.compaction_note(self.started_by + ("" if tokens is None else f", {tokens} tokens"))
        # The count is of the messages of the history as it was: after an earlier compaction, its summary is the first.
        history = [*self.history, *_messages(self.assembly.items[self.history_end :])]
        rest = [] if compaction.compacted_count is None else history[compaction.compacted_count :]
        kept = [place for message in rest for place in message]
        summary = [compaction.summary or ""]
        self.assembly.compacted(started_by(self.started_by), summary, kept, tokens, compaction.tokens_after)
        self.history, self.history_end = [[], *rest], len(self.assembly.items)

    def _settings(self, settings: _Settings) -> None:
        # Which head the first request had is what counts: later ones differ in dates and lists of files.
        if not self.assembly.calls and self.step is None:
            self.head.system_prompt = settings.system_prompt or self.head.system_prompt
        if not self.assembly.calls:
            self.head.tools = settings.tools or self.head.tools

    def _message(self, message: _UserMessage) -> None:
        text, media = text_and_media(message.content, IMAGE_TOKENS["openai"])
        if not text and not media:
            return
        # A message that comes while a step is open is sent with the next request.
        if self.step and self.step.parts:
            self.waiting.append(Part("user", text, media=media))
        else:
            self.assembly.user(Part("user", text, media=media))

    def _event(self, event: Event) -> None:
        if event.type == "step.begin":
            self._close()
            self.step = Step()
            return
        if self.step is None:
            self.skipped[f"{event.type} outside a step"] += 1
            return
        match event.type:
            case "content.part":
                self.step.parts.append(event.said())
            case "tool.call":
                arguments = compact_json({} if event.args is None else event.args)
                self.step.parts.append(Part("tool_call", arguments, event.name, event.tool_call_id))
            case "tool.result" if event.result:
                self.step.results.append((event.tool_call_id, *result_text(event.result)))
            case "step.end":
                self.step.usage = event.usage
                self._close()
            case other:
                self.skipped[other] += 1

    def _close(self) -> None:
        """End the open step. Results are recorded before the usage of the response that they answer."""
        step, self.step = self.step, None
        if step and (step.parts or step.usage):
            usage = step.usage.whole() if step.usage else None
            self.assembly.response(step.parts, usage, self.request.time_s, self.request.model)
            for call_id, text, media in step.results:
                self.assembly.result(text, call_id, media=media)
        elif step:
            self.skipped["step without a response"] += 1
        if self.waiting:
            self.assembly.user(*self.waiting)
            self.waiting = []


def _messages(items: Sequence[Item]) -> list[list[int]]:
    """The places of each message as Kimi counts them: every result is one, a response is one."""
    messages: dict[tuple[int, int], list[int]] = {}
    for item in items:
        alone = item.place if item.kind == "tool_result" else -1
        messages.setdefault((item.message, alone), []).append(item.place)
    return [*messages.values()]
