"""Crush's database, made by the tables in its source: responses, results, summaries, sub-agents, costs."""

from __future__ import annotations

import base64
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from read_back import Json, all_of, said

from ctxsim.transcript import Compaction, Media, Transcript

SCHEMA = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT NOT NULL DEFAULT '',
  message_count INTEGER DEFAULT 0, prompt_tokens INTEGER DEFAULT 0, completion_tokens INTEGER DEFAULT 0,
  cost REAL NOT NULL DEFAULT 0.0, updated_at INTEGER NOT NULL, created_at INTEGER NOT NULL, summary_message_id TEXT);
CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, role TEXT NOT NULL, parts TEXT NOT NULL,
  model TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, finished_at INTEGER, provider TEXT
  %s);
"""
NEW = ", is_summary_message INTEGER DEFAULT 0 NOT NULL"


def piece(kind: str, **data: Any) -> Json:
    return {"type": kind, "data": data}


def text(of: str) -> Json:
    return piece("text", text=of)


def call(call_id: str, name: str = "bash") -> Json:
    return piece("tool_call", id=call_id, name=name, input='{"command":"ls"}', finished=True)


def result(call_id: str, content: str, **data: Any) -> Json:
    return piece("tool_result", tool_call_id=call_id, name="bash", content=content, is_error=False, **data)


END = piece("finish", reason="stop", time=0)


def stored(folder: Path, *messages: tuple[str, list[Json], int], sessions: Json, schema: str = NEW) -> list[Transcript]:
    """Return the transcripts of a database; a message is its session, its role after a point, its parts and a flag."""
    path = folder / "crush.db"
    with closing(sqlite3.connect(path)) as made:
        made.executescript(SCHEMA % schema)
        for number, (name, columns) in enumerate(sessions.items()):
            row = {"id": name, "updated_at": 1000, "created_at": 1000 + number} | columns
            marks = ", ".join("?" * len(row))
            made.execute(f"INSERT INTO sessions ({', '.join(row)}) VALUES ({marks})", [*row.values()])
        for number, (whose, parts, summary) in enumerate(messages):
            session, role = whose.split(".")
            row = {"id": f"m{number}", "session_id": session, "role": role, "parts": json.dumps(parts),
                   "model": "m" if role == "assistant" else "", "created_at": 1000, "updated_at": 1000}  # fmt: skip
            row |= {"is_summary_message": summary} if schema else {}
            marks = ", ".join("?" * len(row))
            made.execute(f"INSERT INTO messages ({', '.join(row)}) VALUES ({marks})", [*row.values()])
        made.commit()
    return all_of(path, "crush")


def test_responses_results_attachments_and_commands(tmp_path: Path) -> None:
    file = base64.b64encode(b"one").decode()
    attached = [piece("binary", Path="a.txt", MIMEType="text/plain", Data=file),
                piece("binary", Path="a.png", MIMEType="image/png", Data="")]  # fmt: skip
    ran = piece("shell", command="pwd", output="/w", exit_code=0)
    (found,) = stored(
        tmp_path,
        ("s.user", [text("Any mail?"), *attached, ran, END], 0),
        ("s.assistant", [piece("reasoning", thinking="Where?"), text("I look."), call("c1"), END], 0),
        ("s.tool", [result("c1", "2 messages", data="", mime_type="image/png"), END], 0),
        ("s.assistant", [END], 0),
        ("s.assistant", [text("Two."), END], 0),
        sessions={"s": {"cost": 0.25}},
    )
    assert said(found) == [
        ("user", "Any mail?\n<file path='a.txt'>\n\none\n</file>\n\n$ pwd\n/w\n(exit code 0)"),
        ("reasoning", "Where?"), ("assistant", "I look."), ("tool_call", '{"command":"ls"}'),
        ("tool_result", "2 messages"), ("assistant", "Two."),
    ]  # fmt: skip
    assert found.items[0].media == found.items[4].media == (Media("image", 1600),)
    assert [(one.model, one.time_s, one.usage) for one in found.calls] == [("m", 1000, None)] * 2
    assert found.cost_usd == 0.25
    assert found.notes == ("left out: 1 x empty response, aborted or failed",)


def test_a_summary_replaces_all_before_it_and_a_sub_agents_cost_is_its_parents(tmp_path: Path) -> None:
    asked, answered = ("s.user", [text("Go.")], 0), ("s.assistant", [text("Done.")], 0)
    found, child = stored(
        tmp_path, asked, answered, ("s.assistant", [text("So far: done.")], 1), asked, answered,
        ("c.user", [text("Find it.")], 0), ("c.assistant", [text("Found.")], 0),
        sessions={"s": {"cost": 0.5}, "c": {"parent_session_id": "s", "cost": 0.1}},
    )  # fmt: skip
    # The second call's request, after two items, begins with the summary.
    assert found.compactions == (Compaction(2, 2, "", ("So far: done.",)),)
    assert (found.cost_usd, child.cost_usd) == (0.5, None)
    assert (child.parent, said(child)) == (found.name, [("user", "Find it."), ("assistant", "Found.")])


def test_an_older_database_names_its_summary_in_the_session(tmp_path: Path) -> None:
    asked, answered = ("s.user", [text("Go.")], 0), ("s.assistant", [text("Done.")], 0)
    summary = ("s.assistant", [text("So far: done.")], 0)
    (found,) = stored(tmp_path, asked, answered, summary, asked, answered,
                      sessions={"s": {"summary_message_id": "m2"}}, schema="")  # fmt: skip
    assert found.compactions == (Compaction(2, 2, "", ("So far: done.",)),)
