"""Rows of a table of trajectories, a few at a time: of a Parquet file by row groups, or of JSON lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ctxsim.readers.source import Sample, Source
from ctxsim.readers.source.parquet import parquet_rows

COLUMNS = ("messages", "trajectory", "conversations", "conversation", "trajectories", "history", "dialog")
"""Columns in which data sets keep a conversation, the usual ones first."""

BESIDE = ("tools", "model", "model_name")
"""Columns that are read beside it where there are any."""


class Row(NamedTuple):
    """One row: its number, from 1, what it holds by column, and notes on rows that were skipped before it."""

    number: int
    value: Mapping[str, Any]


def table_rows(source: Source, column: str) -> Iterator[Row]:
    """Return the rows of a Parquet file, with that column and those beside it."""
    yield from (Row(number, value) for number, value in parquet_rows(source, {column, *BESIDE}))


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
