"""A run's folder: writing it as rows come, whole or not at all, and reading it back.

    run.json        what was run: policies, provider, tokenizer and vocabulary hash, inputs and their hashes
    calls.parquet   one row per call and policy (calls.csv: the same)
    events.parquet  one row per edit: the audit trail
    items.parquet   one row per recorded item, with the beginning of its text
    needs.parquet   one row per reference that a call needed
    losses.parquet  one row per need and policy that had lost it
    frontier.csv    the least tokens and dollars at each survival, per transcript
    needles.csv     one row per use of a planted fact and policy, if any were planted
    summary.csv     one row per transcript and policy

`run.json` holds no time, host, path of this machine or job count, so that equal inputs give equal bytes.
"""

from __future__ import annotations

import csv
import types
import typing
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from ctxsim.errors import InputError
from ctxsim.rows import CallRow, Event, FrontierRow, ItemRow, LossRow, NeedleRow, NeedRow, SummaryRow

if typing.TYPE_CHECKING:
    import pandas

SCHEMA_VERSION = 2


TABLES: dict[str, tuple[type[msgspec.Struct], bool, bool]] = {
    "calls": (CallRow, True, True),
    "events": (Event, False, True),
    "items": (ItemRow, False, True),
    "needs": (NeedRow, False, True),
    "losses": (LossRow, False, True),
    "frontier": (FrontierRow, True, False),
    "needles": (NeedleRow, True, False),
    "summary": (SummaryRow, True, False),
}
"""Each table's row, and whether it is written as CSV and as Parquet."""


ROW_GROUP = 10_000
"""Rows that wait in memory until they are written to Parquet."""

CSV_ONLY = ("summary", "frontier", "needles")


class Tables(msgspec.Struct):
    """The rows of one transcript under all policies, by table."""

    calls: list[CallRow] = []
    events: list[Event] = []
    items: list[ItemRow] = []
    needs: list[NeedRow] = []
    losses: list[LossRow] = []
    frontier: list[FrontierRow] = []
    needles: list[NeedleRow] = []
    summary: list[SummaryRow] = []


class InputInfo(msgspec.Struct, frozen=True):
    """One source of transcripts. `sha256` is of the file's bytes; for a scenario, of its transcript as JSON."""

    name: str
    sha256: str
    transcripts: int
    calls: int
    notes: tuple[str, ...] = ()
    error: str | None = None


class RunInfo(msgspec.Struct, frozen=True):
    """What a run was made from."""

    name: str
    title: str
    ctxsim: str
    tokenizers: dict[str, str]
    policies: tuple[str, ...]
    shown: dict[str, str]
    """Long labels in a shorter form that opens the same."""
    bounds: tuple[str, ...]
    providers: tuple[dict[str, Any], ...]
    inputs: tuple[InputInfo, ...]
    detectors: tuple[str, ...]
    complete: bool = True
    """False if the run was stopped: what was finished by then is in it, and `--resume` goes on."""
    scenario: dict[str, Any] | None = None
    schema: int = SCHEMA_VERSION
    columns: dict[str, dict[str, str]] = {}


def columns(row: type[msgspec.Struct]) -> dict[str, str]:
    """Return each column of a row type with its kind of number and unit, as `counted, tokens`."""
    described = {}
    for name, annotation in typing.get_type_hints(row, include_extras=True).items():
        meta = annotation.__metadata__[0].extra_json_schema
        described[name] = ", ".join(filter(None, (meta["kind"], meta["unit"])))
    return described


def _arrow_schema(row: type[msgspec.Struct]) -> Any:
    import pyarrow

    arrow = {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64(), bool: pyarrow.bool_()}
    fields = []
    for name, annotation in typing.get_type_hints(row).items():
        options = typing.get_args(annotation) if isinstance(annotation, types.UnionType) else (annotation,)
        kind = next(option for option in options if option is not type(None))
        fields.append(pyarrow.field(name, arrow[kind], nullable=type(None) in options))
    return pyarrow.schema(fields)


class _Table:
    """One growing table: CSV, Parquet or both, under temporary names until `finish`."""

    def __init__(self, folder: Path, name: str, row: type[msgspec.Struct], csv_too: bool, parquet_too: bool) -> None:
        self._paths: list[Path] = []
        self._csv: Any = None
        self._parquet: Any = None
        self._fields = row.__struct_fields__
        self._waiting: list[msgspec.Struct] = []
        if csv_too:
            self._csv_file = self._temporary(folder / f"{name}.csv").open("w", encoding="utf-8", newline="")
            self._csv = csv.writer(self._csv_file, lineterminator="\n")
            self._csv.writerow(self._fields)
        if parquet_too:
            import pyarrow.parquet

            self._schema = _arrow_schema(row)
            path = self._temporary(folder / f"{name}.parquet")
            self._parquet = pyarrow.parquet.ParquetWriter(path, self._schema, compression="zstd")

    def _temporary(self, path: Path) -> Path:
        self._paths.append(path)
        return path.with_name(path.name + ".part")

    def write(self, rows: Sequence[msgspec.Struct]) -> None:
        if self._csv:
            self._csv.writerows(msgspec.structs.astuple(row) for row in rows)
        if self._parquet:
            self._waiting += rows
            if len(self._waiting) >= ROW_GROUP:
                self._write_group()

    def _write_group(self) -> None:
        """Parquet wants many rows at once."""
        import pyarrow

        rows, self._waiting = self._waiting, []
        batch = {name: [getattr(row, name) for row in rows] for name in self._fields}
        self._parquet.write_table(pyarrow.table(batch, schema=self._schema))

    def _close(self) -> None:
        if self._csv:
            self._csv_file.close()
        if self._parquet:
            self._parquet.close()

    def abandon(self) -> None:
        self._close()
        for path in self._paths:
            path.with_name(path.name + ".part").unlink()

    def finish(self) -> None:
        if self._parquet and self._waiting:
            self._write_group()
        self._close()
        for path in self._paths:
            path.with_name(path.name + ".part").replace(path)


class RunWriter:
    """Writes a run's tables as rows come; `finish` gives the files their names, `run.json` last."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if error is not None and "_tables" in self.__dict__:
            for table in self._tables.values():
                table.abandon()
            if not any(self.folder.iterdir()):
                self.folder.rmdir()

    @cached_property
    def _tables(self) -> dict[str, _Table]:
        """Made when the first row comes: a bench that fails before that leaves nothing behind."""
        self.folder.mkdir(parents=True, exist_ok=True)
        return {name: _Table(self.folder, name, *form) for name, form in TABLES.items()}

    def write(self, tables: Tables) -> None:
        """Append the rows of one transcript under all policies."""
        for name, table in self._tables.items():
            table.write(getattr(tables, name))

    def finish(self, info: RunInfo) -> None:
        """Complete the run. Killed here, it leaves no run.json, and so no run: never tables of two runs."""
        self.folder.joinpath("run.json").unlink(missing_ok=True)
        for table in self._tables.values():
            table.finish()
        described = {name: columns(row) for name, (row, _, _) in TABLES.items()}
        text = msgspec.json.format(msgspec.json.encode(msgspec.structs.replace(info, columns=described)), indent=2)
        part = self.folder / "run.json.part"
        part.write_bytes(text + b"\n")
        part.replace(self.folder / "run.json")


class Run(msgspec.Struct, frozen=True):
    """A finished run, read back."""

    folder: Path
    info: RunInfo
    calls: pandas.DataFrame
    summary: pandas.DataFrame
    needs: pandas.DataFrame
    losses: pandas.DataFrame
    frontier: pandas.DataFrame
    needles: pandas.DataFrame

    def shown(self, label: str) -> str:
        """Return a label as tables and pictures show it: without defaults where it is long, bounds marked."""
        return self.info.shown.get(label, label) + (" (bound)" if label in self.info.bounds else "")


def read_table(folder: Path, name: str, transcripts: Sequence[str]) -> pandas.DataFrame:
    """Return the rows of some transcripts from a run's Parquet table, without reading the others' into memory."""
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(folder / f"{name}.parquet", filters=[("transcript", "in", list(transcripts))])
    return table.to_pandas()


def read_run(folder: str | Path) -> Run:
    """Return a finished run. Raises InputError if the folder holds none or another version's."""
    import pandas

    folder = Path(folder)
    try:
        info = msgspec.json.decode((folder / "run.json").read_bytes(), type=RunInfo)
        if info.schema != SCHEMA_VERSION:
            raise InputError(folder, f"has schema {info.schema}, this version reads {SCHEMA_VERSION}; run bench again")
        calls = pandas.read_parquet(folder / "calls.parquet")
        needs, losses = (pandas.read_parquet(folder / f"{name}.parquet") for name in ("needs", "losses"))
        summary, frontier, needles = (pandas.read_csv(folder / f"{name}.csv") for name in CSV_ONLY)
    except FileNotFoundError as error:
        raise InputError(folder, f"is no finished run: {Path(error.filename).name} is missing") from None
    except msgspec.DecodeError as error:
        raise InputError(folder / "run.json", str(error)) from None
    return Run(folder, info, calls, summary, needs, losses, frontier, needles)
