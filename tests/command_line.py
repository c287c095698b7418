"""The command line as a stranger runs it, through the handler that turns errors into one line."""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from project import ROOT

from ctxsim.cli import run

COURSE = re.compile(r"^[^:\n]+: (first source|[\d,]+ of [\d,]+ sources)\b.*\n", re.MULTILINE)
"""How far a run is, told every few seconds: on a busy machine of any run."""


class Done(NamedTuple):
    """What a command left: its exit status and what it printed."""

    returncode: int
    stdout: str
    stderr: str


def ctxsim(*arguments: str, cwd: Path, stdin: str = "") -> Done:
    """Run a command in a folder, without a process of its own."""
    streams = [io.TextIOWrapper(io.BytesIO(data), "utf-8", newline="") for data in (stdin.encode(), b"", b"")]
    kept = sys.stdin, sys.stdout, sys.stderr
    sys.stdin, sys.stdout, sys.stderr = streams
    try:
        with contextlib.chdir(cwd), warnings.catch_warnings():
            status = run(arguments)
    finally:
        sys.stdin, sys.stdout, sys.stderr = kept
    printed = []
    for stream in streams[1:]:
        stream.flush()
        printed.append(stream.buffer.getvalue().decode())  # type: ignore[attr-defined]
    return Done(status, printed[0], COURSE.sub("", printed[1]))


def process(*arguments: str, cwd: Path, module: str = "ctxsim", **environment: str) -> Done:
    """Run a command in a process of its own, where that is what is tested."""
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments], cwd=cwd, capture_output=True, text=True, timeout=300,
        env={**os.environ, **environment},
    )  # fmt: skip
    return Done(done.returncode, done.stdout, COURSE.sub("", done.stderr))


def on_terminal(*arguments: str, cwd: Path, columns: int, errors: bool = True) -> str:
    """Return what a command writes to a pseudo terminal that is its standard output, and its standard error if said."""
    terminal, other_end = pty.openpty()
    fcntl.ioctl(other_end, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    # A process of its own: a fork of this one would have its locks and none of the threads that let go of them.
    done = subprocess.Popen(
        [sys.executable, "-m", "ctxsim", *arguments], cwd=cwd, stdin=other_end, stdout=other_end,
        stderr=other_end if errors else subprocess.DEVNULL, start_new_session=True,
        env={**{name: value for name, value in os.environ.items() if name != "COLUMNS"}, "TERM": "xterm-256color"},
    )  # fmt: skip
    os.close(other_end)
    data = b"".join(_read(terminal))
    os.close(terminal)
    assert done.wait(timeout=300) in (0, 1, 2), data[-2000:]
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


def evidence(module: str, *arguments: str, cwd: Path) -> Done:
    """Run a part of `evidence`, as from a checkout."""
    return process(*arguments, cwd=cwd, module=f"evidence.{module}", PYTHONPATH=str(ROOT))
