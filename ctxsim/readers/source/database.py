"""Reads SQLite databases of programs that may be running, without blocking a writer and without changing files.

SQLite's own read-only mode still marks its place in the `-shm` file, and creates that file if there is none. So
the way of each read depends on the files beside the database:

- no write-ahead log, or an empty one: `immutable=1`, no locks at all; read again if the database changed meanwhile;
- a write-ahead log with its index (`-shm`): `readonly_shm=1`. Readers of such a log block no writer;
- a log without its index, as in a copy or on a read-only disk: a temporary copy of both, which is deleted;
- a rollback journal with changes in it: a writer is in the middle of a transaction. Tried again, then refused.

Documentation: https://www.sqlite.org/wal.html#read_only_databases, https://www.sqlite.org/uri.html,
https://www.sqlite.org/fileformat2.html; `readonly_shm` is in `os_unix.c` and `os_win.c` of SQLite's source.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ctxsim.errors import InputError
from ctxsim.readers.source.limits import most_bytes, too_large
from ctxsim.readers.source.source import SQLITE, Source, starts

if TYPE_CHECKING:
    import sqlite3

T = TypeVar("T")

WRITTEN_BESIDE = ("-wal", "-journal")
"""Endings of the files beside a database that hold a part of its content."""

_JOURNAL = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
_TRIES = 40
_PAUSE_S = 0.05
_LATER = ("SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_BUSY")
"""Starts of SQLite's error names for a log whose index can't be read, or not at the moment."""

STEPS_AT_ONCE = 10_000
MOST_STEPS, STEPS_PER_BYTE = 20_000_000, 2
"""Most steps of SQLite for reading all of a database, and how many more for each of its bytes. A row takes about ten. A
page that is in a tree many times has endless rows.
"""


class Database(ExitStack[None]):
    """A source that is a database. Each `read` sees one moment of it, even while a program writes.

    A context manager: its end deletes temporary copies. Raises InputError for one that is compressed or in a pipe.
    """

    def __init__(self, source: Source) -> None:
        super().__init__()
        self.name = source.name
        if source.path is None or _starts(source.path, len(SQLITE)) != SQLITE:
            raise InputError(self.name, "is a database in a compressed file or a pipe: unpack it first")
        self.path = source.path
        if find_spec("_sqlite3") is None:
            raise InputError(self.name, "is a database, and this Python was built without sqlite3: take another Python")
        self._copy: Path | None = None
        self._copied: object = None
        size = sum(file.stat().st_size for file in (self.path, *written_beside(self.path)))
        self._steps = iter(range(0, MOST_STEPS + STEPS_PER_BYTE * size, STEPS_AT_ONCE))

    def read(self, ask: Callable[[sqlite3.Connection], T]) -> T:
        """Return the result of `ask`. Raises InputError if the database can't be read, or changes during every try."""
        try:
            for _ in range(_TRIES):
                if found := self._once(ask):
                    return found[0]
        except OSError as error:
            raise InputError(self.name, f"cannot be read: {error.strerror or error}") from error
        raise InputError(self.name, "is being written, or was left in the middle of that: close its program, try again")

    def _once(self, ask: Callable[[sqlite3.Connection], T]) -> tuple[T] | None:
        """Return the result of one try as a 1-tuple; None if it has to be tried again."""
        path, before = self.path, _state(self.path)
        if _starts(_beside(path, "-journal"), len(_JOURNAL)) == _JOURNAL:
            time.sleep(_PAUSE_S)
            return None
        if not _starts(_beside(path, "-wal"), len(_JOURNAL)):
            return self._asked(path, "immutable=1", ask, before)
        if _beside(path, "-shm").exists() and (found := self._asked(path, "mode=ro&readonly_shm=1", ask, None)):
            return found
        copy = self._of_both(before)
        return self._asked(copy, "mode=ro", ask, None) if copy else None

    def _asked(self, path: Path, how: str, ask: Callable[[sqlite3.Connection], T], before: object) -> tuple[T] | None:
        """Return the result as a 1-tuple; None if the state isn't `before` any more or the log can't be read yet."""
        import sqlite3

        uri = f"{path.absolute().as_uri()}?{how}"
        try:
            with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as connection:
                _protect(connection)
                connection.set_progress_handler(lambda: next(self._steps, None) is None, STEPS_AT_ONCE)
                connection.execute("BEGIN")
                found = ask(connection)
        except (sqlite3.Error, UnicodeDecodeError, InputError) as error:
            if before is not None and _state(path) != before:
                return None
            if isinstance(error, InputError):
                raise
            if isinstance(error, sqlite3.DataError):
                raise too_large(self.name, "holds a value that is") from error
            said = getattr(error, "sqlite_errorname", "")
            if said == "SQLITE_INTERRUPT":
                raise InputError(self.name, "takes more steps to read than any database of its size") from error
            if before is None and said.startswith(_LATER):
                return None
            raise InputError(self.name, f"is a damaged or an unknown database: {error}") from error
        return None if before is not None and _state(path) != before else (found,)

    def _of_both(self, before: object) -> Path | None:
        """Return a copy of the database, with its log beside it; None if they changed meanwhile."""
        if self._copy is None or self._copied != before:
            self.close()
            self._copy = Path(self.enter_context(tempfile.TemporaryDirectory(prefix="ctxsim-")), "copy")
            self._copied = before
            with suppress(FileNotFoundError):
                for ending in ("", "-wal"):
                    shutil.copyfile(_beside(self.path, ending), _beside(self._copy, ending))
        return self._copy if _state(self.path) == before else None


def written_beside(path: Path | None) -> list[Path]:
    """Return the files beside a database that hold a part of its content; [] if `path` is no database."""
    if path is None or not path.is_file() or _starts(path, len(SQLITE)) != SQLITE:
        return []
    return [file for ending in WRITTEN_BESIDE if (file := _beside(path, ending)).is_file()]


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(f"{path.name}{ending}")


def _starts(path: Path, size: int) -> bytes:
    """Return the first bytes of a file; b'' if it doesn't exist."""
    with suppress(FileNotFoundError):
        return starts(path, size)
    return b""


def _state(path: Path) -> object:
    """Return what every transaction changes: sizes and times, and the database's header with its change counter."""
    found = []
    for file in (_beside(path, ending) for ending in ("", *WRITTEN_BESIDE)):
        with suppress(FileNotFoundError):
            start, now = _starts(file, 100), file.stat()
            found.append((file, start, now.st_ino, now.st_size, now.st_mtime_ns))
    return found


def _protect(connection: sqlite3.Connection) -> None:
    import sqlite3

    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, min(most_bytes(), 2**31 - 1))
    # A stranger's schema must not make a query run functions, nor a sort write to disk.
    connection.execute("PRAGMA trusted_schema=OFF")
    connection.execute("PRAGMA temp_store=MEMORY")
    try:
        connection.execute("SELECT 1 FROM sqlite_master")
    except sqlite3.DatabaseError as error:
        # Before 3.41, SQLite's own JSON functions, which indexes of agents' tables have, were among those not trusted.
        if "unsafe use of json_" not in str(error):
            raise
        connection.execute("PRAGMA trusted_schema=ON")


def tables(connection: sqlite3.Connection) -> dict[str, frozenset[str]]:
    """Return a database's tables with their column names. No views: they run a stranger's SQL."""
    names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'")
    return {
        name: frozenset(column for (column,) in connection.execute("SELECT name FROM pragma_table_info(?)", (name,)))
        for (name,) in names.fetchall()
    }
