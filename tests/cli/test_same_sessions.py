"""What several commands say of the same folder: how many sessions it holds, what can't be read, and how they end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Done, ctxsim
from invented import claude_code

from ctxsim.readers import read

COMMANDS = {
    "bill": ("bill", "--days", "0", "--no-smaller"), "forecast": ("forecast",), "advise": ("advise",),
    "compactions": ("compactions", "of", "--alone"), "check": ("transcripts", "check"),
}  # fmt: skip


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    folder = tmp_path / "logs"
    write(folder / "session-1.jsonl", 1)
    return folder


def write(path: Path, seed: int, text: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(line) + "\n" for line in claude_code(seed)) + text
    path.write_text(lines.replace("2026-01-05", f"2026-01-0{4 + seed}"))


def told(logs: Path) -> dict[str, Done]:
    return {name: ctxsim(*arguments, "logs", cwd=logs.parent) for name, arguments in COMMANDS.items()}


def test_a_session_that_just_began_is_a_note(logs: Path) -> None:
    (logs / "began.jsonl").write_text("")
    for name, done in told(logs).items():
        assert (done.returncode, "began.jsonl: is empty" in done.stderr.replace("left out: is", "is")) == (0, True), (
            name
        )
        assert "ctxsim:" not in done.stderr, name


def test_what_cant_be_read_is_an_error_of_every_command(logs: Path) -> None:
    (logs / "broken.jsonl").write_text('{"cut": ')
    for name, done in told(logs).items():
        assert (done.returncode, "ctxsim: logs/broken.jsonl: is" in done.stderr) == (1, True), name
        assert done.stdout, f"{name} says the rest"


def test_a_log_that_is_cut_is_told(logs: Path) -> None:
    write(logs / "session-2.jsonl", 2, '{"type": "assis')
    for name, done in told(logs).items():
        if name != "compactions":
            assert "line 13 skipped, not JSON" in done.stderr + done.stdout, name
        assert done.returncode == 0, name


def test_a_sub_agent_and_a_copy_are_no_sessions(logs: Path) -> None:
    agent = logs / "session-1" / "subagents" / "agent-a.jsonl"
    write(agent, 2)
    agent.write_text(agent.read_text().replace('"isSidechain": false', '"isSidechain": true, "agentId": "a"'))
    write(logs / "session-2.jsonl", 1)
    found = told(logs)
    assert ": 1 session, " in found["bill"].stdout and "Counted once" not in found["bill"].stdout
    assert "From 1 session." in found["forecast"].stdout
    assert ": 1 session, " in found["advise"].stdout
    assert " in 2 transcripts;" in found["compactions"].stdout and "2 transcripts: 2 " in found["check"].stdout
    for name, done in found.items():
        said = done.stderr.replace("left out: ", "")
        assert "logs/session-2.jsonl: holds the same as logs/session-1.jsonl" in said, name
    done = ctxsim("bill", "logs", "--days", "0", "--by", "session", "--format", "json", cwd=logs.parent)
    (row,) = json.loads(done.stdout)["tables"][0]["rows"]
    assert (row["sessions"], row["responses"]) == (1, 12)
    assert len(list(read(str(logs)))) == 2
