"""Sessions of the pi coding agent and of OpenClaw: a header, then entries; linear in version 1, a tree from 2 on.

Documentation: https://github.com/badlogic/pi-mono/tree/main/packages/coding-agent/docs and, for OpenClaw,
https://docs.openclaw.ai/reference/session-management-compaction

    {"type": "session", "version": 3, "id": "s", "timestamp": "2025-01-02T03:04:05.000Z", "cwd": "/w"}
    {"type": "message", "id": "1", "parentId": null, "message": {"role": "user", "content": "Any mail?"}}
    {"type": "message", "id": "2", "parentId": "1", "message": {"role": "assistant", "model": "m",
      "content": [{"type": "toolCall", "id": "c1", "name": "mail", "arguments": {}}],
      "usage": {"input": 9, "output": 20, "cacheRead": 15000, "cacheWrite": 0}}}
    {"type": "message", "id": "3", "parentId": "2", "message": {"role": "toolResult", "toolCallId": "c1",
      "toolName": "mail", "content": [{"type": "text", "text": "2 messages"}]}}
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import PurePath
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from ctxsim.errors import InputError
from ctxsim.readers.assembly import Assembly, Part, content_parts, kept_and_new, text_of
from ctxsim.readers.assembly.anthropic_content import response_parts
from ctxsim.readers.assembly.numbers import dollars, in_parts
from ctxsim.readers.assembly.session_tree import Envelope, branch, tree_lines, where
from ctxsim.readers.source import Sample, Source, compact_json, convert, has, time_s, under
from ctxsim.readers.source.values import objects
from ctxsim.transcript import Kind, Transcript, Usage

NAME = "pi"
TITLE = "pi and OpenClaw sessions"
MARKS = ("type=session",)
VERSIONS = "session versions 1 to 3 (pi up to 1.6)"
READS = (
    "the branch a session ended on, compactions with what they kept, results and failed responses that a context edit "
    "took out, costs; commands that the user ran, as user text"
)
NOT_READ = "abandoned branches, empty responses that were aborted, extension state, labels, edits of other messages"

GATEWAY_MODELS = {"delivery-mirror", "gateway-injected"}
"""Models of assistant messages that OpenClaw wrote and sent itself."""


class _TokenUsage(msgspec.Struct, rename="camel"):
    # Three parts of the prompt that add up to the whole, and the output.
    input: int | None = 0
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    cost: Any = None

    def request(self) -> Usage | None:
        """Return the usage of the request, or None where it was aborted before it had any."""
        usd = under(self.cost, "total")
        usage = in_parts(self.input, self.output, self.cache_read, self.cache_write, cost=usd)
        return usage if usage.input_tokens else None


class _Message(msgspec.Struct, rename="camel"):
    role: str
    content: str | list[Any] | None = None
    timestamp: Any = None
    model: str | None = None
    usage: _TokenUsage | None = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    # Of a result, what its tool says beside it.
    details: Any = None
    # For a command of the user, instead of content.
    command: str = ""
    output: str = ""
    exit_code: int | None = None
    cancelled: bool | None = None
    exclude_from_context: bool | None = None
    stop_reason: str | None = None
    # Of a system message.
    sections: dict[str, Any] | None = None
    tools_added: list[Any] | None = None


class _Entry(Envelope, rename="camel"):
    uuid: str | None = msgspec.field(default=None, name="id")
    parent_uuid: str | UnsetType | None = msgspec.field(default=UNSET, name="parentId")
    message: _Message | None = None
    content: str | list[Any] | None = None
    summary: str | None = None
    tokens_before: int | None = None
    first_kept_entry_id: str | None = None
    first_kept_entry_index: int | None = None
    # The messages that a compaction kept, in newer versions in place of the first one's name.
    retained_tail: list[_Message] | None = None
    model_id: str | None = None
    # Of a request outside the conversation, such as that for a summary.
    usage: _TokenUsage | None = None
    model: str | None = None
    # Of an edit of what later requests hold: an entry, and its new content or, if it is left out, null.
    target_id: str | None = None
    replacement: Any = None
    parent_session: str | None = None
    # Its name before pi 0.31.
    branched_from: str | None = None

    @property
    def forked(self) -> str | None:
        """The session that a header says this one was forked from."""
        return self.parent_session or self.branched_from

    @property
    def role(self) -> str:
        return self.message.role if self.message else self.type


FAILED = ("aborted", "error")
CHAT = {"user", "assistant", "toolResult", "bashExecution"}
KNOWN = {
    "session", "message", "compaction", "branch_summary", "custom_message", "model_change", "usage", "context_edit"
}  # fmt: skip


def matches(sample: Sample) -> bool:
    """A session header with a folder, followed by nothing but typed entries."""
    messages = [record.get("message") for record in objects(sample.records) if record.get("type") == "message"]
    is_header = has(sample.first, id=str, cwd=str) and sample.first.get("type") == "session"
    return is_header and all(has(message, role=str) for message in messages)


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return the conversation of a session."""
    assembly = Assembly(source.name, NAME)
    notes: list[str] = []
    entries = list(tree_lines(source.records(notes), assembly.left_out, KNOWN, _Entry, ("id", "parentId")))
    # The last chat entry, not the last of all: labels and extension state may hang anywhere in the tree.
    kept = branch(entries, lambda entry: entry.role in CHAT | {"compaction"})
    kept |= {at for at, entry in enumerate(entries) if entry.type == "session"}
    answered = {one.message.tool_call_id for one in (entries[position] for position in kept) if one.message}
    failed = {entry.uuid for entry in entries if entry.message and entry.message.stop_reason in FAILED}
    edits = [entries[position] for position in kept if entries[position].type == "context_edit"]
    omitted = failed & {edit.target_id for edit in edits if edit.replacement is None}
    conversation = _Conversation(assembly, answered, omitted)
    copied = _copied(entries)
    for position, entry in enumerate(entries):
        message, spent, model = entry.message, entry.usage, entry.model or conversation.model
        if message and message.role in (("toolResult",) if position in kept else ("toolResult", "assistant")):
            # Responses of an abandoned branch were paid for too, and so was what a tool asked a model.
            spent, model = message.usage, message.model or ""
        if position in kept:
            conversation.add(entry)
        elif entry.role in CHAT or entry.type == "custom_message":
            assembly.left_out["entry of an abandoned branch"] += 1
        if spent and model not in GATEWAY_MODELS:
            assembly.beside(spent.request(), _time_s(entry), model, entry.type == "compaction" and position in kept)
        elif message and message.role == "toolResult":
            for usage, of in _sub_agents(message, f"{source.name}:{entry.line}"):
                assembly.beside(usage, _time_s(entry), of)
        if position + 1 == copied and assembly.calls:
            assembly.inherited()
    assembly.project = where(entries)[0]
    assembly.notes += notes
    yield assembly.finished()


def _sub_agents(message: _Message, where: str) -> Iterator[tuple[Usage, str]]:
    """Yield the usage and the model of each sub-agent that a result comes from: it has no log of its own.

    Source: packages/coding-agent/examples/extensions/subagent of https://github.com/badlogic/pi-mono.
    """
    for one in objects(message.details, "results"):
        # Other tools may write anything there.
        with suppress(InputError):
            if has(one, usage=dict) and (usage := convert(one["usage"], _TokenUsage, where).request()):
                usd = usage.cost_usd or dollars(one["usage"].get("cost"))
                yield usage.costing(usd), str(one.get("model") or "")


def _copied(entries: Sequence[_Entry]) -> int:
    """Return the number of first entries that a fork copied from its parent: they are older than its header.

    Versions before pi 0.27 can give copied entries a new time: their messages keep the old one.
    """
    began_s = next((time_s(header.timestamp) for header in entries if header.forked), None)
    times = map(_time_s, entries)
    return max((at for at, when in enumerate(times, 1) if when and began_s and when < began_s), default=0)


def _time_s(entry: _Entry) -> float | None:
    """Return a response's own time, at which its request started, or else its entry's, at which it ended."""
    return (time_s(entry.message.timestamp) if entry.message else None) or time_s(entry.timestamp)


class _Conversation(msgspec.Struct):
    assembly: Assembly
    answered: set[str | None]
    # Failed responses that an edit took out before the next request.
    omitted: set[str | None]
    model: str = ""
    # The call that each entry with a result answers.
    results: dict[str | None, str] = {}

    def add(self, entry: _Entry) -> None:
        # Version 1 names the first kept entry by its number in the file, later ones by its id.
        for name in (entry.uuid, entry.index):
            if name is not None:
                self.assembly.place_of[name] = len(self.assembly.items)
        match entry.type:
            case "session":
                self.model = entry.model_id or ""
                if entry.forked:
                    parent = PurePath(entry.forked.replace("\\", "/")).name
                    self.assembly.notes.append(f"forked from the session {parent}, which it repeats up to the fork")
            case "message" if entry.message:
                self._message(entry, entry.message)
            case "compaction":
                self._compaction(entry)
            case "branch_summary":
                self._user(entry.summary)
            case "custom_message":
                self._user(entry.content)
            case "model_change":
                self.model = entry.model_id or self.model
            case "context_edit" if entry.target_id in self.results:
                self.assembly.cleared_of([self.results[entry.target_id]])
            case "context_edit" if entry.target_id not in self.omitted:
                self.assembly.left_out["context_edit of another message"] += 1
            # All others were counted when they were read.

    def _message(self, entry: _Entry, message: _Message) -> None:
        match message.role:
            case "assistant":
                self._response(entry, message)
            case "toolResult":
                call_id, tool = message.tool_call_id or "", message.tool_name or ""
                self.results[entry.uuid] = call_id
                self.assembly.message("tool", message.content, call_id, tool, "anthropic")
            case "bashExecution" if message.exclude_from_context:
                self.assembly.left_out["command of the user, kept from the model"] += 1
            case "bashExecution":
                self._user(_command_text(message))
            case "system" if message.sections and not self.assembly.items:
                self.assembly.system += map(str, message.sections.values())
                self.assembly.tools += map(compact_json, message.tools_added or [])
            case role:
                self.assembly.counts["system message(s) kept as user text"] += role == "system"
                self._user(message.content)

    def _user(self, content: str | list[Any] | None) -> None:
        self.assembly.user(*content_parts("user", content, "anthropic"))

    def _response(self, entry: _Entry, message: _Message) -> None:
        usage = message.usage.request() if message.usage else None
        if message.model in GATEWAY_MODELS:
            self.assembly.left_out["message of the gateway, not generated"] += 1
        elif entry.uuid in self.omitted:
            self.assembly.left_out["failed response that a context_edit took out"] += 1
            self.assembly.beside(usage, _time_s(entry), message.model or self.model)
        elif not message.content and usage is None:
            self.assembly.left_out["empty response, aborted or failed"] += 1
        else:
            parts = _made(message, f"{self.assembly.name}:{entry.line}")
            sent = self._resent(parts) if message.stop_reason in FAILED else parts
            self.assembly.response(sent, usage, _time_s(entry), message.model or self.model)

    def _resent(self, parts: list[Part]) -> list[Part]:
        """Return the parts of a cut-off response that pi sends again: all but the tool calls that never ran."""
        sent = [part for part in parts if part.kind != "tool_call" or part.call_id in self.answered]
        if len(sent) < len(parts):
            self.assembly.left_out["tool call of a response that was aborted or failed"] += len(parts) - len(sent)
        return sent

    def _compaction(self, entry: _Entry) -> None:
        """Add a compaction: requests from here on hold the summary and the entries from the first kept one on."""
        named: str | int | None = entry.first_kept_entry_id or entry.first_kept_entry_index
        end = len(self.assembly.items)
        start = end if named is None else self.assembly.place_of.get(named, end)
        kept, new = list(range(start, end)), list[str]()
        if entry.retained_tail is not None:
            kept, new = kept_and_new(self.assembly.items, _said(entry.retained_tail))
        self.assembly.compacted("", [entry.summary or "", *new], kept, entry.tokens_before)


def _said(messages: Sequence[_Message]) -> Iterator[tuple[Kind, str]]:
    """Yield the kinds and texts of the items that these messages are."""
    for message in messages:
        match message.role:
            case "assistant":
                yield from ((part.kind, part.text) for part in _made(message, "retainedTail"))
            case "toolResult":
                yield "tool_result", text_of(message.content)
            case "bashExecution":
                yield "user", _command_text(message)
            case _:
                yield "user", text_of(message.content)


def _made(message: _Message, where: str) -> list[Part]:
    content = [*map(_renamed, message.content)] if isinstance(message.content, list) else message.content
    return response_parts(content, where)


def _renamed(block: Any) -> Any:
    """Return a tool call as a block of Anthropic's API, the form that all other blocks have."""
    if under(block, "type") != "toolCall":
        return block
    return block | {"type": "tool_use", "input": {} if block.get("arguments") is None else block["arguments"]}


def _command_text(message: _Message) -> str:
    """Return the text of a command that the user ran: command, output in a fence, and how it ended."""
    output = f"```\n{message.output}\n```" if message.output else "(no output)"
    failed = f"Command exited with code {message.exit_code}" if message.exit_code else ""
    ended = "(command cancelled)" if message.cancelled else failed
    return f"Ran `{message.command}`\n{output}" + (f"\n\n{ended}" if ended else "")
