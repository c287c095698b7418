"""A run's folder while a process writes into it: it is locked, and only what ctxsim made is removed.

Unfinished work lies in one folder inside, which holds a marker. Only that folder, and the files of a finished run of
ctxsim, are ever removed or replaced; anything else under their names raises InputError.
"""

from __future__ import annotations

import re
import shutil
from contextlib import suppress
from pathlib import Path

import msgspec
from filelock import FileLock, Timeout

from ctxsim.errors import InputError
from ctxsim.plugins.files import small_file
from ctxsim.results.files import description
from ctxsim.results.run_info import TABLES

WORK = "parts"
MARKER = "ctxsim-unfinished-run.txt"
LOCK = ".ctxsim.lock"

PICTURES = (
    "token-growth.png", "estimates.png", "survival-tokens.png", "survival-dollars.png", "sweep-curves.png",
    "sweep-heatmap.png", "report.html",
)  # fmt: skip
"""Files that commands draw into a run's folder, in place of what stood there."""

_MARKED = "ctxsim keeps here what an unfinished run has done, and removes this folder when it is complete.\n"
_TABLE_FILE = re.compile(r"part-\d{5,}\.parquet")


class _Ours(msgspec.Struct):
    """The fields that any `run.json` of ctxsim has."""

    ctxsim: str
    schema: int
    policies: list[str]


class RunFolder:
    """Context manager that locks a folder for one run.

    Entering raises InputError if another run has the lock, or if a file that would be replaced isn't ctxsim's.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.work = folder / WORK
        self._lock = FileLock(folder / LOCK, blocking=False)
        self._made: list[Path] = []
        """Folders that this run created, the innermost first."""

    def __enter__(self) -> RunFolder:
        self._made = [one for one in (self.folder, *self.folder.parents) if not one.exists()]
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            self._lock.acquire()
        except Timeout:
            what = "is being written by another ctxsim; wait for it, or choose another folder with --out"
            raise InputError(self.folder, what) from None
        try:
            self._refuse_foreign()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        # Removed while it is locked: a process that has opened the file sees that it is gone, and opens another.
        with suppress(OSError):
            (self.folder / LOCK).unlink()
        self._lock.release()
        # Folders that aren't empty stay.
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
        """Whether the folder holds an unfinished run of ctxsim."""
        try:
            return small_file(self.work / MARKER) == _MARKED.encode()
        except (OSError, InputError):
            return False

    @property
    def stopped(self) -> bool:
        """Whether the folder holds an unfinished run of ctxsim that no process is writing."""
        return self.marked and not (self.folder / LOCK).exists()

    def begin(self) -> None:
        """Make an empty folder of unfinished work, with its marker."""
        self.clear()
        self.work.mkdir()
        (self.work / MARKER).write_text(_MARKED)

    def clear(self) -> None:
        """Remove the folder of unfinished work if it is marked. The marker goes last, so what is left is marked."""
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
