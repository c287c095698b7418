"""Cline sessions (one JSON document with metrics), and task folders of its extension of VS Code.

A session's folder has the documents of its sub-agents too. The document keeps the whole history; beside it,
`SESSION.compaction.json` has the history that the last compaction made of its first messages.

Documentation: https://github.com/cline/cline (`sdk/packages/core/src/session/models/session-compaction.ts`)

    {"version": 1, "agent": "lead", "sessionId": "s", "system_prompt": "Be brief.", "messages": [
      {"id": "m1", "role": "user", "ts": 1000, "content": [{"type": "text", "text": "Any mail?"}]},
      {"id": "m2", "role": "assistant", "ts": 2000, "modelInfo": {"id": "m"},
       "metrics": {"inputTokens": 900, "outputTokens": 20, "cacheReadTokens": 0, "cacheWriteTokens": 0},
       "content": [{"type": "tool_use", "id": "t1", "name": "search", "input": {"q": "mail"}}]},
      {"id": "m3", "role": "user", "ts": 2100, "content": [
        {"type": "tool_result", "tool_use_id": "t1", "content": "2 messages"}]}]}
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import field

from ctxsim.readers.assembly import Assembly, dollars, kept_and_new
from ctxsim.readers.assembly.anthropic_content import Turn, add_turn
from ctxsim.readers.assembly.task_folders import is_task, task_of
from ctxsim.readers.source import Sample, Source, convert, convert_all, has, json_file, time_s
from ctxsim.transcript import NO_HISTORY, Transcript, Usage

NAME = "cline"
TITLE = "Cline sessions and task folders"
MARKS = ("agent",)
VERSIONS = "session documents of version 1 (2026), and task folders of Cline 3"
READS = (
    "Messages with the usage of each response, sub-agents, a session's last compaction; in task folders the usage "
    "comes from ui_messages.json."
)
NOT_READ = (
    "Tool calls that older task folders hold as XML inside the text: they stay text. Compactions before the last, of "
    "which nothing is kept. Checkpoints and settings."
)

_MESSAGES = ".messages.json"


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
    compaction: str = field(default="", name="metadata.compaction")

    def usage(self) -> Usage | None:
        if not self.input_tokens:
            return None
        cached = self.cache_read_tokens, self.cache_write_tokens
        return Usage(self.input_tokens, self.output_tokens, *cached, cost_usd=dollars(self.cost))


class _Session(msgspec.Struct):
    messages: list[Any]
    system_prompt: str = ""


class _Told(msgspec.Struct):
    cwd: str = ""


class _Compaction(msgspec.Struct):
    # What stood in place of so many first messages.
    messages: list[Any]
    source_message_count: int


def owns(folder: Path) -> bool:
    """Whether a folder is a session's, or a task of the VS Code extension."""
    return is_task(folder, roo=False) or (folder / f"{folder.name}{_MESSAGES}").is_file()


def matches(sample: Sample) -> bool:
    """An object with `sessionId`, `agent` and `messages`, and no other agent's marks."""
    session = sample.document
    return has(session, messages=list, agent=str, sessionId=object, version=object) and "projectHash" not in session


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return the one transcript of a document or task, or a session's and its sub-agents'."""
    folder = sample.folder
    if not folder:
        yield _transcript(Assembly(source.name, NAME), convert(sample.document, _Session, source.name))
    elif is_task(folder, roo=False):
        yield task_of(source, folder, NAME)
    else:
        told = folder / f"{folder.name}.json"
        project = json_file(told, _Told).cwd if told.is_file() else ""
        agents = [path.name.removesuffix(_MESSAGES) for path in folder.glob(f"*{_MESSAGES}")]
        for agent in sorted(agents, key=lambda agent: (agent != folder.name, agent)):
            own = (source.name, NAME) if agent == folder.name else (f"{source.name}#{agent}", NAME, source.name)
            assembly, beside = Assembly(*own), folder / f"{agent}.compaction.json"
            assembly.project = project
            compaction = json_file(beside, _Compaction) if beside.is_file() else None
            yield _transcript(assembly, json_file(folder / f"{agent}{_MESSAGES}", _Session), compaction)


def _transcript(assembly: Assembly, session: _Session, compaction: _Compaction | None = None) -> Transcript:
    where = f"{assembly.name} message"
    assembly.system += filter(None, [session.system_prompt])
    messages = convert_all(session.messages, _Message, where)
    marked = [number for number, one in enumerate(messages) if one.kind == "compaction" or one.compaction]
    assembly.notes += [NO_HISTORY] if marked else []
    for number, message in enumerate(messages):
        if compaction and number == compaction.source_message_count:
            _compact(assembly, compaction)
        # The file holds the current history: responses up to the last kept message had longer requests than it shows.
        later = not marked or number > marked[-1]
        # The time is that of the finished response.
        _add(assembly, message, f"{where} {number}", later)
    if compaction and len(messages) == compaction.source_message_count:
        _compact(assembly, compaction)
    return assembly.finished()


def _add(assembly: Assembly, message: _Message, where: str, later: bool = True) -> None:
    if message.role == "user" and isinstance(message.content, list):
        message.content = [*map(_file_as_text, message.content)]
    add_turn(assembly, message, where, message.usage(), time_s(message.ts), message.model, later)


def _compact(assembly: Assembly, compaction: _Compaction) -> None:
    made = Assembly(f"{assembly.name} compaction")
    for number, message in enumerate(convert_all(compaction.messages, _Message, made.name)):
        _add(made, message, f"{made.name} {number}")
    kept, new = kept_and_new(assembly.items, ((item.kind, item.text) for item in made.items))
    assembly.compacted("", new, kept)


def _file_as_text(block: Any) -> Any:
    """Return an attached text file as a text block; in other formats `file` blocks aren't text."""
    if not has(block, content=str) or block.get("type") != "file":
        return block
    return {"type": "text", "text": f"{block.get('path', '')}\n{block['content']}"}
