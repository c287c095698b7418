"""Processes that ctxsim starts. Its own Python imports nothing from the current folder, and ends with its parent."""

import gc
import os
import selectors
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

SAFE_PATH = "PYTHONSAFEPATH"
"""The environment variable that keeps the current folder off Python's search path."""

_PARENT_ASKED_S = 0.5
_TICK_S = 0.05
_DEATH_SIGNAL = 1


def collect_rarely() -> None:
    """Let Python look for reference cycles less often, in a process that ends after one command.

    Modules and rows live until the end, and few objects form cycles: a collection at every 700th object takes a
    fifteenth of a bench's time. A threshold of 100,000 takes no less time than this one, and 50 MiB more memory.
    """
    gc.set_threshold(10_000, 10, 10)


def python(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module of ctxsim in another process."""
    return [sys.executable, "-P", "-m", module, *arguments]


def environment(**more: str) -> dict[str, str]:
    """Return this process's environment for another Python, with `more` and with this one's search path in PYTHONPATH.

    The current folder is on that path only if it already stood in PYTHONPATH or holds ctxsim itself.
    """
    here, own = Path.cwd(), Path(__file__).parents[2]
    # Python makes its search path absolute, as of `.`; an empty entry is mostly left by a variable that wasn't set.
    said = [str(here / one) for one in os.environ.get("PYTHONPATH", "").split(os.pathsep) if one]
    paths = [path for path in sys.path if path and (path in said or Path(path) != here or Path(path) == own)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **more}


def without_keys(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of an environment that a program needs to run, and none that could hold a secret."""
    return {name: variables[name] for name in ("PATH", "PYTHONPATH", "LANG", "HOME") if name in variables}


@contextmanager
def safe_path() -> Iterator[str | None]:
    """Keep the current folder off the path of Python processes that other code starts within this context.

    It yields the variable's earlier value, which the processes restore by `said_of_path` for the user's own programs.
    """
    before = os.environ.get(SAFE_PATH)
    os.environ[SAFE_PATH] = "1"
    try:
        yield before
    finally:
        said_of_path(before)


def said_of_path(said: str | None) -> None:
    """Set PYTHONSAFEPATH, for processes started from now on, to the user's value; None removes it."""
    if said is None:
        os.environ.pop(SAFE_PATH, None)
    else:
        os.environ[SAFE_PATH] = said


def end_with(parent: int) -> None:
    """End this process when its parent ends, even if the parent is killed and can't notify it.

    Rule: on Linux PR_SET_PDEATHSIG of prctl(2), and everywhere a thread that looks up the parent's id twice a second.
    """
    if sys.platform.startswith("linux"):
        import ctypes

        ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    threading.Thread(target=_ask, args=(parent,), daemon=True).start()


def _ask(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_PARENT_ASKED_S)
    os._exit(1)


def end_soon(grace_s: float) -> None:
    """Make SIGTERM and Ctrl-C end this process after `grace_s` seconds, even if it is busy or a handler ignores them.

    Call it in the main thread. Rule: signal.set_wakeup_fd, which is written to before any Python handler runs.
    """
    heard, told = os.pipe()
    os.set_blocking(told, False)
    signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    threading.Thread(target=_end_at, args=(heard, grace_s), daemon=True).start()


def _end_at(heard: int, grace_s: float) -> None:
    while True:
        number = os.read(heard, 1)[0]
        if number in (signal.SIGTERM, signal.SIGINT):
            time.sleep(grace_s)
            os._exit(128 + number)


def exchanged(given: IO[bytes], answers: IO[bytes], data: bytes) -> Iterator[bytes]:
    """Write data to a program, and yield what it answers as it comes; an empty block where nothing came for a moment.

    Both pipes must be non-blocking. Ends once the program has closed one of them.
    """
    waiting = memoryview(data)
    with selectors.DefaultSelector() as selector, suppress(BrokenPipeError):
        selector.register(answers, selectors.EVENT_READ)
        selector.register(given, selectors.EVENT_WRITE)
        while True:
            ready = {key.fileobj for key, _ in selector.select(_TICK_S)}
            if given in ready:
                waiting = waiting[given.write(waiting[: 1 << 16]) or 0 :]
                if not waiting:
                    selector.unregister(given)
            if answers not in ready:
                yield b""
            elif block := answers.read(1 << 20):
                yield block
            else:
                return


def end_group(group: int) -> None:
    """Kill a process group at once, with all processes that a program has left running in it."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def ended(status: int) -> str:
    """Return in words how a process ended, given its return code as `subprocess` defines it."""
    if status < 0:
        with suppress(ValueError):
            return f"was ended by {signal.Signals(-status).name}"
    return f"ended with status {status}"
