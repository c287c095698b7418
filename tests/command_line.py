"""The command line as a stranger runs it, through the handler that turns errors into one line."""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import pty
import re
import runpy
import struct
import subprocess
import sys
import termios
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import not_drawn
import pytest

from ctxsim.cli import run

COURSE = re.compile(r"^[^:\n]+: (first source|[\d,]+ of [\d,]+ sources)\b.*\n", re.MULTILINE)
"""How far a run is, told every few seconds: on a busy machine of any run."""


class Done(NamedTuple):
    """What a command left: its exit status and what it printed."""

    returncode: int
    stdout: str
    stderr: str


def ctxsim(*arguments: str, cwd: Path, stdin: str = "", drawn: bool = False) -> Done:
    """Run a command in a folder, without a process of its own. Its charts are empty files unless `drawn`."""
    streams = [io.TextIOWrapper(io.BytesIO(data), "utf-8", newline="") for data in (stdin.encode(), b"", b"")]
    status = _run(arguments, cwd, streams, drawn)
    printed = []
    for stream in streams[1:]:
        stream.flush()
        printed.append(stream.buffer.getvalue().decode())  # type: ignore[attr-defined]
    return Done(status, printed[0], COURSE.sub("", printed[1]))


def _run(arguments: Sequence[str], cwd: Path, streams: Sequence[TextIO], drawn: bool = False) -> int:
    with contextlib.chdir(cwd), warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        for name, stream in zip(("stdin", "stdout", "stderr"), streams, strict=True):
            patch.setattr(sys, name, stream)
        with contextlib.nullcontext() if drawn else not_drawn.not_drawn():
            return run(arguments)


def process(*arguments: str, cwd: Path, module: str = "", **environment: str) -> Done:
    """Run a command, or a module, in a process of its own, where that is what is tested. Its charts are empty files."""
    program = ("-m", module) if module else (not_drawn.__file__,)
    done = subprocess.run(
        [sys.executable, *program, *arguments], cwd=cwd, capture_output=True, text=True, timeout=300,
        env={**os.environ, **environment},
    )  # fmt: skip
    return Done(done.returncode, done.stdout, COURSE.sub("", done.stderr))


def on_terminal(
    *arguments: str, cwd: Path, columns: int, errors: bool = True, own_process: bool = False,
    ends: Sequence[int] = (0, 1, 2),
) -> str:  # fmt: skip
    """Return what a command writes to a pseudo terminal that is its standard output, and its standard error if said."""
    terminal, other_end = pty.openpty()
    fcntl.ioctl(other_end, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    with ThreadPoolExecutor(1) as pool, pytest.MonkeyPatch.context() as patch:
        written = pool.submit(lambda: b"".join(_read(terminal)))
        # Within this process standard output isn't the terminal whose width is asked for.
        if own_process:
            patch.delenv("COLUMNS", raising=False)
        else:
            patch.setenv("COLUMNS", str(columns))
        patch.setenv("TERM", "xterm-256color")
        with (
            os.fdopen(other_end, "w", encoding="utf-8") as out,
            os.fdopen(os.dup(other_end)) as given,
            Path(os.devnull).open("w") as no,
        ):
            streams = (given, out, out if errors else no)
            if own_process:
                command = [sys.executable, not_drawn.__file__, *arguments]
                status = subprocess.run(command, cwd=cwd, stdin=given, stdout=out, stderr=streams[2], timeout=300,
                                        start_new_session=True, check=False).returncode  # fmt: skip
            else:
                status = _run(arguments, cwd, streams)
    data = written.result()
    os.close(terminal)
    assert status in ends, data[-2000:]
    return data.decode("utf-8")


def once(compute: Callable[..., Any]) -> Callable[..., Any]:
    """The same, whose answer to the same question is computed once; who watches is no part of it."""
    known: dict[str, Any] = {}

    def answer(*args: Any, **named: Any) -> Any:
        question = repr((args, {key: value for key, value in named.items() if key != "watch"}))
        if question not in known:
            known[question] = compute(*args, **named)
        return known[question]

    return answer


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
    """Run a part of `evidence` as `python -m` does, without a process of its own."""
    out, errors = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(cwd), contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors),
        warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch,
    ):  # fmt: skip
        warnings.filterwarnings("ignore", ".* found in sys.modules after import of package", RuntimeWarning)
        patch.setattr(sys, "argv", [f"{module}.py", *arguments])
        try:
            runpy.run_module(f"evidence.{module}", run_name="__main__")
            status = 0
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else int(bool(ended.code))
    return Done(status, out.getvalue(), errors.getvalue())
