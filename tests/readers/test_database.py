"""Databases of programs that may be running: what is read is right, nothing is written, and nobody has to wait."""

from __future__ import annotations

import gzip
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ctxsim.errors import InputError
from ctxsim.readers import read
from ctxsim.readers.source import Source, database
from ctxsim.readers.source.database import Database, tables

WRITER = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=0)
db.execute(f"PRAGMA journal_mode={sys.argv[2]}")
db.execute("PRAGMA wal_autocheckpoint=0")
db.execute("CREATE TABLE IF NOT EXISTS t (a)")
for line in sys.stdin:
    try:
        db.execute(line)
        print("done", flush=True)
    except sqlite3.Error as error:
        print(error, flush=True)
"""


class Writer:
    """A program that has a database open: another process, as locks are of processes."""

    def __init__(self, path: Path, journal: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), journal],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def __call__(self, sql: str) -> str:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(f"{sql}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def wal(tmp_path: Path) -> Iterator[Writer]:
    writer = Writer(tmp_path / "x.db", "wal")
    assert writer("INSERT INTO t VALUES (1)") == "done"
    yield writer
    writer.kill()


def opened(path: Path) -> Database:
    return Database(Source(str(path), path))


def rows(path: Path) -> Any:
    with opened(path) as one:
        return one.read(lambda found: found.execute("SELECT COUNT(*) FROM t").fetchone()[0])


def held(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_a_log_that_is_being_written_is_read_with_it(wal: Writer, tmp_path: Path) -> None:
    assert wal("BEGIN IMMEDIATE") == "done"
    assert wal("INSERT INTO t VALUES (2)") == "done"
    before = held(tmp_path)
    assert set(before) == {"x.db", "x.db-wal", "x.db-shm"}
    # The transaction isn't over: its row is nobody's.
    assert rows(tmp_path / "x.db") == 1
    assert held(tmp_path) == before
    assert wal("COMMIT") == "done"
    before = held(tmp_path)
    assert rows(tmp_path / "x.db") == 2
    assert held(tmp_path) == before


def test_what_stands_beside_a_database_holds_a_part_of_it(wal: Writer, tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("no database")
    (tmp_path / "text.db-wal").write_text("no part of one")
    assert database.written_beside(tmp_path / "x.db") == [tmp_path / "x.db-wal"]
    assert database.written_beside(tmp_path / "text.db") == database.written_beside(None) == []


def test_a_writer_goes_on_while_a_reader_reads(wal: Writer, tmp_path: Path) -> None:
    def ask(found: sqlite3.Connection) -> tuple[Any, Any, str]:
        first = found.execute("SELECT COUNT(*) FROM t").fetchone()[0]
        said = wal("INSERT INTO t VALUES (2)")
        return first, found.execute("SELECT COUNT(*) FROM t").fetchone()[0], said

    with opened(tmp_path / "x.db") as one:
        # What is read is of one moment; the writer, who doesn't wait for anybody, was not stopped.
        assert one.read(ask) == (1, 1, "done")
    assert rows(tmp_path / "x.db") == 2


def test_a_log_whose_writer_was_killed(wal: Writer, tmp_path: Path) -> None:
    wal.kill()
    before = held(tmp_path)
    assert rows(tmp_path / "x.db") == 1
    assert held(tmp_path) == before


def test_a_log_without_its_index_is_copied_and_the_copy_deleted(
    wal: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wal.kill()
    (tmp_path / "x.db-shm").unlink()
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    (tmp_path / "kept").mkdir()
    for name in ("x.db", "x.db-wal"):
        (tmp_path / name).rename(tmp_path / "kept" / name)
    before = held(tmp_path / "kept")
    assert rows(tmp_path / "kept" / "x.db") == 1
    assert held(tmp_path / "kept") == before
    assert not list(temporary.iterdir())


@pytest.fixture
def nobody(tmp_path: Path) -> Iterator[int]:
    """A user who may not write: the superuser may write everywhere."""
    me = os.geteuid()
    yield 65534 if me == 0 else me
    os.seteuid(me)


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="permissions of POSIX")
@pytest.mark.parametrize("with_log", [True, False])
def test_a_folder_that_cannot_be_written(wal: Writer, tmp_path: Path, nobody: int, with_log: bool) -> None:
    if not with_log:
        assert wal("PRAGMA wal_checkpoint(TRUNCATE)") == "done"
    wal.kill()
    # Nobody else may enter the folders that pytest makes.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "kept")
        shutil.copytree(tmp_path, folder)
        for path, mode in ((folder / "x.db", 0o444), (folder, 0o555), (folder.parent, 0o755)):
            path.chmod(mode)
        os.seteuid(nobody)
        with pytest.raises(PermissionError):
            (folder / "new").touch()
        assert rows(folder / "x.db") == 1
        os.seteuid(os.getuid())
        folder.chmod(0o755)


@pytest.mark.parametrize("journal", ["delete", "truncate", "persist"])
def test_a_rollback_journal(journal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_PAUSE_S", 0.0)
    writer = Writer(tmp_path / "x.db", journal)
    try:
        assert writer("INSERT INTO t VALUES (1)") == "done"
        before = held(tmp_path)
        assert rows(tmp_path / "x.db") == 1
        assert held(tmp_path) == before
        # Pages go to the file before the transaction is over: what is read then is of no moment.
        for sql in ("PRAGMA cache_size=1", "BEGIN IMMEDIATE", "INSERT INTO t SELECT zeroblob(90000) FROM t"):
            assert writer(sql) == "done"
        with pytest.raises(InputError, match="is being written"):
            rows(tmp_path / "x.db")
        assert writer("COMMIT") == "done"
        assert rows(tmp_path / "x.db") == 2
    finally:
        writer.kill()


def test_what_changed_while_it_was_read_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("CREATE TABLE t (a)")
        seen = []

        def ask(found: sqlite3.Connection) -> int:
            seen.append(found.execute("SELECT COUNT(*) FROM t").fetchone()[0])
            if len(seen) < 3:
                writer.execute("INSERT INTO t VALUES (1)")
            return len(seen)

        with opened(path) as one:
            assert one.read(ask) == 3
    assert seen == [0, 1, 2]


def test_what_is_no_database_or_none_by_itself(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(b"SQLite format 3\0" + b"\x01" * 4000)
    with pytest.raises(InputError, match="damaged or an unknown database"):
        list(read(str(damaged)))
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as made:
        made.execute("CREATE TABLE notes (a, b)")
        made.execute("CREATE VIEW session AS SELECT a AS id FROM notes")
    with pytest.raises(InputError, match=r"ctxsim knows: an SQLite database with tables notes; see: "):
        list(read(str(other)))
    with opened(other) as one:
        assert one.read(tables) == {"notes": frozenset("ab")}
    with closing(sqlite3.connect(tmp_path / "many.db")) as made:
        for letter in "mlkjihgfedcba":
            made.execute(f"CREATE TABLE {letter} (x)")
    with pytest.raises(InputError, match=r"tables a, b, c, d, e, f, g, h, i, j, k, l; see: "):
        list(read(str(tmp_path / "many.db")))
    (tmp_path / "x.db.gz").write_bytes(gzip.compress(other.read_bytes()))
    with pytest.raises(InputError, match="is a database in a compressed file or a pipe: unpack it first"):
        list(read(str(tmp_path / "x.db.gz")))


def test_connections_end_also_after_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[sqlite3.Connection] = []
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *where, **how: made.append(connect(*where, **how)) or made[-1])
    (tmp_path / "damaged.db").write_bytes(b"SQLite format 3\0" + b"\x01" * 4000)
    with pytest.raises(InputError):
        list(read(str(tmp_path / "damaged.db")))
    assert made
    for one in made:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            one.execute("SELECT 1")


def test_a_table_with_an_index_on_json_is_read(tmp_path: Path) -> None:
    # As Kilo Code's have. SQLite before 3.41 trusts such an index no more than a stranger's function.
    with closing(sqlite3.connect(tmp_path / "x.db")) as made:
        made.execute("CREATE TABLE t (a)")
        made.execute("CREATE INDEX i ON t (json_extract(a, '$.role'))")
        made.execute("INSERT INTO t VALUES ('{}')")
        made.commit()
    with opened(tmp_path / "x.db") as one:
        assert one.read(lambda found: found.execute("SELECT a FROM t").fetchall()) == [("{}",)]


def test_a_python_without_sqlite_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.db"
    with closing(sqlite3.connect(path)) as made:
        made.execute("CREATE TABLE t (a)")
    monkeypatch.setattr(database, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="this Python was built without sqlite3"):
        list(read(str(path)))


def test_a_value_over_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as made:
        made.execute("CREATE TABLE t (a)")
        made.execute("INSERT INTO t VALUES (zeroblob(2000000))")
    monkeypatch.setenv("CTXSIM_MAX_MB", "1")
    with opened(path) as one, pytest.raises(InputError, match="holds a value that is larger than 1 MB"):
        one.read(lambda found: found.execute("SELECT a FROM t").fetchall())
    # More than SQLite's own limit, 2 GB, is as much as that.
    monkeypatch.setenv("CTXSIM_MAX_MB", "5000")
    with opened(path) as one:
        assert one.read(lambda found: found.execute("SELECT length(a) FROM t").fetchall()) == [(2_000_000,)]
