"""A run's tables, written as rows come among its unfinished work: every file whole under its name, or not there."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path

import msgspec

from ctxsim.results.files import sync
from ctxsim.results.folder import RunFolder, remove
from ctxsim.results.frames import arrow_schema, arrow_table
from ctxsim.results.run import TABLES, RunInfo, Tables, columns

ROW_GROUP = 10_000
"""Rows that wait in memory until they are written to Parquet."""

PART_ROWS = 1_000_000
"""Rows of one Parquet file, about: whole row groups."""


NAMED_BY_OTHERS = ("transcript", "root", "reason")
"""Columns with words of recordings and policies."""


def harmless(cell: str) -> str:
    """Return a cell that no spreadsheet takes for a formula: with an apostrophe before what would begin one.

    Source: https://owasp.org/www-community/attacks/CSV_Injection. Parquet files have the cell as it is.
    """
    return f"'{cell}" if cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell


class _Csv:
    """One growing CSV file, among unfinished work until `rename`."""

    def __init__(self, out: RunFolder, name: str, row: type[msgspec.Struct]) -> None:
        self._path = out.folder / f"{name}.csv"
        self._temporary = out.work / self._path.name
        self._file = self._temporary.open("w", encoding="utf-8", newline="")
        self._csv = csv.writer(self._file, lineterminator="\n")
        self._csv.writerow(row.__struct_fields__)
        self._named = [at for at, name in enumerate(row.__struct_fields__) if name in NAMED_BY_OTHERS]

    def write(self, rows: Sequence[msgspec.Struct]) -> None:
        self._csv.writerows(map(self._cells, rows))

    def _cells(self, row: msgspec.Struct) -> Sequence[object]:
        cells = list(msgspec.structs.astuple(row))
        for at in self._named:
            cells[at] = harmless(cells[at])
        return cells

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
        self._waiting: list[msgspec.Struct] = []
        remove(self._temporary)
        self._temporary.mkdir()
        self._files: list[Path] = []
        self._next_file()

    def _next_file(self) -> None:
        import pyarrow.parquet

        self._files.append(self._temporary / f"part-{len(self._files):05}.parquet")
        self._rows = 0
        self._writer = pyarrow.parquet.ParquetWriter(self._files[-1], self._schema, compression="zstd")

    def write(self, rows: Sequence[msgspec.Struct]) -> None:
        self._waiting += rows
        if len(self._waiting) >= ROW_GROUP:
            self._write_group()

    def _write_group(self) -> None:
        """Parquet wants many rows at once."""
        if self._rows >= PART_ROWS:
            self._writer.close()
            self._next_file()
        rows, self._waiting = self._waiting, []
        self._writer.write_table(arrow_table(rows, self._schema))
        self._rows += len(rows)

    def abandon(self) -> None:
        with suppress(OSError):
            self._writer.close()
        # On a full disk that fails; the writer would try again, loudly, when it is collected.
        self._writer.is_open = False
        remove(self._temporary)

    def close(self) -> None:
        if self._waiting:
            self._write_group()
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


class RunWriter:
    """Writes a run's tables as rows come; `finish` gives the files their names, `run.json` last."""

    def __init__(self, out: RunFolder) -> None:
        self._out = out
        self._info = out.work / "run.json"
        self._tables: dict[str, list[_Csv | _Parquet]] = {}

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if error is not None and self._tables:
            for file in chain.from_iterable(self._tables.values()):
                file.abandon()
            self._info.unlink(missing_ok=True)

    def _open(self) -> None:
        """Make the files when the first row comes: a bench that fails before that leaves nothing behind."""
        if self._tables:
            return
        for name, (row, csv_too) in TABLES.items():
            files = self._tables[name] = []
            for form in (_Parquet, _Csv) if csv_too else (_Parquet,):
                files.append(form(self._out, name, row))

    def write(self, tables: Tables) -> None:
        """Append the rows of one transcript under all policies."""
        self._open()
        for name, files in self._tables.items():
            for file in files:
                file.write(getattr(tables, name))

    def finish(self, info: RunInfo) -> None:
        """Complete the run: first everything is on the disk itself, then names change, `run.json` last.

        A full disk leaves the run that was there before; killed among the names, it leaves no run.json, and so no run:
        never tables of two runs.
        """
        self._open()
        files = list(chain.from_iterable(self._tables.values()))
        for file in files:
            file.close()
        described = {name: columns(row) for name, (row, _) in TABLES.items()}
        text = msgspec.json.format(msgspec.json.encode(msgspec.structs.replace(info, columns=described)), indent=2)
        whole = self._out.folder / "run.json"
        self._info.write_bytes(text + b"\n")
        sync(self._info)
        whole.unlink(missing_ok=True)
        for file in files:
            file.rename()
        sync(self._out.folder)
        self._info.replace(whole)
        sync(self._out.folder)
