"""Conversations in Cursor's database `state.vscdb`: rows of keys and JSON, one a conversation and one a bubble of it.

Bubbles are what the editor shows, in the order of `fullConversationHeadersOnly`. A user's bubble has type 1; one of the
model holds a text, its thinking, or one tool call with its result. Which tool calls were one response is told by
`modelCallId` where that is there; else each is a response of its own.

Documentation: none by the vendor; rows as https://github.com/specstoryai/getspecstory (`pkg/providers/cursoride`) and
https://github.com/michaeldhood/chatrxiv (`docs/cursor/storage-reference.md`) describe them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from ctxsim.errors import InputError
from ctxsim.readers.assembly import IMAGE_TOKENS, Assembly, Part
from ctxsim.readers.assembly.stores import cell, each
from ctxsim.readers.source import Database, Source, compact_json, time_s
from ctxsim.transcript import Media, Transcript, Usage

if TYPE_CHECKING:
    import sqlite3

KEYS = "cursorDiskKV"
ITEMS = "ItemTable"
_OLD = "composer.composerData"

USER, MODEL = 1, 2


class _Header(msgspec.Struct):
    bubble_id: str = msgspec.field(name="bubbleId")


class _ModelName(msgspec.Struct):
    name: str | None = msgspec.field(default=None, name="modelName")


class Tokens(msgspec.Struct, rename="camel"):
    """Usage of a response; zeros where it isn't known."""

    input_tokens: int | None = None
    output_tokens: int | None = None


class _Thinking(msgspec.Struct):
    text: str = ""


class Tool(msgspec.Struct, rename="camel"):
    """A tool call with what came of it; arguments and result are JSON texts."""

    name: str = ""
    tool_call_id: str = ""
    model_call_id: str = ""
    raw_args: Any = None
    params: Any = None
    result: Any = None
    error: Any = None
    status: str | None = None


class _Bubble(msgspec.Struct, rename="camel"):
    type: int
    text: str = ""
    created_at: Any = None
    thinking: _Thinking | None = None
    tool_former_data: Tool | None = None
    token_count: Tokens | None = None
    model_info: _ModelName | None = None
    images: list[Any] | None = None
    bubble_id: str = ""


class Composer(msgspec.Struct, rename="camel"):
    """A conversation: headers of its bubbles, or, in older versions, the bubbles themselves."""

    composer_id: str
    created_at: Any = None
    full_conversation_headers_only: list[_Header] | None = None
    conversation: list[_Bubble] | None = None
    conversation_map: dict[str, _Bubble] | None = None
    model_config: _ModelName | None = None
    context_token_limit: int | None = None
    sub_composer_ids: list[str] | None = None
    subagent_composer_ids: list[str] | None = None
    latest_conversation_summary: Any = None


class _Index(msgspec.Struct, rename="camel"):
    all_composers: list[Composer] | None = None


def conversations(source: Source, database: Database, format: str) -> Iterator[Transcript]:
    """Return the conversations of a database in order of their ids, each read at one moment."""
    ids = database.read(lambda found: _ids(found, source.name))
    names = {one: f"{source.name}#{one}" for one in dict.fromkeys(ids)}
    parents = {child: names[one] for one, children in database.read(_children) for child in children if one in names}

    def read(one: str) -> Transcript | None:
        held = database.read(lambda found: _held(found, one, names[one]))
        return held and _transcript(names[one], format, parents.get(one), *held)

    yield from each(source.name, names, read)


def _range(start: str) -> tuple[str, str]:
    """The keys that begin with a text which ends in a colon; the semicolon is the next sign."""
    return start, f"{start[:-1]};"


def _ids(found: sqlite3.Connection, name: str) -> list[str]:
    keys = found.execute(f"SELECT key FROM {KEYS} WHERE key >= ? AND key < ? ORDER BY key", _range("composerData:"))
    ids = [key.partition(":")[2] for (key,) in keys]
    return ids + [one.composer_id for one in _old(found, name) if one.conversation]


def _old(found: sqlite3.Connection, name: str) -> list[Composer]:
    """Conversations of versions before 0.46, all in one row of a workspace's database."""
    if not found.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (ITEMS,)).fetchone():
        return []
    row = found.execute(f"SELECT value FROM {ITEMS} WHERE key = ?", (_OLD,)).fetchone()
    return (cell(row[0], _Index, f"{name} {_OLD}").all_composers or []) if row and row[0] else []


def _children(found: sqlite3.Connection) -> list[tuple[str, list[str]]]:
    """Conversations that started others, with the ids of those."""
    rows = found.execute(f"SELECT key, value FROM {KEYS} WHERE key >= ? AND key < ?", _range("composerData:"))
    told = []
    for key, value in rows:
        # One that can't be read says so when it is read by itself.
        with suppress(InputError):
            one = cell(value, Composer, key)
            told.append((key.partition(":")[2], [*(one.sub_composer_ids or []), *(one.subagent_composer_ids or [])]))
    return told


def _held(found: sqlite3.Connection, one: str, name: str) -> tuple[Composer, list[_Bubble], int] | None:
    """A conversation, its bubbles in order, and how many have no row; None if it has no bubbles."""
    row = found.execute(f"SELECT value FROM {KEYS} WHERE key = ?", (f"composerData:{one}",)).fetchone()
    if row is None:
        composer = next(old for old in _old(found, name) if old.composer_id == one)
    elif row[0] is None:
        return None
    else:
        composer = cell(row[0], Composer, name)
    headers = composer.full_conversation_headers_only or []
    inside = composer.conversation_map or {}
    bubbles, missing = [], 0
    for header in headers:
        key = f"bubbleId:{one}:{header.bubble_id}"
        row = found.execute(f"SELECT value FROM {KEYS} WHERE key = ?", (key,)).fetchone()
        if row and row[0] is not None:
            bubbles.append(cell(row[0], _Bubble, f"{name} {key}"))
        elif header.bubble_id in inside:
            bubbles.append(inside[header.bubble_id])
        else:
            missing += 1
    bubbles += [] if headers else composer.conversation or []
    return (composer, bubbles, missing) if bubbles or missing else None


def _goes_on(response: list[_Bubble], bubble: _Bubble) -> bool:
    """Whether a bubble belongs to a response: calls end it, unless they say that they are of it."""
    last, call = response[-1].tool_former_data, bubble.tool_former_data
    if bubble.type != MODEL or last is None:
        return bubble.type == MODEL
    return call is not None and bool(call.model_call_id) and call.model_call_id == last.model_call_id


def _transcript(
    name: str, format: str, parent: str | None, composer: Composer, bubbles: list[_Bubble], missing: int
) -> Transcript:
    assembly = Assembly(name, format, parent)
    assembly.window = composer.context_token_limit or None
    chosen = (composer.model_config and composer.model_config.name) or ""
    response: list[_Bubble] = []
    for bubble in bubbles:
        if response and not _goes_on(response, bubble):
            _add(assembly, response, chosen)
            response = []
        if bubble.type == USER:
            media = tuple(Media("image", IMAGE_TOKENS["anthropic"]) for _ in bubble.images or [])
            assembly.user(*([Part("user", bubble.text, media=media)] if bubble.text or media else []))
        elif bubble.type == MODEL:
            response.append(bubble)
        else:
            assembly.left_out[f"bubble of type {bubble.type}"] += 1
    if response:
        _add(assembly, response, chosen)
    if missing:
        assembly.notes.append(f"{missing} bubble(s) of this conversation are not in the database")
    if composer.latest_conversation_summary:
        assembly.notes.append("the conversation was summarized: from when on requests began with that is not recorded")
    return assembly.finished("no response of the model in this conversation")


def _add(assembly: Assembly, response: list[_Bubble], chosen: str) -> None:
    parts: list[Part] = []
    for bubble in response:
        if bubble.thinking and bubble.thinking.text:
            parts.append(Part("reasoning", bubble.thinking.text))
        if bubble.text:
            parts.append(Part("assistant", bubble.text))
        if (tool := bubble.tool_former_data) and tool.name:
            arguments = tool.raw_args if tool.raw_args not in (None, "") else tool.params
            parts.append(Part("tool_call", compact_json(arguments or ""), tool.name, tool.tool_call_id))
    if not parts:
        assembly.left_out["empty bubble of the model"] += len(response)
        return
    counted = [bubble.token_count for bubble in response if bubble.token_count]
    tokens = next((count for count in reversed(counted) if count.input_tokens), None)
    usage = Usage(tokens.input_tokens or 0, tokens.output_tokens) if tokens else None
    named = next((bubble.model_info.name for bubble in response if bubble.model_info), None)
    assembly.response(parts, usage, time_s(response[0].created_at), named or chosen)
    for bubble in response:
        tool = bubble.tool_former_data
        if tool and tool.name:
            said = next((held for held in (tool.result, tool.error) if held not in (None, "")), None)
            if said is not None:
                assembly.result(compact_json(said), tool.tool_call_id, tool.name)
