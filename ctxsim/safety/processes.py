"""Python processes of our own: they import nothing from the current folder, and end with whoever started them."""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

SAFE_PATH = "PYTHONSAFEPATH"
"""The variable that keeps the current folder off a Python's search path."""

_PARENT_ASKED_S = 0.5
_DEATH_SIGNAL = 1


def python(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module of ours in another process."""
    return [sys.executable, "-P", "-m", module, *arguments]


def environment(**more: str) -> dict[str, str]:
    """Return this process's environment for another Python, with this one's search path and the variables given.

    The current folder is on it only where it stood in PYTHONPATH or holds ctxsim itself.
    """
    return {**os.environ, "PYTHONPATH": os.pathsep.join(_search_path(os.environ)), **more}


def without_keys(variables: Mapping[str, str]) -> dict[str, str]:
    """Return of an environment what a program needs to run, and nothing that could be a secret."""
    return {name: variables[name] for name in ("PATH", "PYTHONPATH", "LANG", "HOME") if name in variables}


def _search_path(variables: Mapping[str, str]) -> list[str]:
    here = Path.cwd()
    said = variables.get("PYTHONPATH", "").split(os.pathsep)
    own = Path(__file__).parents[2]
    return [path for path in sys.path if path and (path in said or Path(path) != here or Path(path) == own)]


@contextmanager
def safe_path() -> Iterator[str | None]:
    """Start Python processes meanwhile that others' code makes, without the current folder on their path.

    Give what they get by `said_of_path` when they have started: programs of the user's choose their path themselves.
    """
    before = os.environ.get(SAFE_PATH)
    os.environ[SAFE_PATH] = "1"
    try:
        yield before
    finally:
        said_of_path(before)


def said_of_path(said: str | None) -> None:
    """Set the variable of a safe path, for processes from now on, to what the user said of it."""
    if said is None:
        os.environ.pop(SAFE_PATH, None)
    else:
        os.environ[SAFE_PATH] = said


def end_with(parent: int, status: int = 1) -> None:
    """End this process when its parent ends, however that ended: a killed parent tells nobody.

    Rule: PR_SET_PDEATHSIG of prctl(2); elsewhere than on Linux a thread asks who the parent is.
    """
    if sys.platform.startswith("linux"):
        import ctypes

        ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(status)
    threading.Thread(target=_ask, args=(parent, status), daemon=True).start()


def _ask(parent: int, status: int) -> None:
    while os.getppid() == parent:
        time.sleep(_PARENT_ASKED_S)
    os._exit(status)


def end_soon(grace_s: float) -> None:
    """From now on SIGTERM and Ctrl-C end this process after that time, whatever it is doing and whoever ignores them.

    Call it in the main thread. Rule: signal.set_wakeup_fd, which is written to before any handler of Python runs.
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


def end_group(group: int) -> None:
    """End a process group at once: what a program leaves running ends with it."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def ended(status: int) -> str:
    """Return in words how a process ended, given its status as subprocess has it."""
    if status < 0:
        with suppress(ValueError):
            return f"was ended by {signal.Signals(-status).name}"
    return f"ended with status {status}"
