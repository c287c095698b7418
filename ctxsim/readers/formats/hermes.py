"""Hermes Agent sessions: a database or, of older versions, one JSON document with chat messages for each.

Documentation: https://github.com/NousResearch/hermes-agent (`hermes_state.py`)

    {"session_id": "s", "model": "m", "platform": "cli", "session_start": "2026-01-01T12:00:00Z",
     "system_prompt": "Be brief.", "messages": [
      {"role": "user", "content": "Any mail?"},
      {"role": "assistant", "content": "I look.", "reasoning": "Where?", "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{}"}}]},
      {"role": "tool", "tool_call_id": "c1", "tool_name": "search", "content": "2 messages"},
      {"role": "session_meta"}]}
    state.db: messages   id 1, session_id s, role user, content Any mail?, timestamp 1767268800.0, compacted 0
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import takewhile
from operator import eq, itemgetter
from typing import Any

import msgspec

from ctxsim.readers.assembly import Assembly, chat_messages, dollars, kept_and_new
from ctxsim.readers.assembly.numbers import in_parts
from ctxsim.readers.assembly.stores import Connection, cell, of_database, row, runs
from ctxsim.readers.source import Sample, Source, compact_json, convert, has, time_s, under
from ctxsim.transcript import Transcript, Usage

NAME = "hermes"
TITLE = "Hermes Agent sessions"
MARKS = ("session_start",)
VERSIONS = "state.db with schema version 22, tested on Hermes Agent 0.19.0; session documents of 2026"
READS = "Messages, system prompts, documents' tools, databases' sub-agents, compactions, times, sums of usage and cost."
NOT_READ = "Messages that the user took back. Not recorded: tools and each call's usage (databases), usage (documents)."

_COLUMNS = {
    "sessions": {"id", "source", "parent_session_id", "started_at", "end_reason", "model", "model_config"},
    "messages": {"id", "session_id", "role", "content", "timestamp", "active", "compacted", "api_content"},
    "session_model_usage": {"session_id", "model", "task", "input_tokens", "actual_cost_usd"},
}
# After a compaction a session may go on in a child, which is no branch (`_branched_from`), sub-agent or tool.
_SESSIONS = """SELECT s.id, s.parent_session_id, p.end_reason = 'compression' AND s.source <> 'tool'
AND COALESCE(s.model_config, '') NOT LIKE '%_from"%' FROM sessions s LEFT JOIN sessions p
ON p.id = s.parent_session_id ORDER BY s.started_at, s.id"""
_MESSAGES = """SELECT m.id, m.role, COALESCE(m.api_content, m.content) content, m.tool_calls, m.tool_call_id,
m.tool_name, m.reasoning, m.reasoning_content, COALESCE(m.timestamp, 0) + 0.0 timestamp, m.active, s.model
FROM messages m JOIN sessions s ON s.id = m.session_id WHERE s.id IN (%s) AND (m.active OR m.compacted) ORDER BY m.id"""
_USAGE = """SELECT model, task, MAX(last_seen) + 0.0,
TOTAL(MAX(COALESCE(actual_cost_usd, 0), COALESCE(estimated_cost_usd, 0))),
TOTAL(input_tokens), TOTAL(output_tokens), TOTAL(cache_read_tokens), TOTAL(cache_write_tokens), TOTAL(reasoning_tokens)
FROM session_model_usage WHERE session_id IN (%s) GROUP BY model, task HAVING TOTAL(output_tokens)"""
_SAID = itemgetter("role", "content", "tool_calls")
_SUMMARY = re.compile(r"^\[CONTEXT (?:COMPACTION|SUMMARY)", re.MULTILINE)


class _Message(chat_messages.Message):
    # Instead of `name`, or beside it.
    tool_name: str | None = None


class _Session(msgspec.Struct):
    messages: list[Any]
    model: str = ""
    system_prompt: str | None = None
    tools: list[Any] | None = None


def matches(sample: Sample) -> bool:
    """A database, or an object with `session_id`, `platform`, `session_start` and `messages`."""
    if sample.database:
        return sample.has_tables(_COLUMNS)
    return has(sample.document, messages=list, session_id=str, platform=str, session_start=str)


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return a document's transcript, or one for each conversation of a database."""
    if sample.database:
        yield from _of_database(source)
        return
    session = convert(sample.document, _Session, source.name)
    assembly = Assembly(source.name, NAME)
    assembly.system += filter(None, [session.system_prompt])
    assembly.tools += map(compact_json, session.tools or [])
    _add(assembly, session.messages, session.model)
    yield assembly.finished()


def _add(assembly: Assembly, values: Iterable[Any], model: str = "") -> Assembly:
    for number, value in enumerate(values):
        role = under(value, "role")
        if not isinstance(role, str) or role not in chat_messages.ROLES:
            assembly.left_out[role if isinstance(role, str) else "entry without a role"] += 1
            continue
        message = convert(value, _Message, f"{assembly.name} message {value.get('id', number)}")
        message.name = message.name or message.tool_name
        by = model or str(value.get("model") or "")
        chat_messages.add_message(assembly, message, by, time_s(value.get("timestamp")))
    return assembly


def _of_database(source: Source) -> Iterator[Transcript]:
    chains: defaultdict[str, list[str]] = defaultdict(list)

    def listed(found: Connection) -> Iterator[tuple[str, str | None]]:
        first: dict[str, str] = {}
        for session, parent, goes_on in found.execute(_SESSIONS):
            first[session] = first.get(parent, session) if goes_on else session
            chains[first[session]].append(session)
            if first[session] == session:
                yield session, first.get(parent)

    def one(found: Connection, session: str, name: str, parent: str | None) -> Transcript | None:
        assembly, about = Assembly(name, NAME, parent), row(found, "sessions", "id", session)
        assembly.system += filter(None, [str(about.get("system_prompt") or "")])
        assembly.project = str(about.get("cwd") or "")
        chain, origin = chains[session], [about.get("parent_session_id")]
        marks = ", ".join("?" * len(chain))
        rows = [*_rows(found.execute(_MESSAGES % marks, chain), name)]
        # A branch begins with a copy of what its parent then sent.
        sent = (one for one in _rows(found.execute(_MESSAGES % "?", origin), name) if one["active"])
        copied = sum(takewhile(bool, map(eq, map(_SAID, rows), map(_SAID, sent))))
        if _add(assembly, rows[:copied]).calls:
            assembly.inherited()
        _with_compactions(assembly, rows[copied:])
        stated: dict[str, Usage] = {}
        for model, task, last_s, usd, *counts in found.execute(_USAGE % marks, chain):
            usage = in_parts(*convert(counts, tuple[int, int, int, int, int], name), usd if task else None)
            if task:
                assembly.beside(usage, last_s, str(model), summary=task == "compression")
            else:
                stated[str(model)], assembly.cost_usd = usage, dollars((assembly.cost_usd or 0.0) + usd)
        assembly.totals(stated, None)
        return assembly.finished() if rows else None

    return of_database(source, listed, one)


def _rows(asked: Any, name: str) -> Iterator[dict[str, Any]]:
    for values in asked:
        one = {column: value for (column, *_), value in zip(asked.description, values, strict=True)}
        for column, sign in (("content", "\0json:"), ("tool_calls", "")):
            if isinstance(one[column], str) and one[column].startswith(sign):
                one[column] = cell(one[column].removeprefix(sign), list[Any], name)
        yield one


def _with_compactions(assembly: Assembly, rows: list[dict[str, Any]]) -> None:
    """Add messages. A compaction writes its summary and again what it keeps, which may have had a time before."""
    times = [one["timestamp"] for one in rows]
    first = {time: at for at, time in reversed([*enumerate(times)])}
    made = {at for at in first.values() if rows[at]["role"] != "tool" and _SUMMARY.search(str(rows[at]["content"]))}
    # What had no time has that of the summary, a microsecond more or less.
    near = {times[at] // 0.001 + step for at in made for step in (-1, 0, 1)}
    again = [first[time] < at or time // 0.001 in near for at, time in enumerate(times)]
    for run in runs(range(len(rows)), lambda run, at: again[run[0]] == again[at]):
        summaries, end = [at for at in run if at in made], run[-1] + 1
        if not summaries:
            _add(assembly, rows[run[0] : end])
            continue
        # A second compaction, right after the first, keeps nothing before its summary.
        start = summaries[-1] if summaries[1:] else run[0]
        left = _add(Assembly(assembly.name), rows[start:end]).transcript().items
        known = [msgspec.structs.replace(item, text=item.call_id or item.text) for item in assembly.items]
        kept, new = kept_and_new(known, [(item.kind, item.call_id or item.text) for item in left])
        asked = max((number for number, text in enumerate(new, 1) if _SUMMARY.search(text)), default=0)
        by = "auto" if end < len(rows) and rows[end]["role"] == "assistant" else ""
        assembly.compacted(by, new[:asked], kept)
        whole = {item.text for item in assembly.items}
        assembly.cleared_of([item.call_id for item in left if item.kind == "tool_result" and item.text not in whole])
        assembly.user(*new[asked:])
