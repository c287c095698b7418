"""Hermes sessions: documents, and a database made by the tables in its source: compactions, branches, totals."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from read_back import all_of, only, said, write

from ctxsim.readers.assembly.segments import segments
from ctxsim.readers.contract import examined
from ctxsim.transcript import CLEARED, Transcript, Usage

CALLS = [{"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"q":  1}'}}]


def one(tmp_path: Path, *messages: Any, **fields: Any) -> Transcript:
    value = {"session_id": "s", "model": "m", "platform": "cli", "session_start": "2026-01-01T12:00:00"}
    return only(write(tmp_path / "session.json", value | {"messages": messages} | fields), "hermes")


def test_a_session(tmp_path: Path) -> None:
    transcript = one(
        tmp_path,
        {"role": "user", "content": "Any mail?"},
        {"role": "assistant", "content": "I look.", "reasoning": "Look.", "reasoning_content": "Look.",
         "tool_calls": CALLS},
        {"role": "tool", "content": "2 messages", "tool_name": "search"},
        {"role": "assistant", "content": "Two.", "reasoning": "Say it."},
        {"role": "session_meta"},
        {"role": []},
        system_prompt="Be brief.",
        tools=[{"name": "search"}],
    )  # fmt: skip
    assert said(transcript) == [
        ("user", "Any mail?"),
        ("reasoning", "Look."),
        ("assistant", "I look."),
        ("tool_call", '{"q":  1}'),
        ("tool_result", "2 messages"),
        ("reasoning", "Say it."),
        ("assistant", "Two."),
    ]
    assert (transcript.head.system, transcript.head.tools) == ("Be brief.", ('{"name":"search"}',))
    assert [call.model for call in transcript.calls] == ["m", "m"]
    assert transcript.notes == ("left out: 1 x session_meta, 1 x entry without a role",)


def test_results_are_paired_by_the_tools_name_and_a_system_message_may_come_first(tmp_path: Path) -> None:
    calls = [{"function": {"name": name, "arguments": "{}"}} for name in ("search", "read", "list")]
    transcript = one(
        tmp_path,
        {"role": "system", "content": "Be brief."},
        {"role": "assistant", "tool_calls": calls},
        {"role": "tool", "content": "of list", "name": "list", "tool_name": "search"},
        {"role": "tool", "content": "of read", "tool_name": "read"},
        {"role": "tool", "content": "of search"},
        {"role": "system", "content": "Be kind."},
        system_prompt="You help.",
    )
    assert transcript.head.system == "You help.\n\nBe brief."
    assert [(item.text, item.answers) for item in transcript.items[3:]] == [
        ("of list", 2), ("of read", 1), ("of search", 0), ("Be kind.", None)
    ]  # fmt: skip
    assert transcript.notes == ("1 system message(s) in mid-conversation kept as user text",)


# The columns that are read, and some that aren't, of schema version 22.
SCHEMA = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL DEFAULT 'cli', model TEXT, model_config TEXT,
  system_prompt TEXT, parent_session_id TEXT, started_at REAL NOT NULL, ended_at REAL, end_reason TEXT, cwd TEXT);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL, content TEXT,
  tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL NOT NULL, token_count INTEGER, reasoning TEXT,
  reasoning_content TEXT, active INTEGER NOT NULL DEFAULT 1, compacted INTEGER NOT NULL DEFAULT 0, api_content TEXT);
CREATE TABLE session_model_usage (session_id TEXT NOT NULL, model TEXT NOT NULL, billing_provider TEXT DEFAULT '',
  task TEXT NOT NULL DEFAULT '', input_tokens INTEGER DEFAULT 0, output_tokens INTEGER DEFAULT 0,
  cache_read_tokens INTEGER DEFAULT 0, cache_write_tokens INTEGER DEFAULT 0, reasoning_tokens INTEGER DEFAULT 0,
  estimated_cost_usd REAL DEFAULT 0, actual_cost_usd REAL DEFAULT 0, last_seen REAL);
"""
START = 1_795_815_000.0
SUMMARY = "[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns were compacted.\nTwo mails."
Message = dict[str, Any]


class Store:
    """A database that is filled message by message, ten seconds apart."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "state.db"
        self.made = sqlite3.connect(self.path)
        self.made.executescript(SCHEMA)
        self.now = START

    def insert(self, table: str, values: dict[str, Any]) -> None:
        marks = ", ".join("?" * len(values))
        self.made.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", [*values.values()])

    def session(self, name: str = "s", **columns: Any) -> None:
        self.insert("sessions", {"id": name, "model": "m", "started_at": self.now} | columns)

    def say(self, *messages: Message, session: str = "s", apart: float = 10) -> None:
        for message in messages:
            self.now += apart
            self.insert("messages", {"session_id": session, "timestamp": self.now} | message)

    def compacted(self, *messages: Message, session: str = "s") -> None:
        """As Hermes does it: earlier messages are archived, those that are left are written at once."""
        self.made.execute("UPDATE messages SET active = 0, compacted = 1 WHERE active")
        self.now += 10
        self.say(*messages, session=session, apart=1e-6)

    def all(self) -> list[Transcript]:
        with closing(self.made):
            self.made.commit()
        return all_of(self.path, "hermes")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path)
    with closing(store.made):
        yield store


def user(content: str, **columns: Any) -> Message:
    return {"role": "user", "content": content} | columns


def answer(content: str, *ids: str, **columns: Any) -> Message:
    calls = [{"id": name, "type": "function", "function": {"name": "read", "arguments": '{"p": 1}'}} for name in ids]
    return {"role": "assistant", "content": content, "tool_calls": json.dumps(calls) if ids else None} | columns


def result(name: str, content: str, **columns: Any) -> Message:
    return {"role": "tool", "tool_call_id": name, "tool_name": "read", "content": content} | columns


def test_sessions_of_a_database_have_their_times_and_parents(store: Store) -> None:
    store.session(system_prompt="Be brief.", cwd="/w", end_reason="compression")
    asked = user("Any mail?", api_content="Any mail? It is Monday.")
    store.say(asked, answer("", "c1", reasoning="Where?"), result("c1", "2 messages"), answer("Two."))
    store.say(user("Taken back.", active=0), user('\0json:[{"type": "text", "text": "A ?"}]'))
    store.session("t", parent_session_id="s", model_config='{"_delegate_from": "s"}')
    store.say(user("Count."), answer("2"), session="t")
    store.session("empty")
    whole, sub = store.all()
    assert said(whole) == [
        ("user", "Any mail? It is Monday."), ("reasoning", "Where?"), ("tool_call", '{"p": 1}'),
        ("tool_result", "2 messages"), ("assistant", "Two."), ("user", "A ?"),
    ]  # fmt: skip
    assert (whole.head.system, whole.project, whole.name) == ("Be brief.", "/w", f"{store.path}#s")
    assert [(call.model, call.time_s) for call in whole.calls] == [("m", START + 20), ("m", START + 40)]
    assert (said(sub), sub.parent) == ([("user", "Count."), ("assistant", "2")], whole.name)


HEAD = (user("Any mail?"), answer("", "c1"), result("c1", "2 messages"))
TAIL = (answer("Next.", "c3"), result("c3", "3 messages"))


def sent(transcript: Transcript) -> list[str]:
    """The texts of the last request."""
    last = segments(transcript)[-1]
    return [item.text for item in last.items[: last.calls[-1].start]]


@pytest.mark.parametrize("goes_on", [False, True])
def test_a_compaction_keeps_messages_that_stand_twice_also_in_the_session_that_goes_on(
    store: Store, goes_on: bool
) -> None:
    now = "t" if goes_on else "s"
    store.session(end_reason="compression" if goes_on else None)
    store.say(*HEAD, answer("Next.", "c2"), result("c2", "of the middle"), *TAIL)
    if goes_on:
        store.session("t", parent_session_id="s")
    # A kept message has its own time if it was loaded again, a result may be shortened.
    head = (HEAD[0] | {"timestamp": START + 10}, HEAD[1], result("c1", "[read] 10 chars"))
    store.compacted(*head, user(SUMMARY), *TAIL, session=now)
    store.say(answer("Five."), session=now)
    store.session("sub", parent_session_id=now, model_config='{"_delegate_from": ""}')
    store.say(user("Count."), session="sub")
    one, sub = store.all()
    assert sub.parent == one.name
    (compaction,) = one.compactions
    assert (compaction.call, compaction.started_by, compaction.summary) == (4, "auto", (SUMMARY,))
    assert [one.items[place].text for place in compaction.kept] == [
        "Any mail?", '{"p": 1}', "2 messages", "Next.", '{"p": 1}', "3 messages"
    ]  # fmt: skip
    assert sent(one) == [SUMMARY, "Any mail?", '{"p": 1}', CLEARED, "Next.", '{"p": 1}', "3 messages"]
    assert (len(one.calls), one.notes) == (4, ("recorded compaction before call 4 (auto)",))


def test_a_summary_may_end_a_kept_message_and_be_followed_by_what_was_asked_or_by_another(store: Store) -> None:
    store.session()
    store.say(*HEAD, *TAIL, answer("Five."))
    merged = answer(f"[PRIOR CONTEXT]\nNext.\n\n{SUMMARY}", "c3")
    store.compacted(merged, TAIL[1], answer("Five."), user("And now?"))
    store.say(answer("Six."), user("Why?"), answer("So."))
    store.compacted(user("And now?"), answer(SUMMARY + " First."), answer("So."))
    store.compacted(answer(SUMMARY + " Second."), answer("So."))
    store.say(user("Why?"), answer("Last."))
    (one,) = store.all()
    first, last = one.compactions
    assert (first.call, first.summary, first.started_by) == (4, (merged["content"],), "auto")
    assert [one.items[place].text for place in first.kept] == ['{"p": 1}', "3 messages", "Five."]
    assert (last.summary, [one.items[place].text for place in last.kept]) == ((SUMMARY + " Second.",), ["So."])
    # What started a compaction between two turns isn't recorded.
    assert last.started_by == ""
    assert [item.text for item in one.items if item.kind in ("user", "assistant")] == [
        "Any mail?", "Next.", "Five.", "And now?", "Six.", "Why?", "So.", "Why?", "Last."
    ]  # fmt: skip


def test_a_branch_begins_with_its_parents_conversation(store: Store) -> None:
    store.session(end_reason="branched")
    store.say(*HEAD, answer("Two."))
    store.session("t", parent_session_id="s", model_config='{"_branched_from": "s"}')
    store.say(*HEAD, answer("Two."), user("Read them."), answer("Done."), session="t")
    whole, branch = store.all()
    assert (len(whole.calls), len(branch.calls), branch.carried, branch.parent) == (2, 1, 4, whole.name)


def test_totals_are_of_all_calls_and_requests_of_tasks_stand_beside_them(store: Store) -> None:
    store.session()
    store.say(user("Hi"), answer("Hello."))
    for used in (
        {"input_tokens": 100, "output_tokens": 20, "cache_read_tokens": 300, "estimated_cost_usd": 0.25},
        # One provider states what it charged, another doesn't: 0.25 + 0.5.
        {"input_tokens": 10, "output_tokens": 2, "billing_provider": "other", "actual_cost_usd": 0.5},
        {"input_tokens": 50, "output_tokens": 7, "task": "compression", "actual_cost_usd": 0.125},
        {"input_tokens": 0, "output_tokens": 0, "model": "unstated"},
    ):
        store.insert("session_model_usage", {"session_id": "s", "model": "m", "last_seen": START} | used)
    (one,) = store.all()
    summary, total = one.beside
    assert (summary.usage, summary.start, summary.end) == (Usage(50, 7, 0, 0, 0, 0.125), 2, 2)
    assert (total.usage, total.start, total.end, one.cost_usd) == (Usage(410, 22, 300, 0, 0), 0, 2, 0.75)
    assert examined("hermes", [str(store.path)]) == ([], [])
