"""Cline sessions (one JSON document with metrics), and task folders of its extension of VS Code.

Documentation: https://github.com/cline/cline

    {"version": 1, "agent": "lead", "sessionId": "s", "system_prompt": "Be brief.", "messages": [
      {"id": "m1", "role": "user", "ts": 1000, "content": [{"type": "text", "text": "Any mail?"}]},
      {"id": "m2", "role": "assistant", "ts": 2000, "modelInfo": {"id": "m"},
       "metrics": {"inputTokens": 900, "outputTokens": 20, "cacheReadTokens": 0, "cacheWriteTokens": 0},
       "content": [{"type": "tool_use", "id": "t1", "name": "search", "input": {"q": "mail"}}]},
      {"id": "m3", "role": "user", "ts": 2100, "content": [
        {"type": "tool_result", "tool_use_id": "t1", "content": "2 messages"}]}]}
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import field

from ctxsim.errors import InputError
from ctxsim.readers.assembly import Assembly, dollars, text_and_media
from ctxsim.readers.assembly.anthropic_content import Turn, add_turn, add_user_content, response_parts
from ctxsim.readers.source import Sample, Source, convert, convert_all, has, json_file, time_s
from ctxsim.transcript import Transcript, Usage

NAME = "cline"
TITLE = "Cline sessions and task folders"
MARKS = ("agent",)
VERSIONS = "session documents of version 1 (2026), and task folders of Cline 3"
READS = "Messages with the usage of each response; in task folders the usage comes from ui_messages.json."
NOT_READ = "Tool calls that older task folders hold as XML inside the text: they stay text. Checkpoints and settings."

MESSAGES_FILE = "api_conversation_history.json"
UI_FILE = "ui_messages.json"


class _Message(Turn):
    ts: Any = None
    model: str = field(default="", name="modelInfo.id")
    # The whole prompt, cached parts included.
    input_tokens: int | None = field(default=None, name="metrics.inputTokens")
    output_tokens: int | None = field(default=None, name="metrics.outputTokens")
    cache_read_tokens: int | None = field(default=None, name="metrics.cacheReadTokens")
    cache_write_tokens: int | None = field(default=None, name="metrics.cacheWriteTokens")
    cost: Any = field(default=None, name="metrics.cost")
    # Set by a compaction: on the message that replaces others, or on one that was kept.
    kind: str = field(default="", name="metadata.kind")
    reason: str = field(default="", name="metadata.reason")
    messages_removed: int | None = field(default=None, name="metadata.messagesRemoved")
    compaction: str = field(default="", name="metadata.compaction")

    def usage(self) -> Usage | None:
        if not self.input_tokens:
            return None
        cached = self.cache_read_tokens, self.cache_write_tokens
        return Usage(self.input_tokens, self.output_tokens, *cached, cost_usd=dollars(self.cost))


class _Session(msgspec.Struct):
    messages: list[Any]
    system_prompt: str = ""


class _TaskMessage(Turn, rename="camel"):
    ts: Any = None
    # Set by Roo on what a compaction wrote.
    is_summary: bool | None = None
    is_truncation_marker: bool | None = None


class _UiMessage(msgspec.Struct):
    say: str | None = None
    # For a request, JSON as text.
    text: str | None = None
    # Time at which a request was sent.
    ts: Any = None
    # Numbers of the first and the last message that the request left out.
    deleted: tuple[int, int] | None = field(default=None, name="conversationHistoryDeletedRange")
    model: str = field(default="", name="modelInfo.modelId")


class _RequestLine(msgspec.Struct, rename="camel"):
    tokens_in: int | None = None
    tokens_out: int | None = None
    cache_reads: int | None = None
    cache_writes: int | None = None
    cost: Any = None
    api_protocol: str = "anthropic"

    def whole(self) -> Usage | None:
        """Return the tokens of the whole prompt. Only the OpenAI protocol counts cached tokens in `tokensIn`."""
        if self.tokens_in is None or not (self.tokens_in or self.cache_reads or self.cache_writes):
            return None
        cached = 0 if self.api_protocol == "openai" else (self.cache_reads or 0) + (self.cache_writes or 0)
        told = self.tokens_out, self.cache_reads, self.cache_writes
        return Usage(self.tokens_in + cached, *told, cost_usd=dollars(self.cost))


_MODEL = re.compile(r"<environment_details>.*?^<model>(.+?)</model>$", re.DOTALL | re.MULTILINE)
"""The model, as Roo states it in its requests alone. Source: src/core/environment/getEnvironmentDetails.ts of Roo."""


_OF_ROO = re.compile(rb'\\n<model>[^\\"]+</model>\\n|"is(?:Summary|TruncationMarker)"')
"""What stands in the messages of Roo Code's tasks alone."""


def owns(folder: Path) -> bool:
    """Whether a folder is a task of the VS Code extension."""
    return (folder / MESSAGES_FILE).is_file() and not of_roo(folder)


def of_roo(folder: Path) -> bool:
    """Whether a task folder was written by Roo Code: by its place, or by the first megabyte of its messages."""
    if "rooveterinaryinc.roo-cline" in folder.parts:
        return True
    with suppress(OSError), (folder / MESSAGES_FILE).open("rb") as file:
        return _OF_ROO.search(file.read(1 << 20)) is not None
    return False


def matches(sample: Sample) -> bool:
    """An object with `sessionId`, `agent` and `messages`, and no other agent's marks."""
    session = sample.document
    return has(session, messages=list, agent=str, sessionId=object, version=object) and "projectHash" not in session


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return the one transcript of a session or task."""
    if sample.folder:
        yield task_of(source, sample.folder, NAME)
        return
    session = convert(sample.document, _Session, source.name)
    assembly = Assembly(source.name, NAME)
    assembly.system += filter(None, [session.system_prompt])
    messages = convert_all(session.messages, _Message, f"{source.name} message")
    marked = [number for number, one in enumerate(messages) if one.kind == "compaction" or one.compaction]
    for number, message in enumerate(messages):
        if marked and number == marked[0]:
            how = "manual" if "manual" in message.reason else "auto"
            removed = "" if message.messages_removed is None else f", {message.messages_removed} messages"
            assembly.compaction_note(f"{how}{removed}", ": what it removed is not in the file")
        if message.role == "user" and isinstance(message.content, list):
            message.content = [*map(_file_as_text, message.content)]
        # The file holds the current history: responses up to the last kept message had longer requests than it shows.
        later = not marked or number > marked[-1]
        # The time is that of the finished response.
        where = f"{source.name} message {number}"
        add_turn(assembly, message, where, message.usage(), time_s(message.ts), message.model, later)
    yield assembly.finished()


def _file_as_text(block: Any) -> Any:
    """Return an attached text file as a text block; in other formats `file` blocks aren't text."""
    if not has(block, content=str) or block.get("type") != "file":
        return block
    return {"type": "text", "text": f"{block.get('path', '')}\n{block['content']}"}


def task_of(source: Source, folder: Path, format: str) -> Transcript:
    """Return the transcript of a task folder: messages are in one file, usage in another."""
    assembly = Assembly(source.name, format)
    where = f"{folder / MESSAGES_FILE} message"
    messages = convert_all(json_file(folder / MESSAGES_FILE, list[Any]), _TaskMessage, where)
    requests = _requests_of(assembly, folder, sum(m.role == "assistant" and not m.is_summary for m in messages))
    whole, xml, deleted = True, False, None
    message_of: list[int] = []
    model = ""
    for number, message in enumerate(messages):
        if message.is_truncation_marker or (message.is_summary and assembly.calls):
            # A truncation's marker doesn't say what was left out.
            whole = not message.is_truncation_marker
            if whole:
                assembly.compacted(summary=[text_and_media(message.content, 0)[0]])
            assembly.left_out["marker of the agent's own truncation"] += not whole
            assembly.compaction_note("how is not recorded")
        elif message.is_summary or message.role == "user":
            if message.is_summary:
                what = "its summary is user text, what came before is not there"
                assembly.notes.append(f"starts after a compaction: {what}")
            add_user_content(assembly, message.content, f"{where} {number}")
            model = next(iter(_MODEL.findall(text_and_media(message.content, 0)[0])[-1:]), model)
        else:
            request, usage = next(requests, (_UiMessage(ts=message.ts), None))
            if request.deleted != deleted:
                deleted = request.deleted
                # Requests from here on hold all messages but these; no summary replaces them.
                start, end = deleted or (1, 0)
                kept = [place for place, own in enumerate(message_of) if not start <= own <= end]
                assembly.compacted("auto", (), kept)
            parts = response_parts(message.content, f"{where} {number}")
            xml = xml or (bool(parts) and parts[-1].kind == "assistant" and _ends_with_xml(parts[-1].text))
            assembly.response(parts, usage, time_s(request.ts), request.model or model, whole)
        message_of += [number] * (len(assembly.items) - len(message_of))
    if xml:
        assembly.notes.append("tool calls that stand in the text as XML stay text, their results user text")
    # The extension builds its system prompt anew for each request and doesn't store it.
    return assembly.finished()


def _ends_with_xml(text: str) -> bool:
    end = re.search(r"</(\w+)>\s*\Z", text)
    return end is not None and f"<{end[1]}>" in text


def _requests_of(assembly: Assembly, folder: Path, responses: int) -> Iterator[tuple[_UiMessage, Usage | None]]:
    """Return the user interface's record of each response; nothing if records and responses can't be matched."""
    if not (folder / UI_FILE).is_file():
        assembly.notes.append(f"no {UI_FILE}: no usage")
        return iter(())
    requests = [*_requests(folder / UI_FILE)]
    if len(requests) > responses:
        # A request that failed before its first token was counted has no response.
        requests = [(request, usage) for request, usage in requests if usage and usage.output_tokens]
    if len(requests) != responses:
        assembly.notes.append(f"usage left out: {len(requests)} request(s) in {UI_FILE} for {responses} response(s)")
        return iter(())
    cut = next((number for number, (request, _) in enumerate(requests, 1) if request.deleted), None)
    if cut is not None:
        assembly.notes.append(f"recorded compaction before call {cut} (auto): older messages were no longer sent")
    return iter(requests)


def _requests(path: Path) -> Iterator[tuple[_UiMessage, Usage | None]]:
    for number, value in enumerate(json_file(path, list[Any])):
        message = convert(value, _UiMessage, f"{path} message {number}")
        if message.say != "api_req_started":
            continue
        try:
            yield message, msgspec.json.decode(message.text or "{}", type=_RequestLine).whole()
        except msgspec.DecodeError as error:
            raise InputError(f"{path} message {number}", f"text of the request: {error}") from None
