"""Every command on a pseudo terminal, with names and texts that would take it over."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest
from command_line import on_terminal
from samples import ASK, TASK, chat

from ctxsim.api.lists import KINDS as LISTED
from ctxsim.cli import BEFORE, COMMANDS
from ctxsim.cli.check import KINDS as CHECKED
from ctxsim.readers.formats.ctxsim_jsonl import lines
from ctxsim.transcript import Usage

EVIL = "\x1b]52;c;aGFja2Vk\x07\x1b[2J\x1b]0;owned\x07\x9b31m\u202eevil[bold]x[/bold][/red]\r"

NAME = EVIL.replace("/", "")
"""The same in the name of a file."""

READER = "def matches(sample):\n    return True\n\n\ndef read(source, sample):\n"
"""The beginning of a reader of somebody's own."""

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
    (folder / f"read{NAME}er.py").write_text(f"{READER}    raise ValueError({EVIL!r})\n")
    (folder / "bad.jsonl").write_text(json.dumps({"role": EVIL, f"key{EVIL}": 1}) + "\n{}")
    return folder


LINES = [
    ["bench", "good", "--policy", "mask:keep=1", "--out", "run"],
    ["bench", "bad.jsonl", "--out", "no"],
    ["bench", f"no{EVIL}such"],
    ["bench", "good", "--policy", f"no{EVIL}such"],
    ["bench", "good", "--policy", "keep-all", "--format", "json", "--out", "other"],
    ["bench", "good", "--policy", "keep-all", "--format", "csv", "--out", "other"],
    ["bench", "good", "--policy", "keep-all", "--format", "markdown", "--out", "other"],
    ["bench", f"--no{EVIL}such"],
    ["advise", "good"],
    ["sweep", "good", "--policy", "mask:keep=1|2", "--out", "swept"],
    ["trust", f"no{EVIL}such"],
    ["transcripts", "check", "good", "bad.jsonl"],
    ["transcripts", "stats", "good", "bad.jsonl"],
    ["transcripts", "convert", "good"],
    ["replay", "good", "--policy", "mask:keep=1", "--losses"],
    ["report", "run", "--out", f"pa{NAME}ge.html"],
    ["report", "run", "--only", "pictures"],
    ["report", "run", "--only", "losses", "--by", "tool"],
    ["compare", "run", "other"],
    ["validate", "good"],
    ["compactions", "good"],
    ["forecast", "good", "--next", "1"],
    ["bill", "good", "--index", "none", "--out", "w.png"],
    ["serve", EVIL],
    ["drive", EVIL],
    ["validate", "good", "--estimates", "--out", "acc"],
    ["calibrate", "good", "--out", f"cal{NAME}.json"],
    ["calibrate", "good", "--by", "tool", "--out", "cal.json"],
    *(["check", kind, f"no{EVIL}.py:X"] for kind in CHECKED),
    ["check", "reader", f"read{NAME}er.py", "good"],
    ["check", "setting", "codex", f"{EVIL}=1"],
    ["check", "run", "run"],
    ["check", "policy", EVIL, "--doctor"],
    ["check", EVIL, EVIL],
    *(["list", kind, EVIL] for kind in LISTED),
    ["list", EVIL],
    ["bench", f"reader:{EVIL}:good"],
    ["bench", "good", "--provider", EVIL],
    *([name, EVIL] for name in BEFORE),
    [EVIL],
]


@pytest.mark.slow
def test_nothing_hostile_reaches_a_terminal(place: Path) -> None:
    for number, line in enumerate(LINES):
        # Once a process of its own: no library of it writes past the streams that a test can replace.
        text = on_terminal(*line, cwd=place, columns=200, own_process=number == 0)
        left = OURS.sub("", text.replace("\r\n", "\n"))
        # A progress bar goes back to the beginning of its line.
        wrong = re.findall(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202e]", left)
        assert not wrong and "Traceback" not in left, (line, left[-3000:])
        assert not re.search(r"\r(?!\x1b|\n|$)evil", text)


def test_every_command_with_words_of_others_is_tried() -> None:
    assert {line[0] for line in LINES} - {EVIL, *BEFORE} == set(COMMANDS)
