"""Rows of a table of trajectories, a few at a time: of a Parquet file by row groups, or of JSON lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, cast

from ctxsim.errors import InputError
from ctxsim.readers.source import Sample, Source

COLUMNS = ("messages", "trajectory", "conversations", "conversation", "trajectories", "history", "dialog")
"""Columns in which data sets keep a conversation, the usual ones first."""

BESIDE = ("tools", "model", "model_name")
"""Columns that are read beside it where there are any."""

ROWS_AT_ONCE = 16
BUFFER_BYTES = 1 << 20


class Row(NamedTuple):
    """One row: its number, from 1, what it holds by column, and notes on rows that were skipped before it."""

    number: int
    value: Mapping[str, Any]


def parquet_columns(source: Source) -> list[str]:
    """Return the names of a Parquet file's columns. Raises InputError if it can't be read."""
    with _parquet(source) as file:
        return list(file.schema_arrow.names)


def parquet_rows(source: Source, column: str) -> Iterator[Row]:
    """Return the rows of a Parquet file, with that column and those beside it."""
    import pyarrow

    with _parquet(source) as file:
        wanted = [name for name in file.schema_arrow.names if name == column or name in BESIDE]
        number = 0
        try:
            for batch in file.iter_batches(batch_size=ROWS_AT_ONCE, columns=wanted, use_threads=False):
                for value in batch.to_pylist():
                    number += 1
                    yield Row(number, value)
        except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
            raise InputError(f"{source.name} row {number + 1}", f"cannot be read: {error}") from error


def json_rows(source: Source, sample: Sample, notes: list[str]) -> Iterator[Row]:
    """Return the rows of JSON lines, or of a list of objects; what is no object is an empty row."""
    if sample.document is not None:
        document = sample.document
        values: Iterator[Any] = iter(document if isinstance(document, list) else [document])
        yield from (Row(number, _object(value)) for number, value in enumerate(values, 1))
        return
    for record in source.records(notes):
        yield Row(record.line, _object(record.value))


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _parquet(source: Source) -> Any:
    import pyarrow
    from pyarrow import parquet

    where: Any = source.open() if source.path is None or source.member or source.path.suffix != ".parquet" else None
    if where is not None and not where.seekable():
        where = pyarrow.BufferReader(source.content())
    try:
        return parquet.ParquetFile(
            where if where is not None else cast(Any, source.path), pre_buffer=False, buffer_size=BUFFER_BYTES
        )
    except (pyarrow.ArrowException, OSError) as error:
        raise InputError(source.name, f"is a damaged Parquet file: {error}") from error
