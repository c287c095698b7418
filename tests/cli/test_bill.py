"""`ctxsim bill` and `ctxsim compare`, on recordings, as a person and as CI run them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import Done, ctxsim
from invented import claude_code, sets, write_logs

from ctxsim.api.bill import compare_unpaired
from ctxsim.errors import CtxsimError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "80")
    write_logs(tmp_path / "logs", 1)
    return tmp_path


def run(folder: Path, *arguments: str) -> Done:
    return ctxsim("bill", *arguments, cwd=folder)


def test_the_first_screen_says_how_much_on_what_and_what_would_be_less(folder: Path) -> None:
    done = run(folder, "logs")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:3] == [
        "Claude Code, Codex, openai-chat: 3 sessions, 5 January 2026, 0.02 USD.",
        "Dollars are computed from recorded tokens at that day's list prices.",
        "Not included: 6 responses without recorded usage, among them all of 1 session.",
    ]
    assert "project" in lines[4] and "read" in lines[4] and "new" in lines[4]
    assert "\n\n\n" not in done.stdout
    assert "drawback" in done.stdout or "would have made the bill 2 % smaller" in done.stdout
    assert all(len(line) <= 80 for line in lines), "it fits the terminal"


def test_the_sentences_of_a_bill_are_its_result(folder: Path) -> None:
    usual, quiet = run(folder, "logs"), run(folder, "logs", "-q")
    assert "At this pace" in quiet.stdout and quiet.stdout == usual.stdout


def test_rows_are_by_what_was_asked_and_programs_get_all(folder: Path) -> None:
    done = run(folder, "logs", "--by", "model", "--format", "json")
    tables = {table["name"]: table["rows"] for table in json.loads(done.stdout)["tables"]}
    rows = {row["model"]: row for row in tables["bill"]}
    assert rows["claude-sonnet-4-5"]["tokens_read"] == 9_900 and rows["gpt-5"]["tokens_output"] == 240
    assert rows["gpt-5"]["usd"] == pytest.approx(rows["gpt-5"]["usd_listed"])
    parts = run(folder, "logs", "--by", "part", "--no-smaller", "--format", "csv").stdout
    assert (
        parts.startswith("part,usd,share,tokens_read,tokens_written,tokens_new,tokens_output\n")
        and "results of Bash," in parts
    )
    assert run(folder, "logs", "--by", "year").returncode == 2


def test_narrow_columns_leave_and_are_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    lines = run(folder, "logs", "--by", "model", "--no-smaller", "-q").stdout.splitlines()
    assert any(line.startswith(" claude-sonnet-4-5") for line in lines) and "…" not in "".join(lines)
    assert "Left out at this width: read, new," in lines


def test_a_setting_that_your_own_ones_hinder_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder))
    own = folder / ".claude"
    (own / "projects").mkdir(parents=True)
    lines: list[Any] = claude_code(1)
    # Nothing uses this result later; it is written once and read once.
    lines[8]["message"]["content"][0]["content"] += "".join(f"noise {n * 7919:09} " for n in range(2_000))
    for line, name in ((lines[9], "cache_creation_input_tokens"), (lines[11], "cache_read_input_tokens")):
        line["message"]["usage"][name] += 10_000
    known = "\n".join(json.dumps(line | {"version": "2.1.330"}) for line in lines)
    (own / "projects" / "session-1.jsonl").write_text(known)
    (own / "settings.json").write_text('{"env": {"BASH_MAX_OUTPUT_LENGTH": "9000"}}')
    told = "BASH_MAX_OUTPUT_LENGTH in your settings overrides what was tried."
    yours, theirs = (run(folder, *paths).stdout for paths in ((), (".claude/projects",)))
    assert "bashOutputMaxChars = " in yours and told in " ".join(yours.split()) and told not in " ".join(theirs.split())


def test_what_is_remembered_is_removed_by_one_command(folder: Path) -> None:
    run(folder, "logs", "--index", "none")
    assert run(folder, "--index", "forget").stdout == "nothing is remembered\n"
    run(folder, "logs")
    # A long path is broken to the width.
    assert "".join(run(folder, "--index", "forget").stdout.split()).endswith("cache/ctxsim/bill/facts.msgpack")
    assert not list((folder / "cache").rglob("*.msgpack"))


def test_where_nothing_has_usage_there_is_no_bill(folder: Path) -> None:
    (folder / "other").mkdir()
    (folder / "other" / "chat.json").write_text((folder / "logs" / "chat-1.json").read_text())
    none = run(folder, "other")
    assert none.returncode == 1 and none.stderr == "ctxsim: other: no response with recorded usage\n"


def test_what_has_no_price_is_not_free(folder: Path) -> None:
    for seed in (1, 2):
        text = (folder / "logs" / "rollout-1.jsonl").read_text().replace("gpt-5", "nobody-sells-this")
        (folder / "logs" / f"unpriced-{seed}.jsonl").write_text(text.replace("thread-1", f"thread-{seed + 5}"))
    alone = ("logs/unpriced-1.jsonl", "--days", "0")
    done = run(folder, *alone)
    assert (
        "Dollars are missing for 6 of 6 responses: their price is unknown." in done.stdout and "0.00" not in done.stdout
    )
    assert "No change is billed: no price is known." in done.stdout
    assert "At this pace the next 30 days: " in done.stdout and " tokens (too few sessions" in done.stdout
    (table,) = (
        one for one in json.loads(run(folder, *alone, "--format", "json").stdout)["tables"] if one["name"] == "bill"
    )
    assert table["rows"][0]["usd"] is None
    for source in ("chat-1.json", "unpriced-1.jsonl"):
        (folder / "logs" / source).unlink()
    done = ctxsim("forecast", "logs", cwd=folder)
    assert "Prices are known for 2 of 3 sessions: what the others cost is missing." in done.stdout


def test_dollars_of_a_log_without_usage_are_billed(folder: Path) -> None:
    said = [{"role": role, "content": "Look.", "agent": "primary"} for role in ("user", "assistant")]
    log = {"history": said, "trajectory": [], "info": {"model_stats": {"instance_cost": 1.25}}}
    (folder / "a.traj").write_text(json.dumps(log))
    done = run(folder, "a.traj", "--format", "json")
    (row,) = json.loads(done.stdout)["tables"][0]["rows"]
    assert (row["usd_recorded"], row["responses"], row["tokens_uncached"], row["new"]) == (1.25, 0, None, None)


def test_a_picture_is_drawn_where_one_is_asked_for(folder: Path) -> None:
    done = ctxsim("bill", "logs", "--no-smaller", "--out", "bill.svg", cwd=folder, drawn=True)
    assert done.returncode == 0 and "written: bill.svg" in done.stdout
    assert (folder / "bill.svg").read_text().startswith("<?xml")
    assert not list(folder.glob("*.png")), "and none where none is"


def test_changed_agents_are_compared_by_their_sessions(folder: Path) -> None:
    sets(folder, 2_000)
    done = ctxsim("compare", "before", "after", "--fail-if", "head > 10%", "--format", "json", cwd=folder)
    assert done.returncode == 1 and done.stderr.startswith("ctxsim: head: +")
    (table,) = json.loads(done.stdout)["tables"]
    rows = {row["figure"]: row for row in table["rows"]}
    assert rows["head"]["verdict"] == "fails" and rows["head"]["chance"] < 0.05
    assert rows["calls"]["effect"] == 0 and rows["calls"]["verdict"] == "noise"
    same = ctxsim("compare", "before", "before", "--fail-if", "head > 10%", cwd=folder)
    assert same.returncode == 0 and "8 sessions before, 8 after" in same.stdout


@pytest.mark.parametrize(
    ("rule", "right"),
    [("cost > 10", "cost changes by per cent: write 'cost > 10%'"),
     ("head < -2.5", "head changes by per cent: write 'head < -2.5%'"),
     ("compactions > 1%", "compactions changes by a number: write 'compactions > 1'")],
)  # fmt: skip
def test_a_rule_of_recordings_has_the_unit_that_its_figure_changes_by(rule: str, right: str, tmp_path: Path) -> None:
    with pytest.raises(CtxsimError) as told:
        compare_unpaired(tmp_path, tmp_path, [rule])
    assert str(told.value) == f"between recordings {right}"
    # Nothing is nothing in any unit: then the sessions are looked for.
    with pytest.raises(CtxsimError, match=r"no session|0 and 0 sessions|no file"):
        compare_unpaired(tmp_path, tmp_path, ["cost > 0"])
