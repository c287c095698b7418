"""`ctxsim replay`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import ctxsim
from invented import write_logs


def test_replay_prints_seed_001s_diagnostic_on_standard_error(tmp_path: Path) -> None:
    done = ctxsim("replay", "documented-53k", "--policy", "token-budget", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr == ("Note: Compacted 3 old tool result(s) — input tokens (45,231) exceeded budget (40,000)\n")
    assert "   6        45,231  22.6%   +17,231    +8,646     17      23" in done.stdout.splitlines()
    assert "compaction (after_call): 3 edited" in done.stdout


def test_replay_says_what_call_7_had_lost(tmp_path: Path) -> None:
    done = ctxsim("replay", "documented-53k", "--policy", "token-budget", "--losses", cwd=tmp_path)
    lost = [line for line in done.stdout.splitlines() if "lost:" in line]
    assert len(lost) > 8 and all(
        "(after_call: input tokens (45,231) exceeded budget (40,000))" in line for line in lost
    )
    assert any("'ref-" in line and "gmail_read" in line for line in lost)
    kept = ctxsim("replay", "documented-53k", "--policy", "keep-all", "--losses", cwd=tmp_path)
    assert "lost:" not in kept.stdout


def test_replay_of_a_folder_says_that_there_are_others_and_how_to_choose(tmp_path: Path) -> None:
    write_logs(tmp_path / "logs", count=1)
    done = ctxsim("replay", "logs", "--policy", "keep-all", cwd=tmp_path)
    assert done.stderr == "Note: logs has more transcripts; this is the first. Choose another by --number N\n"
    # A rollout's head is in no log; a chat's may be, which has no usage.
    heads = [ctxsim("replay", f"logs/{name}", "--policy", "keep-all", cwd=tmp_path).stdout.count("\nHead: ")
             for name in ("rollout-1.jsonl", "chat-1.json")]  # fmt: skip
    assert heads == [1, 0]
    for line in ("logs --number 2", "logs/chat-1.json", "logs -q"):
        assert ctxsim("replay", *line.split(), "--policy", "keep-all", cwd=tmp_path).stderr == "", line
    log = (tmp_path / "logs" / "chat-1.json").read_text()
    done = ctxsim("replay", "-", "--policy", "keep-all", cwd=tmp_path, stdin=log)
    assert (done.returncode, done.stderr) == (0, ""), "standard input is read once"


def test_a_known_defect_is_a_scenario_by_its_name(tmp_path: Path) -> None:
    for line in ("replay defects/task-lost --policy summary", "bench defects/task-lost --policy summary"):
        done = ctxsim(*line.split(), cwd=tmp_path)
        assert done.returncode == 0 and "task-lost" in done.stdout, done.stderr
    assert [folder.name for folder in (tmp_path / "results").iterdir()] == ["task-lost.summary"]
    # What is there goes before it.
    write_logs(tmp_path / "defects" / "task-lost", count=1)
    assert (
        "defects/task-lost/chat-1.json: 6 calls"
        in ctxsim("replay", "defects/task-lost", "--policy", "keep-all", cwd=tmp_path).stdout
    )


@pytest.mark.parametrize("format", ["anthropic", "openai"])
def test_replay_prints_the_exact_request(format: str, tmp_path: Path) -> None:
    arguments = ("replay", "documented-53k", "--policy", "token-budget", "--request", "7", "--format", format)
    body = json.loads(ctxsim(*arguments, cwd=tmp_path).stdout)
    text = json.dumps(body)
    assert text.count("[truncated for context management]") == 3
    assert len(body["tools"]) == 5 and len(body["messages"]) == (13 if format == "anthropic" else 14)


def test_a_log_without_a_call_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"messages": [{"role": "user", "content": "hi"}]}')
    done = ctxsim("replay", "x.json", "--policy", "keep-all", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "ctxsim: x.json has no call to replay\n")
