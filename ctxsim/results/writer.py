"""A run's tables, written as rows come among its unfinished work: every file whole under its name, or not there."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from ctxsim.results.checksums import sealed, sums
from ctxsim.results.columns import SummaryRow
from ctxsim.results.csv_text import csv_header, csv_text
from ctxsim.results.files import sync
from ctxsim.results.folder import RunFolder, remove
from ctxsim.results.frames import arrow_batch, arrow_schema, joined
from ctxsim.results.run_info import TABLES, WHERE_ASKED, RunInfo, Tables, columns

ROW_GROUP = 10_000
"""Rows that wait in memory until they are written to Parquet."""

PART_ROWS = 1_000_000
"""Rows of one Parquet file, about: whole row groups."""


class _Csv:
    """One growing CSV file, among unfinished work until `rename`."""

    def __init__(self, out: RunFolder, name: str, row: type[msgspec.Struct]) -> None:
        self._path = out.folder / f"{name}.csv"
        self._temporary = out.work / self._path.name
        self._file = self._temporary.open("wb")
        self._file.write(csv_header(row))

    def write(self, batch: Any) -> None:
        self._file.write(csv_text(batch))

    def abandon(self) -> None:
        with suppress(OSError):
            self._file.close()
        self._temporary.unlink(missing_ok=True)

    def close(self) -> None:
        self._file.close()
        sync(self._temporary)

    def rename(self) -> None:
        self._temporary.replace(self._path)


class _Parquet:
    """One growing Parquet table, among unfinished work until `rename`: a file, or a folder of them."""

    def __init__(self, out: RunFolder, name: str, row: type[msgspec.Struct]) -> None:
        self._path = out.folder / f"{name}.parquet"
        self._temporary = out.work / self._path.name
        self._schema = arrow_schema(row)
        remove(self._temporary)
        self._temporary.mkdir()
        self._files: list[Path] = []
        self._next_file()

    def _next_file(self) -> None:
        import pyarrow.parquet

        self._files.append(self._temporary / f"part-{len(self._files):05}.parquet")
        self._rows = 0
        self._writer = pyarrow.parquet.ParquetWriter(self._files[-1], self._schema, compression="zstd")

    def write(self, batch: Any) -> None:
        if self._rows >= PART_ROWS:
            self._writer.close()
            self._next_file()
        self._writer.write_batch(batch)
        self._rows += batch.num_rows

    def abandon(self) -> None:
        with suppress(OSError):
            self._writer.close()
        # On a full disk that fails; the writer would try again, loudly, when it is collected.
        self._writer.is_open = False
        remove(self._temporary)

    def close(self) -> None:
        self._writer.close()
        for file in (*self._files, self._temporary):
            sync(file)

    def rename(self) -> None:
        if self._path.is_dir() or len(self._files) > 1:
            remove(self._path)
        if len(self._files) == 1:
            self._files[0].replace(self._path)
            self._temporary.rmdir()
        else:
            self._temporary.replace(self._path)


class _Table:
    """One table: rows that wait until they are many, since Parquet wants many at once, and its files."""

    def __init__(self, out: RunFolder, name: str, row: type[msgspec.Struct], csv_too: bool) -> None:
        self.files: list[_Csv | _Parquet] = [form(out, name, row) for form in ((_Parquet, _Csv)[: 1 + csv_too])]
        self._waiting: list[Any] = []
        self._rows = 0
        self.empty = True

    def write(self, batch: Any) -> None:
        if batch.num_rows:
            self._waiting.append(batch)
            self.empty = False
            self._rows += batch.num_rows
        if self._rows >= ROW_GROUP:
            self.write_group()

    def write_group(self) -> None:
        if not self._waiting:
            return
        batch = joined(self._waiting)
        self._waiting, self._rows = [], 0
        for file in self.files:
            file.write(batch)


class RunWriter:
    """Writes a run's tables as they come; `finish` gives the files their names, `run.json` last."""

    def __init__(self, out: RunFolder) -> None:
        self._out = out
        self._info = out.work / "run.json"
        self._tables: dict[str, _Table] = {}
        self._summary: list[SummaryRow] = []
        """A few of each transcript: they wait as rows."""

    @property
    def _files(self) -> list[_Csv | _Parquet]:
        return list(chain.from_iterable(table.files for table in self._tables.values()))

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if error is not None and self._tables:
            for file in self._files:
                file.abandon()
            self._info.unlink(missing_ok=True)

    def _open(self) -> None:
        """Make the files when the first row comes: a bench that fails before that leaves nothing behind."""
        if not self._tables:
            for name, (row, csv_too) in TABLES.items():
                self._tables[name] = _Table(self._out, name, row, csv_too)

    def write(self, tables: Tables, summary: Sequence[SummaryRow]) -> None:
        """Append one transcript under all policies."""
        self._open()
        for name in Tables.__struct_fields__:
            self._tables[name].write(getattr(tables, name))
        self._summary += summary
        if len(self._summary) >= ROW_GROUP:
            self._write_summary()

    def _write_summary(self) -> None:
        rows, self._summary = self._summary, []
        self._tables["summary"].write(arrow_batch(SummaryRow, rows))
        self._tables["summary"].write_group()

    def finish(self, info: RunInfo) -> None:
        """Complete the run: first everything is on the disk itself, then names change, `run.json` last.

        A full disk leaves the run that was there before; killed among the names, it leaves no run.json, and so no run:
        never tables of two runs.
        """
        self._open()
        self._write_summary()
        for table in self._tables.values():
            table.write_group()
        unasked = [name for name in WHERE_ASKED if self._tables[name].empty]
        for file in chain.from_iterable([self._tables.pop(name).files for name in unasked]):
            file.abandon()
        files = self._files
        for file in files:
            file.close()
        described = {name: columns(row) for name, (row, _) in TABLES.items()}
        whole = self._out.folder / "run.json"
        info = msgspec.structs.replace(info, columns=described, files=sums(self._out.work))
        self._info.write_bytes(sealed(info))
        sync(self._info)
        whole.unlink(missing_ok=True)
        for name in unasked:
            remove(self._out.folder / f"{name}.csv")
            remove(self._out.folder / f"{name}.parquet")
        for file in files:
            file.rename()
        sync(self._out.folder)
        self._info.replace(whole)
        sync(self._out.folder)
