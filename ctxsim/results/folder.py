"""A run's folder while somebody writes into it: locked, and nothing in it removed that ctxsim didn't make.

What is unfinished lies in one folder inside, which holds a marker. Only that folder, and the tables of a finished run
of ours, are ever removed or replaced; anything else under their names is a refusal.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import msgspec
from filelock import FileLock, Timeout

from ctxsim.errors import InputError
from ctxsim.plugins.files import small_file
from ctxsim.results.files import description, remove_leftovers
from ctxsim.results.run_info import TABLES

WORK = "parts"
MARKER = "ctxsim-unfinished-run.txt"
LOCK = ".ctxsim.lock"

HOLDER_LOOKS, HOLDER_WAIT_S = 25, 0.02
"""How often, and after which wait, a lock file is read again that names nobody yet."""

PICTURES = (
    "token-growth.png", "estimates.png", "survival-tokens.png", "survival-dollars.png", "sweep-curves.png",
    "sweep-heatmap.png", "report.html",
)  # fmt: skip
"""What commands draw of a run into its folder, whatever stood there."""

_MARKED = "ctxsim keeps here what an unfinished run has done, and removes this folder when it is complete.\n"
_TABLE_FILE = re.compile(r"part-\d{5,}\.parquet")


class _Ours(msgspec.Struct):
    """What any run.json of ours has."""

    ctxsim: str
    schema: int
    policies: list[str]


class RunFolder:
    """Holds a folder for one run at a time: enter it to lock it.

    Raises InputError if another run holds it, or if what would be replaced in it isn't ctxsim's.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.work = folder / WORK
        self._made: list[Path] = []
        """Folders that weren't there before, the innermost first."""
        self._stack = ExitStack()

    def __enter__(self) -> RunFolder:
        self._made = [one for one in (self.folder, *self.folder.parents) if not one.exists()]
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._stack:
            self._lock()
            self._refuse_foreign()
            for name in ("run.json", *PICTURES):
                remove_leftovers(self.folder / name)
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._stack.close()

    def _lock(self) -> None:
        path = self.folder / LOCK
        lock = FileLock(path, blocking=False)
        try:
            lock.acquire()
        except Timeout:
            raise InputError(
                self.folder, f"is being written by {_holder(path)}; wait for it, or choose another folder with --out"
            ) from None
        self._stack.callback(self._leave, lock, path)
        with suppress(OSError):
            path.write_text(f"process {os.getpid()} on {socket.gethostname()}\n")

    def _leave(self, lock: FileLock, path: Path) -> None:
        # Removed while it is held: who opened it before sees that it is gone and opens another.
        with suppress(OSError):
            path.unlink()
        lock.release()
        # Those with something in them stay.
        with suppress(OSError):
            for made in self._made:
                made.rmdir()

    def _refuse_foreign(self) -> None:
        if self.work.is_symlink() or (self.work.exists() and not self.marked):
            raise self._foreign(WORK)
        ours = self.marked or _is_run(self.folder)
        tables = (f"{table}{form}" for table in TABLES for form in (".csv", ".parquet"))
        for name in ("run.json", *tables, *PICTURES):
            path = self.folder / name
            if path.is_dir():
                whose = [one for one in path.iterdir() if not _TABLE_FILE.fullmatch(one.name)]
                if not name.endswith(".parquet") or path.is_symlink() or whose or not ours:
                    raise self._foreign(name)
            elif not ours and path.exists():
                raise self._foreign(name)

    def _foreign(self, name: str) -> InputError:
        return InputError(self.folder, f"holds {name}, which no run of ctxsim wrote; choose another folder with --out")

    @property
    def marked(self) -> bool:
        """Whether there is an unfinished run of ours in the folder."""
        try:
            return small_file(self.work / MARKER) == _MARKED.encode()
        except (OSError, InputError):
            return False

    @property
    def stopped(self) -> bool:
        """Whether there is an unfinished run of ours that nobody is writing."""
        return self.marked and not (self.folder / LOCK).exists()

    def begin(self) -> None:
        """Make the folder of unfinished work anew."""
        self.clear()
        self.work.mkdir()
        (self.work / MARKER).write_text(_MARKED)

    def clear(self) -> None:
        """Remove the folder of unfinished work, if it is ours; its marker goes last: till then it stays ours."""
        if not self.marked:
            return
        for entry in self.work.iterdir():
            if entry.name != MARKER:
                remove(entry)
        remove(self.work)


def remove(path: Path) -> None:
    """Remove a file, or a folder with all that is in it."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _is_run(folder: Path) -> bool:
    try:
        msgspec.json.decode(description(folder), type=_Ours)
    except (OSError, ValueError, RecursionError, InputError):
        return False
    return True


def _holder(path: Path) -> str:
    """Who wrote into a lock file that he is at work: he does so as soon as he holds it, so he may be about to."""
    for _ in range(HOLDER_LOOKS):
        with suppress(OSError, UnicodeDecodeError):
            if found := path.read_text().strip()[:200]:
                return found
        time.sleep(HOLDER_WAIT_S)
    return "another ctxsim"
