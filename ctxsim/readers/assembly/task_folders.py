"""Task folders of extensions of VS Code, as Cline and Roo Code write them: messages in one file, usage in another."""

import re
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import field

from ctxsim.errors import InputError
from ctxsim.readers.assembly.anthropic_content import Turn, add_user_content, response_parts
from ctxsim.readers.assembly.assembly import Assembly
from ctxsim.readers.assembly.blocks import text_of
from ctxsim.readers.assembly.numbers import dollars, in_parts, of_prompt, summed
from ctxsim.readers.source import Source, convert, convert_all, decoded, json_file, time_s
from ctxsim.transcript import NO_HISTORY, Transcript, Usage

MESSAGES_FILE = "api_conversation_history.json"
UI_FILE = "ui_messages.json"

ROO = "roo-code"

OF_ROO = {"rooveterinaryinc.roo-cline", "kilocode.kilo-code"}
"""Folders of Roo Code and of its fork Kilo Code, whose versions since 2026 keep sessions as OpenCode does."""

ROO_COUNTS_ALL_S = datetime(2025, 11, 1, tzinfo=UTC).timestamp()
"""Since when Roo Code counts cached tokens in `tokensIn` in all protocols: version 3.29.5. Source:
https://github.com/RooCodeInc/Roo-Code/pull/8954.
"""

COUNTS_ALL = {"openai", "litellm", "doubao", "fireworks", "hicap", "lmstudio", "qwen", "xai", "zai"}
"""Cline's providers that count cached tokens in `tokensIn`. Source: src/core/api/providers of
https://github.com/cline/cline.
"""

REQUEST = "api_req_started"

SUMS = ("deleted_api_reqs", "api_req_deleted", "subagent_usage")
"""Records that each sum up requests whose responses aren't here: removed by a checkpoint, or sub-agents'. Sources:
src/shared/getApiMetrics.ts of https://github.com/cline/cline, src/core/checkpoints/index.ts of Roo Code.
"""


class _Message(Turn, rename="camel"):
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
    provider: str = field(default="", name="modelInfo.providerId")
    # Of Roo: the request for a summary.
    condensed_tokens: Any = field(default=None, name="contextCondense.prevContextTokens")
    condensed_cost: Any = field(default=None, name="contextCondense.cost")


class _RequestLine(msgspec.Struct, rename="camel"):
    tokens_in: int | None = None
    tokens_out: int | None = None
    cache_reads: int | None = None
    cache_writes: int | None = None
    cost: Any = None
    api_protocol: str = "anthropic"

    def whole(self, of_all: bool) -> Usage | None:
        """Return the tokens of the whole prompt. `tokensIn` holds cached ones in the OpenAI protocol, or `of_all`."""
        if self.tokens_in is None or not (self.tokens_in or self.cache_reads or self.cache_writes):
            return None
        made = of_prompt if of_all or self.api_protocol == "openai" else in_parts
        return made(self.tokens_in, self.tokens_out, self.cache_reads, self.cache_writes, cost=self.cost)


_DETAILS = "<environment_details>"
_MODEL = re.compile(r"^<model>(.+?)</model>$", re.MULTILINE)
"""The model, as Roo states it in a request's details alone. Source: src/core/environment/getEnvironmentDetails.ts."""

_OF_ROO = re.compile(rb'\\n<model>[^\\"]+</model>\\n|"is(?:Summary|TruncationMarker)"')
"""What stands in the messages of Roo Code's tasks alone."""


def is_task(folder: Path, roo: bool) -> bool:
    """Whether a folder is a task, of Roo Code or of another: Roo's place or the first megabyte of its messages tell."""
    messages = folder / MESSAGES_FILE
    if not messages.is_file():
        return False
    of_roo = not OF_ROO.isdisjoint(folder.parts)
    with suppress(OSError), messages.open("rb") as file:
        of_roo = of_roo or _OF_ROO.search(file.read(1 << 20)) is not None
    return roo == of_roo


def task_of(source: Source, folder: Path, format: str) -> Transcript:
    """Return the transcript of a task folder: messages are in one file, usage in another."""
    assembly = Assembly(source.name, format)
    where = f"{folder / MESSAGES_FILE} message"
    messages = convert_all(json_file(folder / MESSAGES_FILE, list[Any]), _Message, where)
    responses = sum(m.role == "assistant" and not m.is_summary for m in messages)
    requests, condensed, others = _requests_of(assembly, folder, responses, format == ROO)
    each = iter(requests if len(requests) == responses else ())
    whole, xml, deleted = True, False, None
    message_of: list[int] = []
    model = ""
    for number, message in enumerate(messages):
        if message.is_truncation_marker or (message.is_summary and assembly.calls):
            # A truncation's marker doesn't say what was left out.
            whole = not message.is_truncation_marker
            if whole:
                assembly.compacted(summary=[text_of(message.content)])
                _paid(assembly, condensed[:1], model, summary=True)
                del condensed[:1]
            else:
                assembly.shortening("recorded truncation")
        elif message.is_summary or message.role == "user":
            if message.is_summary:
                assembly.notes.append(NO_HISTORY)
            add_user_content(assembly, message.content, f"{where} {number}")
            details = text_of(message.content).split(_DETAILS)[1:]
            model = next((found[1] for found in map(_MODEL.search, reversed(details)) if found), model)
        else:
            request, usage = next(each, (_UiMessage(ts=message.ts), None))
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
    _paid(assembly, [*others, *condensed], model)
    if len(requests) != responses and (folder / UI_FILE).is_file():
        assembly.notes.append(
            f"usage only as a sum: {len(requests)} request(s) in {UI_FILE} for {responses} response(s)"
        )
        stated = summed((request.model or model, usage) for request, usage in requests if usage)
        assembly.totals(stated, time_s(requests[-1][0].ts) if requests else None)
    if xml:
        assembly.notes.append("tool calls that stand in the text as XML stay text, their results user text")
    # The extension builds its system prompt anew for each request and doesn't store it.
    return assembly.finished()


def _ends_with_xml(text: str) -> bool:
    end = re.search(r"</(\w+)>\s*\Z", text)
    return end is not None and f"<{end[1]}>" in text


Requests = list[tuple[_UiMessage, Usage | None]]


class _Shown(NamedTuple):
    """The user interface's record of each response, or of all if they can't be matched to the responses, of each
    summary, and of what else was paid for.
    """

    requests: Requests
    condensed: Requests
    others: Requests


def _requests_of(assembly: Assembly, folder: Path, responses: int, roo: bool) -> _Shown:
    found = _Shown([], [], [])
    if not (folder / UI_FILE).is_file():
        assembly.notes.append(f"no {UI_FILE}: no usage")
        return found
    for number, value in enumerate(json_file(folder / UI_FILE, list[Any])):
        where = f"{folder / UI_FILE} message {number}"
        message = convert(value, _UiMessage, where)
        if message.say in (REQUEST, *SUMS):
            try:
                told = convert(decoded(message.text or "{}"), _RequestLine, f"{where}: text of the request")
            except InputError:
                if message.say == REQUEST:
                    raise
                assembly.left_out[f"{message.say} in another form"] += 1
                continue
            later = (time_s(message.ts) or 0.0) >= ROO_COUNTS_ALL_S
            usage = told.whole(later if roo else message.provider in COUNTS_ALL)
            (found.requests if message.say == REQUEST else found.others).append((message, usage))
        elif isinstance(message.condensed_tokens, int):
            usage = Usage(message.condensed_tokens, cost_usd=dollars(message.condensed_cost))
            found.condensed.append((message, usage))
    if len(found.requests) > responses:
        # A request that failed before its first token was counted has no response.
        answered: Requests = []
        for message, usage in found.requests:
            (answered if usage and usage.output_tokens else found.others).append((message, usage))
        return found._replace(requests=answered)
    return found


def _paid(assembly: Assembly, requests: Requests, model: str, summary: bool = False) -> None:
    """Add requests without a response; `model` is that of those that name none."""
    for request, usage in requests:
        assembly.beside(usage, time_s(request.ts), request.model or model, summary)
