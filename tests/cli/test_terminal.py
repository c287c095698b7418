"""What reaches the terminal."""

from __future__ import annotations

from pathlib import Path

from bench_runs import write
from command_line import ctxsim
from invented import write_logs
from samples import conversation

from ctxsim.cli.replay import context_bar
from ctxsim.cli.terminal import safe


def test_no_control_character_reaches_the_terminal(tmp_path: Path) -> None:
    assert safe("a\x1b[31mb\tc\n\u202ed\x9b\U000e0041") == "a\\x1b[31mb\tc\n\\u202ed\\u009b\\udb40\\udc41"
    assert safe("plain ünïcode 漢字 🙂") == "plain ünïcode 漢字 🙂"
    evil = conversation("zebra_one \x1b]0;owned\x07 " * 20, "ok", name="n\x1b[2Jame")
    write(tmp_path, evil, "evil")
    for arguments in (
        ["replay", "evil.jsonl", "--policy", "mask:keep=1", "--losses"],
        ["bench", "evil.jsonl"],
        ["transcripts", "check", "evil.jsonl"],
        ["bench", "no\x1b[31msuch"],
    ):
        done = ctxsim(*arguments, cwd=tmp_path)
        assert "\x1b" not in done.stdout + done.stderr, arguments


def test_what_is_piped_ends_in_no_spaces(tmp_path: Path) -> None:
    write_logs(tmp_path / "logs", 1)
    for line in ("bench logs", "bill logs", "list models claude-sonnet-4-5"):
        lines = ctxsim(*line.split(), cwd=tmp_path).stdout.splitlines()
        assert len(lines) > 3 and not [one for one in lines if one.endswith(" ")], line


def test_the_context_bar() -> None:
    assert context_bar(0.5).plain == "█" * 9 + "░" * 9
    assert context_bar(7.0).plain == "█" * 18
