"""The beginning of a source, decoded once for all formats that try to recognise it."""

import csv
import json
import re
import zipfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from ctxsim.errors import InputError
from ctxsim.plugins.files import MOST_BYTES, without_comments
from ctxsim.readers.source.source import PARQUET, SQLITE, ZIP, Record, Source
from ctxsim.readers.source.values import json_document, json_values, objects

SAMPLE_RECORDS = 40
SAMPLE_BYTES = 1 << 20

LEAST_COLUMNS = 3

_TAG = re.compile(r"<\w+>")

MARKED_DEPTH = 3
"""Levels below the top from which keys are collected as marks; of each list, only the first entries."""


def _marks(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
        if isinstance(kind := value.get("type"), str):
            yield f"type={kind}"
    inside = value.values() if isinstance(value, dict) else value[:3] if isinstance(value, list) else ()
    for one in inside if depth else ():
        yield from _marks(one, depth - isinstance(value, dict))


def _header(start: bytes, wanted: str) -> tuple[str, ...]:
    """Return the names of columns that a file begins with; () if its first line is no header of a table.

    A line of fewer than LEAST_COLUMNS names is one only if it has the `wanted` column.
    """
    line = start.removeprefix(b"\xef\xbb\xbf").splitlines()[:1]
    if not line or line[0].lstrip()[:1] in (b"{", b"[", b"/"):
        return ()
    try:
        names = next(csv.reader([line[0].decode("utf-8", "replace")]), [])
    except csv.Error:
        # A field is longer than an input may be.
        return ()
    plain = all(name and name.isprintable() and "\ufffd" not in name for name in names)
    return tuple(names) if plain and (len(names) >= LEAST_COLUMNS or wanted in names) else ()


def _values(line: bytes) -> list[Any]:
    with suppress(ValueError):
        return json_values(line)
    return []


class Sample:
    """The data that detection looks at: the first records of a JSONL file, or a whole JSON document.

    `document` is None for JSONL; `records` of a document is the document alone, so a JSONL file of one line is found by
    its record too. `members` are the names in a zip archive, `tables` those of a database with their columns.
    """

    def __init__(self, source: Source) -> None:
        self.source = source

    @cached_property
    def folder(self) -> Path | None:
        """The folder that is this source as a whole, or None."""
        path = self.source.path
        return path if path is not None and path.is_dir() else None

    @cached_property
    def start(self) -> bytes:
        """The first 4 KB; empty for a folder."""
        if self.folder:
            return b""
        with self.source.open() as stream, self.source.readable():
            return stream.read(4096)

    @property
    def parquet(self) -> bool:
        """Whether it is a Parquet file."""
        return self.start.startswith(PARQUET)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of a table, Parquet or CSV; () if the source is no table."""
        if not self.parquet:
            names = _header(self.start, self.source.column)
            return () if names and self.torn else names
        from ctxsim.readers.source.tables import parquet_columns

        return tuple(parquet_columns(self.source))

    def rows(self, columns: Collection[str] = ()) -> Iterator[Record]:
        """Return a table's rows, numbered from 1. Of Parquet only `columns` are read, or all for ()."""
        from ctxsim.readers.source.tables import csv_rows, parquet_rows

        rows = parquet_rows(self.source, columns or self.columns) if self.parquet else csv_rows(self.source)
        return (Record(number, row, f"{self.source.name} row {number}") for number, row in rows)

    @property
    def database(self) -> bool:
        """Whether it is an SQLite database."""
        return self.start.startswith(SQLITE)

    @cached_property
    def tables(self) -> Mapping[str, frozenset[str]]:
        """Names of a database's tables, and of the columns of each; empty if the source is no database."""
        if not self.database:
            return {}
        from ctxsim.readers.source.database import Database, tables

        with Database(self.source) as database:
            return database.read(tables)

    @cached_property
    def members(self) -> tuple[str, ...]:
        """Names in a zip archive, or ()."""
        if not self.start.startswith(ZIP):
            return ()
        from ctxsim.readers.source.archive import check_archive

        try:
            with self.source.open() as stream, zipfile.ZipFile(cast(Any, stream)) as archive:
                check_archive(archive, self.source.name)
                return tuple(archive.namelist())
        except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
            raise InputError(self.source.name, f"is a damaged zip archive: {error}") from error

    @cached_property
    def marks(self) -> frozenset[str]:
        """Names near the beginning: keys, and `type=VALUE`; columns, tables, members of an archive.

        For a bare list of messages also the tags, such as `<returncode>`, with which their texts begin.
        """
        found = {*self.columns, *self.tables, *self.members}
        for record in self.records:
            found.update(_marks(record, MARKED_DEPTH))
        texts = (message.get("content") for message in objects(self.document))
        found.update(tag[0] for text in texts if isinstance(text, str) and (tag := _TAG.match(text)))
        return frozenset(found)

    @cached_property
    def torn(self) -> bool:
        """Whether only the end of the first line is left, as of a log that was cut at its beginning."""
        lines = (line for _, line in self.source.lines())
        first = next(lines, b"")
        # In no JSON document does a whole object stand behind a line that ends so.
        return first.endswith(b"}") and not _values(first) and list(map(type, _values(next(lines, b"")))) == [dict]

    @cached_property
    def jsonl(self) -> bool:
        """Whether the first line is a JSON value by itself and something follows it, or is torn."""
        if self.columns or self.database:
            return False
        lines = self.source.lines()
        values = _values(next(lines, (0, b""))[1])
        return len(values) > 1 or any(lines) if values else self.torn

    @cached_property
    def document(self) -> Any:
        """The whole file as one JSON value; None if it's JSONL, an archive or not JSON. Raises InputError if cut.

        None for JSON with comments too: agents' settings have them, recordings don't.
        """
        if self.members or self.columns or self.database or self.jsonl:
            return None
        data = self.source.content().removeprefix(b"\xef\xbb\xbf")
        if data.lstrip()[:1] not in (b"{", b"["):
            return None
        try:
            return json_document(data, self.source.name)
        except InputError:
            if len(data) <= MOST_BYTES:
                with suppress(ValueError, RecursionError):
                    json.loads(without_comments(data.decode("utf-8")))
                    return None
            raise

    @property
    def first(self) -> Any:
        """The first JSON value of the file; None if there is none."""
        return self.records[0] if self.records else None

    def all(self, notes: list[str]) -> Iterator[Record]:
        """Return the values of a table or of JSON lines, or the document alone; skipped lines are noted."""
        if self.columns:
            yield from self.rows()
        elif self.document is None:
            yield from self.source.records(notes)
        else:
            yield Record(1, self.document, self.source.name)

    def has_tables(self, columns: Mapping[str, Collection[str]]) -> bool:
        """Whether it is a database with these tables, and these columns in each."""
        return self.database and all(self.tables.get(name, frozenset()).issuperset(columns[name]) for name in columns)

    @cached_property
    def records(self) -> list[Any]:
        """The first JSON values of the file."""
        if not self.jsonl:
            return [] if self.document is None else [self.document]
        values: list[Any] = []
        size = 0
        for _, line in self.source.lines():
            size += len(line)
            values += _values(line)
            if len(values) >= SAMPLE_RECORDS or size > SAMPLE_BYTES:
                break
        return values
