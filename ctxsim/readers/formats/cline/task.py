"""A task folder of Cline or Roo: what was sent and received in one file, what it cost in another.

Documentation: https://github.com/RooCodeInc/Roo-Code (`src/core/task-persistence`)
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import field

from ctxsim.errors import InputError
from ctxsim.readers.assembly import Assembly, text_and_media
from ctxsim.readers.assembly.anthropic_content import Turn, add_user_content, response_parts
from ctxsim.readers.source import Source, convert, convert_all, json_file, time_s
from ctxsim.transcript import Transcript, Usage

UI_FILE = "ui_messages.json"


class Message(Turn, rename="camel"):
    """One message of the conversation; Roo marks what a compaction wrote."""

    ts: Any = None
    is_summary: bool | None = None
    is_truncation_marker: bool | None = None


class UiMessage(msgspec.Struct):
    """One line of the user interface; `text` of a request is JSON again."""

    say: str | None = None
    text: str | None = None
    ts: Any = None
    deleted: tuple[int, int] | None = field(default=None, name="conversationHistoryDeletedRange")
    model: str = field(default="", name="modelInfo.modelId")


class RequestLine(msgspec.Struct, rename="camel"):
    """What the user interface shows of a request."""

    tokens_in: int | None = None
    tokens_out: int | None = None
    cache_reads: int | None = None
    cache_writes: int | None = None
    api_protocol: str = "anthropic"

    def whole(self) -> Usage | None:
        """Tokens of the whole prompt. Only the OpenAI protocol counts cached tokens in `tokensIn`."""
        if self.tokens_in is None or not (self.tokens_in or self.cache_reads or self.cache_writes):
            return None
        cached = 0 if self.api_protocol == "openai" else (self.cache_reads or 0) + (self.cache_writes or 0)
        return Usage(self.tokens_in + cached, self.tokens_out, self.cache_reads, self.cache_writes)


class Request(msgspec.Struct):
    """A request as the user interface knows it; `deleted` are the first and last message that it left out."""

    usage: Usage | None = None
    time_s: float | None = None
    deleted: tuple[int, int] | None = None
    model: str = ""


def read_task(source: Source, folder: Path, messages_file: str, format: str) -> Transcript:
    """Return the transcript of a task folder. Raises InputError if a file isn't what its name says."""
    assembly = Assembly(source.name, format)
    where = f"{folder / messages_file} message"
    messages = convert_all(json_file(folder / messages_file, list[Any]), Message, where)
    requests = _requests_of(assembly, folder, sum(m.role == "assistant" and not m.is_summary for m in messages))
    whole, xml, deleted = True, False, None
    message_of: list[int] = []
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
        else:
            request = next(requests, Request(time_s=time_s(message.ts)))
            if request.deleted != deleted:
                deleted = request.deleted
                _left_out_of_requests(assembly, message_of, deleted)
            parts = response_parts(message.content, f"{where} {number}")
            xml = xml or (bool(parts) and parts[-1].kind == "assistant" and _ends_with_xml(parts[-1].text))
            assembly.response(parts, request.usage, request.time_s, request.model, whole)
        message_of += [number] * (len(assembly.items) - len(message_of))
    if xml:
        assembly.notes.append("tool calls that stand in the text as XML stay text, their results user text")
    # The extension builds its system prompt anew for each request and doesn't store it.
    return assembly.finished("no response of the model in this task")


def _left_out_of_requests(assembly: Assembly, message_of: Sequence[int], deleted: tuple[int, int] | None) -> None:
    """From here on requests hold all messages but these; nothing stands in their place."""
    start, end = deleted or (1, 0)
    kept = [place for place, message in enumerate(message_of) if not start <= message <= end]
    assembly.compacted("auto", (), kept)


def _ends_with_xml(text: str) -> bool:
    end = re.search(r"</(\w+)>\s*\Z", text)
    return end is not None and f"<{end[1]}>" in text


def _requests_of(assembly: Assembly, folder: Path, responses: int) -> Iterator[Request]:
    """Return what the user interface recorded of each response; nothing if it can't be told which is which."""
    if not (folder / UI_FILE).is_file():
        assembly.notes.append(f"no {UI_FILE}: no usage")
        return iter(())
    requests = [*_requests(folder / UI_FILE)]
    if len(requests) > responses:
        # A request that failed before its first token was counted has no response.
        requests = [request for request in requests if request.usage and request.usage.output_tokens]
    if len(requests) != responses:
        assembly.notes.append(f"usage left out: {len(requests)} request(s) in {UI_FILE} for {responses} response(s)")
        return iter(())
    cut = next((number for number, request in enumerate(requests, 1) if request.deleted), None)
    if cut is not None:
        assembly.notes.append(f"recorded compaction before call {cut} (auto): older messages were no longer sent")
    return iter(requests)


def _requests(path: Path) -> Iterator[Request]:
    for number, value in enumerate(json_file(path, list[Any])):
        message = convert(value, UiMessage, f"{path} message {number}")
        if message.say != "api_req_started":
            continue
        try:
            line = msgspec.json.decode(message.text or "{}", type=RequestLine)
        except msgspec.DecodeError as error:
            raise InputError(f"{path} message {number}", f"text of the request: {error}") from None
        # The time is when the request was sent.
        yield Request(line.whole(), time_s(message.ts), message.deleted, message.model)
