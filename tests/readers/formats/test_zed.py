"""Zed's threads, made as its source writes them: compressed JSON in a database, with sums of tokens."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from read_back import Json, all_of, said

from ctxsim.errors import InputError
from ctxsim.transcript import Compaction, Media, Transcript, Usage

SCHEMA = """CREATE TABLE threads (id TEXT PRIMARY KEY, summary TEXT NOT NULL, updated_at TEXT NOT NULL,
  data_type TEXT NOT NULL, data BLOB NOT NULL, parent_id TEXT, folder_paths TEXT)"""
SENT = "The previous conversation was compacted. Use this summary as context:\n\n"


def user(of: str, *content: Any) -> Json:
    return {"User": {"id": of, "content": [{"Text": one} if isinstance(one, str) else one for one in content]}}


def agent(*content: Any, **results: Json) -> Json:
    pieces = [{"Text": one} if isinstance(one, str) else one for one in content]
    return {"Agent": {"content": pieces, "tool_results": results, "reasoning_details": None}}


def call(of: str) -> Json:
    return {"ToolUse": {"id": of, "name": "grep", "raw_input": '{"q":1}', "input": {"q": 1}}}


def result(of: str, content: Any) -> Json:
    return {"tool_use_id": of, "tool_name": "grep", "is_error": False, "content": content, "output": None}


def summary(text: str) -> Json:
    return {"Compaction": {"Summary": text}}


def stored(folder: Path, threads: dict[str, Json], parents: Json | None = None) -> list[Transcript]:
    path = folder / "threads.db"
    with closing(sqlite3.connect(path)) as made:
        made.execute(SCHEMA)
        for number, (name, thread) in enumerate(threads.items()):
            model = {"provider": "anthropic", "model": "m"}
            data = json.dumps({"version": "0.3.0", "title": "T", "model": model} | thread).encode()
            kind = "json" if number else "zstd"
            data = data if number else pa.compress(data, codec="zstd", asbytes=True)
            row = (name, "T", f"2026-09-01T12:00:0{number}Z", kind, data, (parents or {}).get(name), "/src/app\n/lib")
            made.execute("INSERT INTO threads VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        made.commit()
    return all_of(path, "zed")


def test_a_thread_with_the_sum_of_its_tokens_and_its_sub_agent(tmp_path: Path) -> None:
    spent = {"input_tokens": 50, "output_tokens": 40, "cache_creation_input_tokens": 7, "cache_read_input_tokens": 100}
    mention = {"Mention": {"uri": {"File": {"abs_path": "/a"}}, "content": "one"}}
    messages = [
        user("u1", "Any mail?", mention, {"Image": {"source": ""}}),
        agent({"Thinking": {"text": "Where?", "signature": "s"}}, "I look.", call("c1"), call("c2"),
              c1=result("c1", [{"Text": "2 mails"}, {"Image": {"source": ""}}])),
        "Resume",
        agent("Two.", call("c3"), c3=result("c3", {"Text": "none"})),
    ]  # fmt: skip
    child = {"messages": [user("u1", "Find it."), agent("Found.")], "request_token_usage": {"u1": {"output_tokens": 3}}}
    thread = {"messages": messages, "cumulative_token_usage": spent, "request_token_usage": {"u1": spent}}
    found, sub = stored(tmp_path, {"t": thread, "c": child}, {"c": "t"})
    assert said(found) == [
        ("user", "Any mail?\none"), ("reasoning", "Where?"), ("assistant", "I look."), ("tool_call", '{"q":1}'),
        ("tool_result", "2 mails"), ("user", "Continue where you left off"), ("assistant", "Two."),
        ("tool_call", '{"q":1}'), ("tool_result", "none"),
    ]  # fmt: skip
    assert found.items[0].media == found.items[4].media == (Media("image", 1600),)
    assert [(one.model, one.usage) for one in found.calls] == [("m", None)] * 2
    # 157 = 50 + 7 written to the cache + 100 read from it; of 1 September 2026, 12:00.
    assert [(one.usage, one.model, one.time_s) for one in found.beside] == [(Usage(157, 40, 100, 7), "m", 1788264000)]
    assert found.notes == (
        "usage only as a sum", "left out: 1 x piece of a response that isn't sent again, or hidden",
    )  # fmt: skip
    assert (found.project, sub.parent) == ("/src/app", found.name)
    assert [one.usage for one in sub.calls] == [Usage(0, 3, 0, 0)]


def test_a_summary_keeps_the_users_newest_messages_up_to_80000_bytes(tmp_path: Path) -> None:
    messages = [user("u1", "a" * 50), agent("Done."), user("u2", "b" * 79_960), agent("Done."),
                summary("All done."), user("u3", "Go on."), agent("Done."), user("u4"), summary("More.")]  # fmt: skip
    tokens = {f"u{turn}": {"input_tokens": turn, "output_tokens": 1} for turn in (1, 2, 3)}
    (found,) = stored(tmp_path, {"t": {"messages": messages, "request_token_usage": tokens}})
    # The second message has 79,960 bytes: with the third one's 6 it fits, with the first one's 50 it's 10 too many.
    assert found.compactions == (
        Compaction(3, 4, "auto", (f"{SENT}All done.",), (2,)),
        Compaction(4, 6, "manual", (f"{SENT}More.",), (2, 4)),
    )
    assert [one.usage and one.usage.input_tokens for one in found.calls] == [1, 2, 3]


def test_a_thread_of_another_version_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"other versions \(0\.2\.0\), which isn't read"):
        stored(tmp_path, {"t": {"version": "0.2.0", "messages": [{"role": "user"}]}})
