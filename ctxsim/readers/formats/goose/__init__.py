"""Goose sessions: the database of all sessions, each message with its content as JSON, and a ledger of usage.

A response with several tool calls is stored as a message for each, every one followed by its result: they share an id.
A compaction leaves the old messages where they are, hidden from the agent, and goes on with a summary and a word to
continue, both hidden from the user.

Documentation: https://block.github.io/goose/docs/guides/sessions/session-management, https://github.com/aaif-goose/goose
(`session/session_manager.rs`, `conversation/message.rs`, `context_mgmt/mod.rs` in `crates/goose/src`)

    sessions       id 20260101_1, session_type user, model_config_json {"model_name": "m", "context_limit": 128000}
    messages       id 1, session_id 20260101_1, role user, content_json [{"type": "text", "text": "Any mail?"}]
    messages       id 2, role assistant, content_json [{"type": "toolRequest", "id": "c1", "toolCall":
                     {"status": "success", "value": {"name": "search", "arguments": {"q": "mail"}}}}]
    messages       id 3, role user, content_json [{"type": "toolResponse", "id": "c1", "toolResult":
                     {"status": "success", "value": {"content": [{"type": "text", "text": "2 messages"}]}}}]
    usage_ledger   session_id 20260101_1, model m, input_tokens 400, output_tokens 20, cost 0.01
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ctxsim.readers.assembly.stores import of_database
from ctxsim.readers.formats.goose.conversation import transcript
from ctxsim.readers.formats.goose.stored import stored
from ctxsim.readers.source import Sample, Source
from ctxsim.transcript import Transcript

if TYPE_CHECKING:
    import sqlite3

NAME = "goose"
TITLE = "Goose sessions"
MARKS = ("sessions",)
VERSIONS = "sessions.db with schema versions 3 to 17, as Goose's source code defines them; not tested on real ones"
READS = (
    "Every session with its sub-agents: texts, thinking, tool calls and results, compactions, times, the model and its "
    "window; usage and costs of requests where there is a ledger of them."
)
NOT_READ = (
    "JSONL sessions of 2025 (Goose imports them), system prompts and tool definitions (not stored), extensions' state; "
    "usage where the ledger has another number of requests than there are responses."
)

_COLUMNS = {
    "sessions": {"id", "created_at", "working_dir"},
    "messages": {"id", "session_id", "role", "content_json", "created_timestamp", "metadata_json"},
}


def matches(sample: Sample) -> bool:
    """A database with Goose's tables of sessions and messages."""
    return sample.has_tables(_COLUMNS)


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return one transcript per session that has messages, in order of time."""
    tables = sample.tables
    parent = "parent_session_id" if "parent_session_id" in tables["sessions"] else "NULL"

    def one(found: sqlite3.Connection, session: str, name: str, parent: str | None) -> Transcript | None:
        held = stored(found, tables, session, name)
        return transcript(name, NAME, parent, held) if held.messages else None

    return of_database(source, f"SELECT id, {parent} FROM sessions ORDER BY created_at, id", one)
