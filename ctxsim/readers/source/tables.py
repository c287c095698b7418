"""Rows of tables: of Parquet files a few at a time, of comma-separated values one at a time.

Documentation: https://parquet.apache.org/docs/file-format/, https://www.rfc-editor.org/rfc/rfc4180
"""

import csv
import io
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from ctxsim.errors import InputError
from ctxsim.readers.source.limits import Pace, check_expansion, most_bytes
from ctxsim.readers.source.source import PARQUET, Source, starts

ROWS_AT_ONCE = 16
BUFFER_BYTES = 1 << 20
ROW_BYTES = 1_000
"""Bytes that a row counts for beyond its values: each may be a transcript, so endless tiny rows must reach a limit."""


def parquet_columns(source: Source) -> list[str]:
    """Return the names of a Parquet file's columns. Raises InputError if it can't be read."""
    with _parquet(source) as file:
        return list(file.schema_arrow.names)


def parquet_rows(source: Source, columns: Collection[str]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield a Parquet file's rows with their numbers, from 1, and those of these columns that it has."""
    import pyarrow

    with _parquet(source) as file:
        wanted = [name for name in file.schema_arrow.names if name in columns]
        number, pace, size = 0, Pace(source.name), _size(source)
        try:
            for batch in file.iter_batches(batch_size=ROWS_AT_ONCE, columns=wanted, use_threads=False):
                check_expansion(pace.took(batch.nbytes + ROW_BYTES * len(batch)), size, source.name)
                for value in batch.to_pylist():
                    number += 1
                    yield number, value
        except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
            raise InputError(f"{source.name} row {number + 1}", f"cannot be read: {error}") from error


def _size(source: Source) -> int:
    return source.path.stat().st_size if source.path else len(source.content())


def _parquet(source: Source) -> Any:
    import pyarrow
    from pyarrow import parquet

    try:
        kept = source.kept()
        plain = isinstance(kept, Path) and starts(kept, len(PARQUET)) == PARQUET
        where: Any = kept if plain else pyarrow.BufferReader(source.content())
        file = parquet.ParquetFile(where, pre_buffer=False, buffer_size=BUFFER_BYTES)
        groups = (file.metadata.row_group(number) for number in range(file.num_row_groups))
        check_expansion(sum(group.total_byte_size for group in groups), _size(source), source.name)
        return file
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(source.name, f"is a damaged Parquet file: {error}") from error


def csv_rows(source: Source) -> Iterator[tuple[int, Mapping[str, str | None]]]:
    """Yield the rows with their numbers, from 1; empty cells are None. Raises InputError if a row can't be read."""
    csv.field_size_limit(min(most_bytes(), 2**31 - 1))
    with source.open() as stream, source.readable():
        lines = io.TextIOWrapper(cast(io.BufferedReader, stream), encoding="utf-8-sig", errors="replace", newline="")
        number = 0
        try:
            for number, row in enumerate(csv.DictReader(lines), 1):
                yield number, {name: value or None for name, value in row.items() if name}
        except csv.Error as error:
            raise InputError(f"{source.name} row {number + 1}", f"cannot be read: {error}") from error
