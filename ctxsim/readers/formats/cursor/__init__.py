"""Cursor: agent transcripts, JSONL of messages in Anthropic's blocks without ids of tool calls; the editor's database.

Documentation: https://cursor.com/docs (agent transcripts; the formats themselves are not documented)

    {"role": "user", "message": {"content": [{"type": "text", "text": "Any mail?"}]}}
    {"role": "assistant", "message": {"content": [{"type": "tool_use", "name": "search", "input": {"q": "mail"}}]}}
    {"role": "user", "message": {"content": [{"type": "tool_result", "content": "2 messages"}]}}
    {"type": "turn_ended", "status": "success"}
    state.vscdb: cursorDiskKV   key composerData:c1, value {"fullConversationHeadersOnly": [{"bubbleId": "b1"}]}
                 cursorDiskKV   key bubbleId:c1:b1, value {"type": 1, "text": "Any mail?"}
"""

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from ctxsim.readers.assembly import Assembly
from ctxsim.readers.assembly.anthropic_content import Turn, add_turn
from ctxsim.readers.formats.cursor.composers import KEYS, conversations
from ctxsim.readers.source import Sample, Source, convert, has, under
from ctxsim.readers.source.database import Database
from ctxsim.transcript import Transcript

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
    content: list[Any] = msgspec.field(name="message.content")
    model: str | None = None


def matches(sample: Sample) -> bool:
    """A database of the editor; lines of `role` and `message`, a list in it, without the fields of other agents."""
    if sample.database:
        return sample.has_tables({KEYS: ("key", "value")})
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
        with Database(source) as database:
            yield from conversations(source, database, NAME)
        return
    assembly = Assembly(source.name, NAME, _parent(source))
    for record in source.records(assembly.notes):
        if not _is_message(record.value):
            assembly.left_out[str(under(record.value, "type") or "line without a type")] += 1
            continue
        line = convert(record.value, _Line, record.where)
        content = [_renamed(block) for block in line.content]
        add_turn(assembly, Turn(line.role, content), record.where, model=line.model or "")
    yield assembly.finished("no response of the model in this file")


def _renamed(block: Any) -> Any:
    kind = under(block, "type")
    return block | {"type": _BLOCK_TYPES[kind]} if isinstance(kind, str) and kind in _BLOCK_TYPES else block


def _parent(source: Source) -> str | None:
    """Return the name of the transcript that lies beside the folder of sub-agents, if there is just one."""
    if source.path is None or source.path.parent.name != "subagents":
        return None
    beside = sorted(source.path.parent.parent.glob("*.jsonl"))
    return str(beside[0]) if len(beside) == 1 else None
