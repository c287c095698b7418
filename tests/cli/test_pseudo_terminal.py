"""Every command on a pseudo terminal, with names and texts that would take it over."""

from __future__ import annotations

import json
import os
import pty
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from samples import ASK, TASK, chat

from ctxsim.cli import COMMANDS, run
from ctxsim.readers.formats.ctxsim_jsonl import lines
from ctxsim.transcript import Usage

EVIL = "\x1b]52;c;aGFja2Vk\x07\x1b[2J\x1b]0;owned\x07\x9b31m\u202eevil[bold]x[/bold][/red]\r"

NAME = EVIL.replace("/", "")
"""The same in the name of a file."""

OURS = re.compile(r"\x1b\[(?:[0-9;]*m|[0-9]*[ABCDGHJK]|\?25[lh])")
"""What rich writes itself: colours, and the movements of a progress bar."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a hostile recording, and a run of it."""
    folder = tmp_path_factory.mktemp("pty") / f"lo{NAME}gs"
    made = chat(
        TASK, ASK, ("tool_result", f"zebra_one {EVIL} " * 60), ASK, ("tool_result", "quaint_two " * 90),
        ("assistant", f"zebra_one {EVIL}"),
    )  # fmt: skip
    items = tuple(msgspec.structs.replace(item, tool=f"to{EVIL}ol" if item.tool else "") for item in made.items)
    usage = Usage(500, 3)
    calls = tuple(msgspec.structs.replace(call, model=f"mo{EVIL}del", usage=usage) for call in made.calls)
    evil = msgspec.structs.replace(made, items=items, calls=calls, notes=(f"note {EVIL}",))
    folder.mkdir()
    (folder / "good").mkdir()
    named = msgspec.structs.replace(evil, name=f"na{EVIL}me")
    (folder / "good" / f"f{NAME}.jsonl").write_bytes(b"\n".join(lines(named)))
    (folder / "good" / "unknown.json").write_text(json.dumps({f"key{EVIL}": 1}))
    (folder / "bad.jsonl").write_text(json.dumps({"role": EVIL, f"key{EVIL}": 1}) + "\n{}")
    return folder


def shown(folder: Path, *arguments: str) -> str:
    """What a command writes to a terminal that is its standard output and error."""
    child, terminal = pty.fork()
    if child == 0:  # pragma: no cover
        status = 70
        try:
            os.chdir(folder)
            os.environ.update(COLUMNS="200", TERM="xterm-256color")
            sys.stdin, sys.stdout, sys.stderr = (os.fdopen(n, mode, encoding="utf-8") for n, mode in enumerate("rww"))
            status = run(arguments)
            sys.stdout.flush()
        finally:
            os._exit(status)
    data = b"".join(_read(terminal))
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) in (0, 1, 2), data[-2000:]
    return data.decode("utf-8")


def _read(terminal: int) -> Iterator[bytes]:
    while True:
        try:
            data = os.read(terminal, 1 << 16)
        except OSError:  # its other end is closed
            return
        if not data:
            return
        yield data


LINES = [
    ["bench", "good", "--policy", "mask:keep=1", "--out", "run"],
    ["bench", "bad.jsonl", "--out", "no"],
    ["bench", f"no{EVIL}such"],
    ["bench", "good", "--policy", f"no{EVIL}such"],
    ["bench", "good", "--policy", "keep-all", "--format", "json", "--out", "other"],
    ["bench", "good", "--policy", "keep-all", "--format", "csv", "--out", "other"],
    ["bench", "good", "--policy", "keep-all", "--format", "markdown", "--out", "other"],
    ["bench", f"--no{EVIL}such"],
    ["sweep", "good", "--policy", "mask:keep=1|2", "--out", "swept"],
    ["transcripts", "check", "good", "bad.jsonl"],
    ["transcripts", "check", "good", "--against-usage"],
    ["transcripts", "stats", "good", "bad.jsonl"],
    ["transcripts", "convert", "good"],
    ["transcripts", "formats"],
    ["replay", "good", "--policy", "mask:keep=1", "--losses"],
    ["report", "run", "--out", f"pa{NAME}ge.html"],
    ["plot", "run"],
    ["compare", "run", "other"],
    ["losses", "run", "--by", "tool"],
    ["validate", "good"],
    ["compactions", "good"],
    ["window", "good", "-o", "w.png"],
    ["config"],
    ["doctor", "--policy", EVIL],
    ["serve", "--scenario", EVIL],
    ["drive", EVIL],
    ["accuracy", "good", "--by-kind", "--out", "acc"],
    ["calibrate", "good", "--no-plots", "-o", f"cal{NAME}.json"],
    ["calibrate", "good", "--by", "tool", "--no-plots", "-o", "cal.json"],
    ["models", EVIL],
    ["check-policy", f"no{EVIL}.py:X"],
    ["check-estimator", EVIL],
    [EVIL],
]


@pytest.mark.slow
def test_nothing_hostile_reaches_a_terminal(place: Path) -> None:
    for line in LINES:
        text = shown(place, *line)
        left = OURS.sub("", text.replace("\r\n", "\n"))
        # A progress bar goes back to the beginning of its line.
        wrong = re.findall(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202e]", left)
        assert not wrong and "Traceback" not in left, (line, left[-3000:])
        assert not re.search(r"\r(?!\x1b|\n|$)evil", text)


def test_every_command_with_words_of_others_is_tried() -> None:
    ours = {"claims", "policies", "estimators", "scenarios", "columns", "tokenizers"}
    assert {line[0] for line in LINES} - {EVIL} == set(COMMANDS) - ours
