"""Writes a run's tables, as rows come, into its folder of unfinished work. No file is partial under its own name."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
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
"""Rows that are collected in memory before they are written to Parquet."""

PART_ROWS = 1_000_000
"""Approximate number of rows of one Parquet file, which consists of whole row groups."""


class _Table:
    """One table. It collects rows, as Parquet needs many at once, and writes files that lie among the unfinished work
    until `rename`: one Parquet file or a folder of them and, with `csv_too`, a growing CSV.
    """

    def __init__(self, out: RunFolder, name: str, row: type[msgspec.Struct], csv_too: bool) -> None:
        self._waiting: list[Any] = []
        self._rows = 0
        self._folder = out.work / f"{name}.parquet"
        self._schema = arrow_schema(row)
        remove(self._folder)
        self._folder.mkdir()
        self._files: list[Path] = []
        self._next_file()
        self._csv = (out.work / f"{name}.csv").open("wb") if csv_too else None
        if self._csv:
            self._csv.write(csv_header(row))

    def _next_file(self) -> None:
        import pyarrow.parquet

        self._files.append(self._folder / f"part-{len(self._files):05}.parquet")
        self._in_file = 0
        self._writer = pyarrow.parquet.ParquetWriter(self._files[-1], self._schema, compression="zstd")

    def write(self, batch: Any) -> None:
        self._waiting.append(batch)
        self._rows += batch.num_rows
        if self._rows >= ROW_GROUP:
            self._write_group()

    def _write_group(self) -> None:
        if not self._waiting:
            return
        batch = joined(self._waiting)
        self._waiting, self._rows = [], 0
        if self._in_file >= PART_ROWS:
            self._writer.close()
            self._next_file()
        self._writer.write_batch(batch)
        self._in_file += batch.num_rows
        if self._csv:
            self._csv.write(csv_text(batch))

    def abandon(self) -> None:
        with suppress(OSError):
            self._writer.close()
        # On a full disk closing fails. The writer must not try again, and print an error, when it is garbage-collected.
        self._writer.is_open = False
        remove(self._folder)
        if self._csv:
            with suppress(OSError):
                self._csv.close()
            remove(Path(self._csv.name))

    def close(self) -> None:
        self._write_group()
        self._writer.close()
        if self._csv:
            self._csv.close()
        for file in (*self._files, self._folder, *([Path(self._csv.name)] if self._csv else ())):
            sync(file)

    def rename(self, folder: Path) -> None:
        path = folder / self._folder.name
        if path.is_dir() or len(self._files) > 1:
            remove(path)
        if len(self._files) == 1:
            self._files[0].replace(path)
            self._folder.rmdir()
        else:
            self._folder.replace(path)
        if self._csv:
            Path(self._csv.name).replace(folder / Path(self._csv.name).name)


class RunWriter(AbstractContextManager["RunWriter"]):
    """Writes a run's tables as they come; `finish` gives the files their names, `run.json` last."""

    def __init__(self, out: RunFolder) -> None:
        self._out = out
        self._info = out.work / "run.json"
        self._tables: dict[str, _Table] = {}

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if error is not None:
            for table in self._tables.values():
                table.abandon()
            self._info.unlink(missing_ok=True)

    def _table(self, name: str) -> _Table:
        """Return a table, whose files are made when it is asked for first: a bench that fails before leaves none."""
        if name not in self._tables:
            self._tables[name] = _Table(self._out, name, *TABLES[name])
        return self._tables[name]

    def write(self, tables: Tables, summary: Sequence[SummaryRow]) -> None:
        """Append the rows of one transcript under all policies."""
        for name, batch in {**tables, "summary": arrow_batch(SummaryRow, summary)}.items():
            if batch.num_rows:
                self._table(name).write(batch)

    def finish(self, info: RunInfo) -> None:
        """Complete the run: flush all files to the disk, then rename them, `run.json` last.

        If the disk is full, the run that was there before stays. If the process is killed while it renames files, there
        is no `run.json`, and so no run: tables of two runs never mix.
        """
        unasked = [name for name in WHERE_ASKED if name not in self._tables]
        for name in TABLES:
            if name not in unasked:
                self._table(name).close()
        described = {name: columns(row) for name, (row, _) in TABLES.items()}
        whole = self._out.folder / "run.json"
        info = msgspec.structs.replace(info, columns=described, files=sums(self._out.work))
        self._info.write_bytes(sealed(info))
        sync(self._info)
        whole.unlink(missing_ok=True)
        for name in unasked:
            remove(self._out.folder / f"{name}.csv")
            remove(self._out.folder / f"{name}.parquet")
        for table in self._tables.values():
            table.rename(self._out.folder)
        sync(self._out.folder)
        self._info.replace(whole)
        sync(self._out.folder)
