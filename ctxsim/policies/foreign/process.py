"""A child program that answers lines with lines, within a time limit, and is ended when this process exits."""

import atexit
import os
import shlex
import subprocess
import tempfile
import time
from contextlib import suppress
from typing import IO

from ctxsim.errors import CtxsimError, LabelError
from ctxsim.safety.processes import end_group, exchanged

LONGEST = 1 << 28
"""Most bytes of one answer."""

GRACE_S = 0.5
"""Seconds that a program has to exit after its input is closed, before it is killed."""


class Process:
    """A running program. `end` ends it with its process group; the exit of this process does so at the latest."""

    def __init__(self, command: str) -> None:
        """Start a command, split into words as a shell would. Raises LabelError if it can't be started."""
        if os.name != "posix":
            raise LabelError(
                "pipe: needs Linux, macOS or another POSIX system; in Python, use messages:FILE.py:function"
            )
        self.command = command
        self.asked = 0
        words = split(command)
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `end`
        try:
            self._process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said, bufsize=0,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            self._said.close()
            raise LabelError(f"pipe:{command}: {error.strerror or error}: {words[0]}") from None
        assert self._process.stdin and self._process.stdout
        self._in, self._out = self._process.stdin, self._process.stdout
        os.set_blocking(self._in.fileno(), False)
        os.set_blocking(self._out.fileno(), False)
        self._rest = b""
        _running.add(self)

    def ask(self, line: bytes, seconds: float) -> bytes:
        """Send a line and return the answer, without its line feed.

        Ends the process and raises CtxsimError if there is no answer within `seconds`, if the process ends, or if it
        writes more than one line or more than `LONGEST` bytes.
        """
        self.asked += 1
        if self._rest or self._out.read(1):
            raise self.failed("wrote more than one line for an answer, or something else than answers")
        due = time.monotonic() + seconds
        parts: list[bytes] = []
        size = 0
        for block in exchanged(self._in, self._out, line + b"\n"):
            before, end, after = block.partition(b"\n")
            parts.append(before)
            size += len(before)
            if size > LONGEST:
                raise self.failed(f"an answer of more than {LONGEST:,} bytes")
            if end:
                self._rest = after
                return b"".join(parts)
            if time.monotonic() > due:
                raise self.failed(f"no answer within {seconds:g} s")
        raise self.failed("ended without an answer")

    def failed(self, what: str) -> CtxsimError:
        """End the process and return an error with `what` it did, the number of the line and its last words."""
        code = self.end()
        last = self.last_words
        told = f"; it ended with status {code}" if what.startswith("ended") and code is not None else ""
        return CtxsimError(f"pipe:{self.command}: {what}{told} (line {self.asked}){f': {last}' if last else ''}")

    last_words = ""
    """The last line on its standard error; set by `end`."""

    def end(self) -> int | None:
        """End the program and its process group, and return its exit status; None where it had to be killed."""
        _running.discard(self)
        for stream in (self._in, self._out):
            stream.close()
        code: int | None = None
        with suppress(subprocess.TimeoutExpired):
            code = self._process.wait(GRACE_S)
        # Its own children may outlive it, so the whole group is killed.
        end_group(self._process.pid)
        self._process.wait()
        if not self._said.closed:
            self.last_words = _last_line(self._said)
            self._said.close()
        return code

    def forget(self) -> None:
        """Close the streams of a program that is another process's child, and leave it running."""
        for stream in (self._in, self._out, self._said):
            stream.close()
        # It isn't this process's child. A return code stops Popen from waiting for it and from warning.
        self._process.returncode = 0


def split(command: str) -> list[str]:
    """Return a command line's words. Raises LabelError for one that has none or leaves a quote open."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise LabelError(f"pipe:{command}: {str(error).lower()}") from None
    if not words:
        raise LabelError("pipe: needs a command, as in pipe:node policy.js")
    return words


def _last_line(said: IO[bytes]) -> str:
    said.seek(max(0, said.seek(0, os.SEEK_END) - 2_000))
    lines = said.read().decode("utf-8", "replace").split("\n")
    return next((" ".join(line.split()) for line in reversed(lines) if line.strip()), "")


_running: set[Process] = set()
_idle: dict[str, list[Process]] = {}


def borrow(command: str) -> Process:
    """Return an idle process of this command, or a new one. `give_back` makes it idle for the next transcript."""
    idle = _idle.get(command)
    return idle.pop() if idle else Process(command)


def give_back(process: Process) -> None:
    """Make a process idle for the next transcript, unless it has failed and ended."""
    if process in _running:
        _idle.setdefault(process.command, []).append(process)


@atexit.register
def end_all() -> None:
    """End all running processes."""
    _idle.clear()
    for process in list(_running):
        process.end()


def _forget() -> None:
    _idle.clear()
    while _running:
        _running.pop().forget()


# A forked child must neither write to its parent's programs nor end them.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
