"""Goose's database, made by the tables in its source: parallel calls, compactions, visibility, the ledger, versions."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from read_back import Json, all_of, called, left_out, said, text

from ctxsim.errors import InputError
from ctxsim.transcript import Compaction, Media, Transcript, Usage

# The columns that are read, and some that aren't, of schema version 17.
SCHEMA = """
CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT NOT NULL DEFAULT '', session_type TEXT NOT NULL DEFAULT 'user',
  working_dir TEXT NOT NULL DEFAULT '.', created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, accumulated_cost REAL,
  provider_name TEXT, model_config_json TEXT, parent_session_id TEXT);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT NOT NULL,
  role TEXT NOT NULL, content_json TEXT NOT NULL, created_timestamp INTEGER NOT NULL, tokens INTEGER,
  metadata_json TEXT);
CREATE TABLE usage_ledger (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL,
  created_timestamp INTEGER NOT NULL, model TEXT, input_tokens INTEGER, output_tokens INTEGER, total_tokens INTEGER,
  cache_read_tokens INTEGER, cache_write_tokens INTEGER, cost REAL, cost_source TEXT, is_compaction INTEGER DEFAULT 0);
"""
BOTH, AGENT, USER, NOBODY = ((user, agent) for user, agent in ((1, 1), (0, 1), (1, 0), (0, 0)))


def asks(call_id: str, **arguments: Any) -> Json:
    made = {"status": "success", "value": {"name": "search", "arguments": arguments}}
    return {"type": "toolRequest", "id": call_id, "toolCall": made}


def gives(call_id: str, *content: Json) -> Json:
    made = {"status": "success", "value": {"content": list(content), "isError": False}}
    return {"type": "toolResponse", "id": call_id, "toolResult": made}


class Store:
    """A database that is filled message by message."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "sessions.db"
        self.made = sqlite3.connect(self.path)
        self.made.executescript(SCHEMA)
        self.now = 1000

    def session(self, name: str = "s", **columns: Any) -> None:
        values = {"id": name, "model_config_json": '{"model_name": "m", "context_limit": 9000}'} | columns
        marks = ", ".join("?" * len(values))
        self.made.execute(f"INSERT INTO sessions ({', '.join(values)}) VALUES ({marks})", [*values.values()])

    def say(self, role: str, *content: Json, own: str = "", shown: tuple[int, int] = BOTH, session: str = "s") -> None:
        self.now += 1
        metadata = {"userVisible": bool(shown[0]), "agentVisible": bool(shown[1])}
        row = (own or f"msg_{self.now}", session, role, json.dumps(content), self.now, json.dumps(metadata))
        self.made.execute("INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp, "
                          "metadata_json) VALUES (?, ?, ?, ?, ?, ?)", row)  # fmt: skip

    def spent(self, prompt: int, read: int = 0, compaction: int = 0, source: str = "estimated") -> None:
        row = ("s", self.now, "other", prompt, 5, prompt + 5, read, 0, 0.25, source, compaction)
        self.made.execute("INSERT INTO usage_ledger VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)

    def all(self) -> list[Transcript]:
        with closing(self.made):
            self.made.commit()
        return all_of(self.path, "goose")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path)
    with closing(store.made):
        yield store


def test_pieces_in_the_wrong_role_are_left_out(store: Store) -> None:
    store.session()
    store.say("user", text("Hi"), {"type": "thinking", "thinking": "Hm.", "signature": ""}, asks("c1"))
    store.say("assistant", {"type": "image", "data": "", "mimeType": "image/png"}, text("Hello."), gives("c1"))
    (transcript,) = store.all()
    assert said(transcript) == [("user", "Hi"), ("assistant", "Hello.")]
    assert transcript.notes == ("left out: 1 x thinking, 1 x toolRequest, 1 x image, 1 x toolResponse",)


def test_calls_of_one_response_stand_in_several_messages_with_one_id(store: Store) -> None:
    store.session(accumulated_cost=1.5, working_dir="/w")
    store.say("user", text("Any mail?"))
    store.say("assistant", {"type": "thinking", "thinking": "Where?", "signature": ""}, text("I look."), own="r1")
    store.say("assistant", asks("c1", q="mail"), own="r1")
    store.say("user", gives("c1", text("2 messages"), text("shown only", annotations={"audience": ["user"]})))
    store.say("assistant", asks("c2", q="post"), own="r1")
    store.say("user", gives("c2", {"type": "image", "data": "", "mimeType": "image/png"}))
    store.say("assistant", asks("c3"), own="r2")
    store.say("user", {"type": "toolResponse", "id": "c3", "toolResult": {"status": "error", "error": "no"}})
    store.say("assistant", text("Two."))
    for prompt, cached in ((400, 300), (500, 0), (30, 600)):
        store.spent(prompt, cached)
    (transcript,) = store.all()
    assert transcript.project == "/w"
    assert said(transcript) == [
        ("user", "Any mail?"),
        ("reasoning", "Where?"),
        ("assistant", "I look."),
        ("tool_call", '{"q":"mail"}'),
        ("tool_call", '{"q":"post"}'),
        ("tool_result", "2 messages"),
        ("tool_result", ""),
        ("tool_call", "{}"),
        ("tool_result", "no"),
        ("assistant", "Two."),
    ]
    assert transcript.items[6].media == (Media("image", 1600),)
    # of 30 tokens none can have been 600 read ones: they stand beside
    assert [made.usage for made in transcript.calls] == [
        Usage(400, 5, 300, 0, None, 0.25), Usage(500, 5, 0, 0, None, 0.25), Usage(630, 5, 600, 0, None, 0.25),
    ]  # fmt: skip
    assert [(made.model, made.window, made.time_s) for made in transcript.calls] == [
        ("other", 9000, 1002), ("other", 9000, 1007), ("other", 9000, 1009),
    ]  # fmt: skip
    assert transcript.name == f"{store.path}#s"
    # the requests have their own costs
    assert not transcript.head.recorded and transcript.cost_usd is None


def test_a_compaction_hides_what_was_and_copies_the_last_prompt(store: Store) -> None:
    store.session(accumulated_cost=1.5)
    store.say("user", text("Any mail?"), shown=USER)
    store.say("assistant", text("Two."), shown=USER)
    store.say("user", text("From whom?"), shown=NOBODY)
    store.say("user", text("Two messages were found."), shown=AGENT)
    store.say("assistant", text("The earlier part no longer fits in your context."), shown=AGENT)
    store.say("user", text("From whom?"))
    store.say("assistant", {"type": "systemNotification", "notificationType": "inlineMessage", "msg": "!"}, shown=USER)
    store.say("user", text("/status"), shown=USER)
    store.say("assistant", text("From Ann."))
    store.spent(50)
    store.spent(90, compaction=1)
    store.spent(70, source="carried_forward")
    (transcript,) = store.all()
    assert [text for _, text in said(transcript)] == ["Any mail?", "Two.", "From whom?", "From Ann."]
    summary = ("Two messages were found.", "The earlier part no longer fits in your context.")
    assert transcript.compactions == (Compaction(2, 3, "auto", summary, (2,)),)
    # one request in the ledger is no compaction and not carried over from elsewhere, two responses are stored
    assert [made.usage for made in transcript.calls] == [None, None]
    assert any("the ledger has 1 request(s) where 2 response(s) are stored" in note for note in transcript.notes)
    # What the session used and cost is known all the same.
    (whole,) = transcript.beside
    assert (transcript.cost_usd, whole.usage, whole.start, whole.end) == (1.5, Usage(140, 10, 0, 0), 0, 4)
    assert "left out: 2 x message that only the user sees" in transcript.notes
    assert all(made.comparable for made in transcript.calls)


@pytest.mark.parametrize("cost", [0.25, None])
def test_the_request_for_a_summary_was_paid_for(store: Store, cost: float | None) -> None:
    store.session(accumulated_cost=1.5)
    store.say("user", text("Any mail?"), shown=USER)
    store.say("assistant", text("Two."), shown=USER)
    store.say("user", text("Two messages were found."), shown=AGENT)
    store.say("assistant", text("As the user's request, go on."), shown=AGENT)
    store.say("assistant", text("From Ann."))
    for prompt, compaction in ((50, 0), (90, 1), (70, 0)):
        store.spent(prompt, compaction=compaction)
    store.made.execute("UPDATE usage_ledger SET cost = ?", (cost,))
    (transcript,) = store.all()
    ((one,), (compaction,)) = transcript.beside, transcript.compactions
    assert (one.start, one.usage, one.model) == (compaction.at, Usage(90, 5, 0, 0, None, cost), "other")
    # Without costs of their own, the requests share that of the session.
    assert transcript.cost_usd == (None if cost else 1.5)
    assert [made.usage and made.usage.input_tokens for made in transcript.calls] == [50, 70]


def test_a_summary_of_old_tool_calls_ends_what_is_comparable(store: Store) -> None:
    store.session(accumulated_cost=1.5)
    store.say("user", text("Any mail?"))
    store.say("assistant", asks("c1"), shown=USER)
    store.say("user", gives("c1", text("2 messages")), shown=USER)
    store.say("user", text("A search found two."), shown=AGENT)
    store.say("assistant", text("Two."))
    (transcript,) = store.all()
    assert [text for _, text in said(transcript)] == ["Any mail?", "{}", "2 messages", "A search found two.", "Two."]
    assert [made.comparable for made in transcript.calls] == [True, False]
    assert any(note.startswith("1 summary(s) of tool calls stand") for note in transcript.notes)
    # no request has a cost of its own, but the session
    assert transcript.cost_usd == 1.5


def test_sub_agents_and_sessions_without_messages(store: Store) -> None:
    store.session("a", created_at="2026-01-01 10:00:00")
    store.session("b", created_at="2026-01-01 11:00:00", parent_session_id="a", session_type="sub_agent")
    store.session("c", created_at="2026-01-01 12:00:00")
    for name in "ab":
        store.say("user", text("Any mail?"), session=name)
        store.say("assistant", text("Two."), session=name)
    main, child = store.all()
    assert (main.parent, child.parent) == (None, main.name)
    assert child.notes[-1] == "left out: 1 session(s) without messages"


def test_tables_before_ids_models_and_ledgers(store: Store) -> None:
    store.session()
    store.say("user", text("Any mail?"))
    store.say("assistant", text("Two."))
    for table, column in (("sessions", "model_config_json"), ("sessions", "parent_session_id"),
                          ("sessions", "accumulated_cost"), ("messages", "message_id")):  # fmt: skip
        store.made.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
    store.made.execute("DROP TABLE usage_ledger")
    store.made.execute("UPDATE messages SET created_timestamp = created_timestamp + 1767225600000")
    (transcript,) = store.all()
    assert [text for _, text in said(transcript)] == ["Any mail?", "Two."]
    # milliseconds: 1,002 beyond 2026 began
    assert (transcript.calls[0].model, transcript.calls[0].time_s) == ("", 1767225601.002)


def test_a_message_of_neither_side_is_told(store: Store) -> None:
    store.session()
    store.say("system", text("Any mail?"))
    with pytest.raises(InputError, match="message 1: has the role 'system', which is neither user nor assistant"):
        store.all()


def test_pieces_of_every_kind(store: Store) -> None:
    store.session()
    hidden = text("for you", annotations={"audience": ["user"]})
    notice = {"type": "systemNotification", "notificationType": "inlineMessage", "msg": "!"}
    confirm = {"type": "toolConfirmationRequest", "id": "x"}
    store.say(
        "user", text("Go."), hidden, hidden, confirm, confirm, {"type": "image", "data": "", "mimeType": "image/png"}
    )
    store.say("assistant", {"type": "redactedThinking", "data": "x"}, {"type": "reasoning", "text": "Hm."}, text(""),
              confirm, confirm, notice,
              {"type": "frontendToolRequest", "id": "c1", "toolCall": {"value": {"name": "shown"}}},
              {"type": "toolRequest", "id": "c2", "toolCall": {"status": "error", "error": "bad"}})  # fmt: skip
    store.say(
        "user",
        gives("c1", hidden, text("Seen.")),
        {"type": "toolResponse", "id": "c2", "toolResult": {"status": "error"}},
    )
    (transcript,) = store.all()
    assert called(transcript) == [
        ("user", "", "Go."), ("user", "", ""), ("reasoning", "", ""), ("reasoning", "", "Hm."),
        ("tool_call", "shown", ""), ("tool_call", "", ""), ("tool_result", "shown", "Seen."), ("tool_result", "", ""),
    ]  # fmt: skip
    assert transcript.items[1].media == (Media("image", 1600),)
    assert (transcript.calls[0].model, transcript.calls[0].time_s) == ("m", 1002)
    assert left_out(transcript) == [
        "1 x systemNotification", "2 x text for the user alone", "4 x toolConfirmationRequest"
    ]  # fmt: skip


@pytest.mark.parametrize(("role", "shown", "kept"), [
    ("user", "Any mail?", (0,)), ("user", "Other.", ()), ("assistant", "Any mail?", ()),
])  # fmt: skip
def test_of_a_users_text_behind_a_compaction_only_a_copy_was_kept(
    store: Store, role: str, shown: str, kept: tuple[int, ...]
) -> None:
    store.session()
    store.say("user", text("Any mail?"), shown=USER)
    store.say("assistant", text("Two."), shown=USER)
    store.say("user", text("So far."), shown=AGENT)
    store.say("assistant", text("Go on."), shown=AGENT)
    store.say(role, text(shown))
    store.say("assistant", text("Done."))
    (transcript,) = store.all()
    assert transcript.compactions == (Compaction(2, 2, "", ("So far.", "Go on."), kept),)
    assert [item.text for item in transcript.items][2:] == (["Done."] if kept else [shown, "Done."])


@pytest.mark.parametrize(("made", "seconds"), [(10_000_000_000, 10_000_000_000), (10_000_000_001, 10_000_000.001)])
def test_times_are_seconds_up_to_ten_billion(store: Store, made: int, seconds: float) -> None:
    store.session()
    store.say("assistant", text("Two."))
    store.made.execute("UPDATE messages SET created_timestamp = ?", (made,))
    (transcript,) = store.all()
    assert transcript.calls[0].time_s == seconds


def test_a_response_ends_where_another_id_begins_behind_a_result(store: Store) -> None:
    store.session()
    store.say("user", text("Go."))
    store.say("assistant", asks("c1"), own="r1")
    store.say("assistant", text("Look."), own="r2")
    store.say("user", gives("c1", text("1")))
    store.say("assistant", text("More."), own="r1")
    store.say("assistant", {"type": "systemNotification", "notificationType": "inlineMessage", "msg": "!"}, own="r1")
    store.say("user", text("And?"))
    store.say("assistant", text("Done."), own="r3")
    (transcript,) = store.all()
    # Two that stand side by side are one, and what has the first one's id.
    assert [[item.text for item in transcript.items[call.start : call.end]] for call in transcript.calls] == [
        ["{}", "Look.", "More."], ["Done."]
    ]  # fmt: skip
