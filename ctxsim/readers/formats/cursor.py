"""Cursor: agent transcripts, JSONL of messages in Anthropic's blocks without ids of tool calls; the editor's database.

Bubbles of the database are what the editor shows, in the order of `fullConversationHeadersOnly`. A user's bubble has
type 1; one of the model holds a text, its thinking, or one tool call with its result. Successive tool calls with the
same `modelCallId` are one response; after one without it, a new response begins.

Documentation: https://cursor.com/docs (agent transcripts; the formats themselves are not documented); the database's
rows as https://github.com/specstoryai/getspecstory (`pkg/providers/cursoride`) and
https://github.com/michaeldhood/chatrxiv (`docs/cursor/storage-reference.md`) describe them

    {"role": "user", "message": {"content": [{"type": "text", "text": "Any mail?"}]}}
    {"role": "assistant", "message": {"content": [{"type": "tool_use", "name": "search", "input": {"q": "mail"}}]}}
    {"role": "user", "message": {"content": [{"type": "tool_result", "content": "2 messages"}]}}
    {"type": "turn_ended", "status": "success"}
    state.vscdb: cursorDiskKV   key composerData:c1, value {"fullConversationHeadersOnly": [{"bubbleId": "b1"}]}
                 cursorDiskKV   key bubbleId:c1:b1, value {"type": 1, "text": "Any mail?"}
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Literal

import msgspec
from msgspec import field

from ctxsim.errors import InputError
from ctxsim.readers.assembly import Assembly, Part, content_parts
from ctxsim.readers.assembly.anthropic_content import Turn, add_turn
from ctxsim.readers.assembly.stores import Connection, cell, of_database, row, runs
from ctxsim.readers.source import Sample, Source, compact_json, convert, convert_all, has, time_s, under
from ctxsim.transcript import Transcript, Usage

NAME = "cursor"
TITLE = "Cursor agent transcripts and conversations"
MARKS = ("cursorDiskKV", "message")
VERSIONS = (
    "transcripts of 2026; state.vscdb with composerData of versions 1 to 10 and bubbles of versions 2 and 3, as "
    "third parties describe them, not tested on real ones"
)
READS = (
    "Messages, tool calls, and tool results where they are recorded; files under `subagents` as children. Of the "
    "database every conversation: texts, thinking, tool calls with results, models, times, the window, token counts."
)
NOT_READ = (
    "Usage, times and tool definitions are not in the files. Of the database: attached files and rules, summaries, the "
    "chat panel of 2024, `agentKv` blobs, conversations from before 0.46 in a workspace's own database. A result there "
    "is what the editor keeps, not to the letter what was sent."
)

_BLOCK_TYPES = {"tool_call": "tool_use", "tool-call": "tool_use", "tool-result": "tool_result"}


class _Line(msgspec.Struct):
    role: Literal["user", "assistant"]
    content: list[Any] = field(name="message.content")
    model: str | None = None


_KEYS = "cursorDiskKV"

_USER, _MODEL = 1, 2


class _Tool(msgspec.Struct, rename="camel"):
    # Arguments and result are JSON texts.
    name: str = ""
    tool_call_id: str = ""
    model_call_id: str = ""
    raw_args: Any = None
    params: Any = None
    result: Any = None
    error: Any = None


class _Bubble(msgspec.Struct):
    type: int
    text: str = ""
    created_at: Any = field(default=None, name="createdAt")
    thinking: str = field(default="", name="thinking.text")
    tool: _Tool | None = field(default=None, name="toolFormerData")
    # 0 if unknown.
    input_tokens: int | None = field(default=None, name="tokenCount.inputTokens")
    output_tokens: int | None = field(default=None, name="tokenCount.outputTokens")
    model: str | None = field(default=None, name="modelInfo.modelName")
    images: list[Any] | None = None


class _Composer(msgspec.Struct):
    """A conversation: headers of its bubbles, or, in older versions, the bubbles themselves."""

    headers: list[dict[str, Any]] | None = field(default=None, name="fullConversationHeadersOnly")
    conversation: list[Any] | None = None
    by_id: dict[str, Any] | None = field(default=None, name="conversationMap")
    model: str | None = field(default=None, name="modelConfig.modelName")
    window: int | None = field(default=None, name="contextTokenLimit")
    sub_composers: list[str] | None = field(default=None, name="subComposerIds")
    subagents: list[str] | None = field(default=None, name="subagentComposerIds")
    summary: Any = field(default=None, name="latestConversationSummary")


def matches(sample: Sample) -> bool:
    """A database of the editor; lines of `role` and `message`, a list in it, without the fields of other agents."""
    if sample.database:
        return sample.has_tables({_KEYS: ("key", "value")})
    lines = [record for record in sample.records if _is_message(record)]
    others = [record for record in sample.records if not _is_message(record)]
    return bool(lines) and all(isinstance(record, dict) and "role" not in record for record in others)


def _is_message(record: Any) -> bool:
    return (
        has(record, message=dict)
        and record.get("role") in ("user", "assistant")
        and has(record["message"], content=list)
        and not {"uuid", "parentUuid", "type", "timestamp"} & record.keys()
    )


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return the one transcript of a file, or the conversations of a database."""
    if sample.database:
        yield from of_database(source, _listed, _conversation)
        return
    assembly = Assembly(source.name, NAME, _parent(source))
    for record in source.records(assembly.notes):
        if not _is_message(record.value):
            assembly.left_out[str(under(record.value, "type") or "line without a type")] += 1
            continue
        line = convert(record.value, _Line, record.where)
        renamed = [(_BLOCK_TYPES.get(str(under(block, "type"))), block) for block in line.content]
        content = [block | {"type": kind} if kind else block for kind, block in renamed]
        add_turn(assembly, Turn(line.role, content), record.where, model=line.model or "")
    yield assembly.finished()


def _parent(source: Source) -> str | None:
    """Return the name of the transcript that lies beside the folder of sub-agents, if there is just one."""
    folder = source.place.parent
    above = source.files_in(folder.parent) if folder.name == "subagents" else {}
    found = [above[file] for file in above if file.endswith(".jsonl")]
    return found[0] if len(found) == 1 else None


def _listed(found: Connection) -> list[tuple[str, str | None]]:
    """Return the ids of all conversations in order, each with the id of the one that started it."""
    # `;` is the next character after `:`, so the range holds all keys with this prefix.
    between = "key >= 'composerData:' AND key < 'composerData;'"
    known: list[str] = []
    parents: dict[str, str] = {}
    for key, value in found.execute(f"SELECT key, value FROM {_KEYS} WHERE {between} ORDER BY key"):
        known.append(key.partition(":")[2])
        # A conversation that can't be read is reported when it is read itself.
        with suppress(InputError):
            one = cell(value, _Composer, key)
            parents |= dict.fromkeys([*(one.sub_composers or []), *(one.subagents or [])], known[-1])
    return [(one, parents.get(one)) for one in known]


def _value(found: Connection, key: str) -> Any:
    return row(found, _KEYS, "key", key).get("value")


def _conversation(found: Connection, one: str, name: str, parent: str | None) -> Transcript | None:
    """Return a conversation of the database; None if it has no bubbles."""
    if (value := _value(found, f"composerData:{one}")) is None:
        return None
    composer = cell(value, _Composer, name)
    if not (bubbles := [*_bubbles(found, one, name, composer)]):
        return None
    assembly = Assembly(name, NAME, parent)
    assembly.window = composer.window or None
    for run in runs(filter(None, bubbles), _goes_on):
        bubble = run[0]
        if bubble.type == _USER:
            images = [{"type": "image"} for _ in bubble.images or []]
            assembly.user(*content_parts("user", [{"type": "text", "text": bubble.text}, *images], "anthropic"))
        elif bubble.type == _MODEL:
            _add(assembly, run, composer.model or "")
        else:
            assembly.left_out[f"bubble of type {bubble.type}"] += 1
    if missing := bubbles.count(None):
        assembly.notes.append(f"{missing} bubble(s) of this conversation are not in the database")
    if composer.summary:
        assembly.notes.append("the conversation was summarized: from when on requests began with that is not recorded")
    return assembly.finished()


def _bubbles(found: Connection, one: str, name: str, composer: _Composer) -> Iterator[_Bubble | None]:
    """Yield the bubbles of a conversation; None for one that isn't in the database."""
    inside = composer.by_id or {}
    for header in composer.headers or []:
        own = str(header.get("bubbleId"))
        key = f"bubbleId:{one}:{own}"
        if (value := _value(found, key)) is not None:
            yield cell(value, _Bubble, f"{name} {key}")
        elif own in inside:
            yield convert(inside[own], _Bubble, f"{name} {key}")
        else:
            yield None
    if not composer.headers:
        yield from convert_all(composer.conversation or [], _Bubble, f"{name} bubble")


def _goes_on(response: list[_Bubble], bubble: _Bubble) -> bool:
    """Return whether a bubble belongs to a response: after a tool call, only calls of its `modelCallId` do."""
    last, call = response[-1].tool, bubble.tool
    if not response[-1].type == bubble.type == _MODEL:
        return False
    return last is None or (call is not None and call.model_call_id == last.model_call_id != "")


def _add(assembly: Assembly, response: list[_Bubble], chosen: str) -> None:
    parts: list[Part] = []
    results: list[Part] = []
    for bubble in response:
        if bubble.thinking:
            parts.append(Part("reasoning", bubble.thinking))
        if bubble.text:
            parts.append(Part("assistant", bubble.text))
        if (tool := bubble.tool) and tool.name:
            arguments = tool.raw_args if tool.raw_args not in (None, "") else tool.params
            parts.append(Part("tool_call", compact_json(arguments or ""), tool.name, tool.tool_call_id))
            said = next((compact_json(held) for held in (tool.result, tool.error) if held not in (None, "")), None)
            results += [] if said is None else [Part("tool_result", said, tool.name, tool.tool_call_id)]
    if not parts:
        assembly.left_out["empty bubble of the model"] += len(response)
        return
    usage = next((Usage(one.input_tokens, one.output_tokens) for one in reversed(response) if one.input_tokens), None)
    named = next((bubble.model for bubble in response if bubble.model), None)
    assembly.response(parts, usage, time_s(response[0].created_at), named or chosen)
    for result in results:
        assembly.give(result)
