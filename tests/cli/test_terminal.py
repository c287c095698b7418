"""What reaches the terminal."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from bench_runs import write
from command_line import ctxsim
from invented import write_logs
from samples import conversation

from ctxsim.cli.replay import context_bar
from ctxsim.cli.terminal import columns, console, doors, safe, say, within


def test_no_control_character_reaches_the_terminal(tmp_path: Path) -> None:
    assert safe("a\x1b[31mb\tc\n\u202ed\x9b\U000e0041") == "a\\x1b[31mb\tc\n\\u202ed\\u009b\\udb40\\udc41"
    assert safe("plain ünïcode 漢字 🙂") == "plain ünïcode 漢字 🙂"
    assert safe("\x1f \x7f\udc80") == "\\x1f \\u007f\\udc80"
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


def test_a_traceback_is_escaped_too() -> None:
    script = "import ctxsim.cli as cli\ndef run(): raise ValueError('\x1b[31mred')\ncli.run = run\ncli.main()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "ValueError: \\x1b[31mred" in done.stderr and "\x1b" not in done.stderr


def test_what_is_piped_ends_in_no_spaces(tmp_path: Path) -> None:
    write_logs(tmp_path / "logs", 1)
    for line in ("bench logs --policy mask", "bill logs", "list models claude-sonnet-4-5"):
        lines = ctxsim(*line.split(), cwd=tmp_path).stdout.splitlines()
        assert len(lines) > 3 and not [one for one in lines if one.endswith(" ")], line


@pytest.mark.parametrize(
    ("share", "bad", "full", "color"),
    [(0.0, False, 0, "green"), (0.5, False, 9, "green"), (0.69, False, 12, "green"), (0.7, False, 13, "yellow"),
     (1.0, False, 18, "yellow"), (1.01, False, 18, "red"), (7.0, False, 18, "red"), (0.1, True, 2, "red")],
)  # fmt: skip
def test_the_bar_of_the_window_is_full_by_its_share(share: float, bad: bool, full: int, color: str) -> None:
    bar = context_bar(share, bad)
    assert bar.plain == "█" * full + "░" * (18 - full)
    assert bar.style == color or not full
    assert [(part.style, part.start, part.end) for part in bar.spans if part.start != part.end] == [
        ("dim", full, 18) for _ in range(full < 18)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("one two", 7, ["one two"]), ("one two", 6, ["one", "  two"]), ("one two", None, ["one two"]),
        ("one two", 0, ["one two"]), ("  one two", 7, ["  one", "    two"]), ("a\none two", 6, ["a", "one", "  two"]),
        # A word is broken behind its punctuation where it doesn't fit behind the indent of a line of its own.
        ("see aaa,bbb", 8, ["see aaa,", "  bbb"]), ("see aaa/bbb", 8, ["see aaa/", "  bbb"]),
        ("see aaa,bb", 8, ["see", "  aaa,bb"]), ("see aa-bbb", 8, ["see", "  aa-bbb"]),
        ("a  b c d", 6, ["a  b c", "  d"]),
    ],
)  # fmt: skip
def test_lines_are_no_wider_than_the_terminal(text: str, width: int | None, lines: list[str]) -> None:
    assert within(text, width).split("\n") == lines


def test_what_is_broken_hangs_as_far_as_is_said() -> None:
    assert within("one two", 6, 0) == "one\ntwo" and within("one two", 6, 1) == "one\n two"


class Terminal(io.StringIO):
    """A stream that says it is one."""

    def isatty(self) -> bool:
        return True


def test_a_pipe_has_no_width_unless_somebody_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    monkeypatch.delenv("COLUMNS", raising=False)
    assert columns() is None
    monkeypatch.setenv("COLUMNS", "wide")
    assert columns() is None
    monkeypatch.setenv("COLUMNS", "33")
    assert columns() == 33
    monkeypatch.delenv("COLUMNS")
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert columns() == 80, "what a terminal has that doesn't say"


def test_doors_stand_before_both_streams_and_go_again(monkeypatch: pytest.MonkeyPatch) -> None:
    out, err = io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    with doors():
        assert sys.stdout.write("a\x1bb") == 3
        sys.stdout.writelines(["c\x07", "d\n"])
        say("e\x1b", err=True)
        say()
    assert (out.getvalue(), err.getvalue()) == ("a\\x1bbc\\x07d\n\n", "e\\x1b\n")
    assert (sys.stdout, sys.stderr) == (out, err)
    other: Any = io.StringIO()
    with doors():
        sys.stdout = sys.stderr = other
    assert sys.stdout is other and sys.stderr is other, "what somebody puts there stays"


def test_a_closed_stream_takes_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    """`ctxsim list policies >&-`: Python has no standard output then."""
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.delenv("COLUMNS", raising=False)
    with doors():
        say("one")
        sys.stdout.buffer.write(b"two")
        assert columns() is None and not sys.stdout.isatty()
    assert sys.stdout is None


def test_bytes_are_changed_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, write_through=True))
    monkeypatch.setattr(sys, "stderr", shown := Terminal())
    with doors():
        sys.stdout.buffer.write(b"a\x1b")
        assert sys.stderr.buffer.writable() and sys.stderr.buffer.write(b"b\x1b\xff") == 3
    assert raw.getvalue() == b"a\x1b" and shown.getvalue() == "b\\x1b\ufffd"


def test_a_console_colours_harmless_text_and_trims_what_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream in (io.StringIO(), Terminal()):
        monkeypatch.setattr(sys, "stdout", stream)
        with doors():
            made = console(width=20)
            made.print("[bold]x[/bold]\u202e", "y  ", end="\n")
        said = stream.getvalue()
        assert ("\x1b[1mx" in said) is stream.isatty() and "\u202e" not in said and "\\u202e" in said
        assert said.endswith("y  \n") is stream.isatty()
