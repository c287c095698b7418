"""OpenCode 2: its two tables, what each kind of row is, forks, and sessions that are in the older tables too."""

from __future__ import annotations

import json
import sqlite3
from base64 import b64encode
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from read_back import Json, all_of, said, text

from ctxsim.transcript import NO_RESULT, Compaction, Transcript, Usage

TABLES = """
CREATE TABLE session_v2 (id text PRIMARY KEY, parent_id text, fork_session_id text, fork_boundary text,
  directory text NOT NULL, version text NOT NULL, time_created integer NOT NULL);
CREATE TABLE session_message (id text PRIMARY KEY, session_id text NOT NULL, type text NOT NULL, seq integer NOT NULL,
  time_created integer NOT NULL, data text NOT NULL);
"""
"""As of OpenCode 2.0.25, without the columns that aren't read."""


def spent(fresh: int, made: int, thought: int = 0, read: int = 0, written: int = 0) -> Json:
    return {"input": fresh, "output": made, "reasoning": thought, "cache": {"read": read, "write": written}}


def step(*content: Json, **more: Any) -> Json:
    return {"type": "assistant", "agent": "build", "model": {"id": "m", "providerID": "p"}, "content": content} | more


def tool(call: str, status: str = "completed", **state: Any) -> Json:
    return {"type": "tool", "id": call, "name": "search", "state": {"status": status, "input": {"q": "mail"}} | state}


def user(words: str, **more: Any) -> Json:
    return {"type": "user", "text": words} | more


def stored(folder: Path, *rows: Json, script: str = TABLES, first: int = 1, **session: Any) -> list[Transcript]:
    """Transcripts of a database with rows made a second apart, the first of them at second `first`."""
    about = {"id": "ses_1", "directory": "/home/ann", "version": "2.0.25", "time_created": 1000} | session
    with closing(sqlite3.connect(folder / "opencode.db")) as made, made:
        made.executescript(script)
        made.execute(f"INSERT INTO session_v2 ({', '.join(about)}) VALUES ({', '.join('?' * len(about))})",
                     list(about.values()))  # fmt: skip
        for seq, row in enumerate(rows, first):
            data = {key: value for key, value in row.items() if key != "type"} | {"time": {"created": seq * 1000}}
            kept = f"{about['id']}_{seq}", about["id"], row["type"], seq, seq * 1000, json.dumps(data)
            made.execute("INSERT INTO session_message VALUES (?, ?, ?, ?, ?, ?)", kept)
    return all_of(folder / "opencode.db", "opencode")


def test_a_row_is_a_request(tmp_path: Path) -> None:
    file = {"mime": "text/plain", "name": "a.txt", "data": b64encode(b"Held.").decode()}
    image = {"mime": "image/png", "data": "iVBORw0K"}
    [read_back] = stored(
        tmp_path,
        {"type": "system", "text": "Be brief."},
        user("Any mail?", files=[file, image, {"mime": "audio/mp3", "data": ""}]),
        step({"type": "reasoning", "text": "Look."}, tool("c1", content=[text("2 messages")]),
             tool("c2", "error", error={"type": "unknown", "message": "No such box"}), tool("c3", "running"),
             cost=0.5, tokens=spent(90, 7, 3, 10, 5)),
        {"type": "shell", "shellID": "s", "command": "ls", "output": {"output": "a.txt"}},
        {"type": "synthetic", "text": "Reminder."}, {"type": "skill", "skill": "k", "name": "k", "text": "A skill."},
        step(text("Two."), tokens=spent(20, 4)), {"type": "idle", "outcome": "succeeded"}, {"type": "new"},
    )  # fmt: skip
    assert said(read_back) == [
        ("user", "Any mail?"), ("user", "Held."), ("user", ""), ("reasoning", "Look."),
        *[("tool_call", '{"q":"mail"}')] * 3, ("tool_result", "2 messages"), ("tool_result", "No such box"),
        ("tool_result", NO_RESULT), ("user", "ls\na.txt"), ("user", "Reminder."), ("user", "A skill."),
        ("assistant", "Two."),
    ]  # fmt: skip
    # Only what OpenCode added to its own system prompt is a row.
    assert read_back.head.system == "Be brief." and not read_back.head.recorded
    assert "left out: 1 x new" in read_back.notes
    # The whole prompt is 90 + 10 + 5, the output 7 + 3.
    assert [call.usage for call in read_back.calls] == [Usage(105, 10, 10, 5, 3, 0.5), Usage(20, 4, 0, 0, 0)]
    assert [(call.model, call.time_s) for call in read_back.calls] == [("m", 3.0), ("m", 7.0)]
    assert (read_back.project, read_back.version) == ("/home/ann", "2.0.25")


def test_a_compaction_is_paid_and_replaces_the_history(tmp_path: Path) -> None:
    [read_back] = stored(
        tmp_path, user("Go."), step(text("One."), tokens=spent(90, 7)),
        {"type": "compaction", "status": "failed", "reason": "auto", "error": {}, "tokens": spent(50, 0)},
        step(text("So."), tokens=spent(91, 7)),
        {"type": "compaction", "status": "completed", "reason": "auto", "summary": "All well.", "recent": "[User] Go.",
         "model": {"id": "small"}, "cost": 0.25, "tokens": spent(95, 20)},
        step(text("Two."), tokens=spent(40, 4)),
    )  # fmt: skip
    assert read_back.compactions == (Compaction(3, 3, "auto", ("All well.", "[User] Go.")),)
    paid = [(one.start, one.model, one.usage) for one in read_back.beside]
    assert paid == [(0, "", Usage(50, 0, 0, 0, 0)), (3, "small", Usage(95, 20, 0, 0, 0, 0.25))]


def test_a_step_that_failed_at_once_is_paid_but_not_resent(tmp_path: Path) -> None:
    [read_back] = stored(
        tmp_path, user("Go."), step(error={"message": "Busy"}, tokens=spent(90, 0)), step(text("One."))
    )
    assert said(read_back) == [("user", "Go."), ("assistant", "One.")] and read_back.calls[0].usage is None
    assert [one.usage and one.usage.input_tokens for one in read_back.beside] == [90]


def test_a_sub_session_names_its_parent_and_a_fork_begins_with_copies(tmp_path: Path) -> None:
    rows = user("Go."), step(text("One."), tokens=spent(90, 7))
    stored(tmp_path, *rows)
    stored(tmp_path, *rows, script="", id="ses_2", parent_id="ses_1", time_created=1500)
    # The fork is of second 2.5: its first two rows are copies.
    own = user("On."), step(text("Two."), tokens=spent(99, 5))
    main, child, fork = stored(tmp_path, *rows, *own, script="", id="ses_3", fork_session_id="ses_1", time_created=2500)
    assert (main.parent, child.parent, fork.parent) == (None, main.name, None)
    assert [len(one.calls) for one in (main, child, fork)] == [1, 1, 1] and fork.carried == 2
    assert fork.calls[0].usage == Usage(99, 5, 0, 0, 0)


@pytest.mark.parametrize("copied", [True, False])
def test_a_session_in_both_tables_is_read_once_and_from_the_newer_one(tmp_path: Path, copied: bool) -> None:
    older = (Path(__file__).parent / "stores" / "opencode.sql").read_text()
    main = "ses_dfb6c72dbffeWYQDeI57uWnQAh"
    rows = (user("Any mail?"), step(text("Two."))) if copied else ()
    found = stored(tmp_path, *rows, script=older + TABLES, id=main)
    assert [one.name.partition("#")[2] == main for one in found] == [True, False]
    assert len(found[0].calls) == (1 if copied else 8) and found[1].parent == found[0].name
    # A session that began in OpenCode 2 is in the newer table alone.
    assert [len(one.calls) for one in stored(tmp_path, step(text("New.")), script="")] == [
        *(len(one.calls) for one in found),
        1,
    ]
