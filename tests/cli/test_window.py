"""`ctxsim window`: what its tables hold."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from bench_runs import write
from command_line import ctxsim
from samples import conversation

from ctxsim.transcript import Call, Head, Item, Transcript

BIG = "the value of key 4711 is xyzzy-plugh\n" * 400


def paused(transcript: Transcript, parent: str | None = None) -> Transcript:
    """The same with ten minutes between its calls, which a priced model with a cache of five answers."""
    calls = tuple(
        msgspec.structs.replace(call, time_s=600.0 * number, model="claude-sonnet-4-5")
        for number, call in enumerate(transcript.calls)
    )
    return msgspec.structs.replace(transcript, calls=calls, parent=parent)


def test_what_ifs_of_each_sub_agent_stand_apart(tmp_path: Path) -> None:
    write(tmp_path / "logs", paused(conversation(BIG, BIG, BIG)), "main")
    write(tmp_path / "logs", paused(conversation(BIG, BIG), parent="main"), "helper")
    done = ctxsim("window", "logs", "--head", "none", "--cache", "anthropic", "--format", "json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    tables = {table["name"]: table["rows"] for table in json.loads(done.stdout)["tables"]}
    found = {row["what_if"]: row for row in tables["sub_agents"]}
    assert set(found) == {
        "cache for 60 minutes",
        "no idle time",
        "pings in pauses",
        "without tool's results over 10 KB",
    }
    assert {(row["transcript"], row["parent"]) for row in found.values()} == {("helper", "main")}
    # Shares are of its own bill, and of all in the table of all.
    for row in found.values():
        assert row["usd"] / row["usd_now"] - 1 == pytest.approx(row["usd_change"])
    (whole,) = (row for row in tables["what_ifs"] if row["what_if"] == "no idle time")
    assert whole["transcripts"] == 2 and whole["usd"] > found["no idle time"]["usd"] > 0
    now = sum(part["usd"] for part in tables["parts"])
    assert whole["usd"] / now - 1 == pytest.approx(whole["usd_change"]), "of the whole bill"
    shown = ctxsim("window", "logs", "--head", "none", "--cache", "anthropic", cwd=tmp_path).stdout
    assert "What would save most in the dearest of 1 sub-agents" in shown


def test_requests_that_hold_nothing_are_left_out_and_told(tmp_path: Path) -> None:
    said = Item("assistant", 0, 1, "Hello.")
    write(tmp_path / "logs", Transcript("", Head(recorded=False), (said,), (Call(0, 1),)), "empty")
    write(tmp_path / "logs", conversation("word " * 50), "main")
    done = ctxsim("window", "logs", "--head", "none", "--format", "json", cwd=tmp_path)
    assert done.returncode == 0 and done.stderr == "left out: empty: its requests hold nothing\n", done.stderr
    tables = {table["name"]: table["rows"] for table in json.loads(done.stdout)["tables"]}
    assert [row["transcript"] for row in tables["transcripts"]] == ["main"]


def test_without_sub_agents_nothing_is_said_of_them(tmp_path: Path) -> None:
    write(tmp_path / "logs", paused(conversation(BIG)), "main")
    done = ctxsim("window", "logs", "--cache", "anthropic", "--format", "json", cwd=tmp_path)
    assert "sub_agents" not in {table["name"] for table in json.loads(done.stdout)["tables"]}
