"""Rows of a table of trajectories, a few at a time: of a Parquet file by row groups, or of JSON lines."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ctxsim.readers.source import Sample, Source
from ctxsim.readers.source.parquet import parquet_rows

COLUMNS = ("messages", "trajectory", "conversations", "conversation", "trajectories", "history", "dialog")
"""Columns in which data sets keep a conversation, the usual ones first."""

BESIDE = ("tools", "model", "model_name")
"""Columns that are read beside it where there are any."""


Row = tuple[int, Mapping[str, Any]]
"""One row: its number, from 1, and what it holds by column."""


def table_rows(source: Source, column: str) -> Iterator[Row]:
    """Return the rows of a Parquet file, with that column and those beside it."""
    return parquet_rows(source, {column, *BESIDE})


def json_rows(source: Source, sample: Sample, notes: list[str]) -> Iterator[Row]:
    """Return the rows of JSON lines, or of a list of objects; what is no object is an empty row."""
    values: Iterable[tuple[int, Any]] = ((record.line, record.value) for record in source.records(notes))
    if sample.document is not None:
        values = enumerate(sample.document if isinstance(sample.document, list) else [sample.document], 1)
    return ((number, value if isinstance(value, dict) else {}) for number, value in values)
