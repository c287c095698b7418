"""One table that belongs to no run: as CSV, or as CSV and as Parquet, each whole under its name or not there."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from ctxsim.results.csv_text import csv_header, csv_text
from ctxsim.results.files import replacing
from ctxsim.results.frames import arrow_batch


def write_table(folder: Path, name: str, row: type[msgspec.Struct], rows: Sequence[msgspec.Struct]) -> list[Path]:
    """Write rows to `folder`, which is made, and return the paths. Raises OSError."""
    import pyarrow.parquet

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.parquet"
    with replacing(path) as temporary:
        pyarrow.parquet.write_table(pyarrow.Table.from_batches([arrow_batch(row, rows)]), temporary, compression="zstd")
    return [write_csv(folder / f"{name}.csv", row, rows), path]


def write_csv(path: Path, row: type[msgspec.Struct], rows: Sequence[msgspec.Struct]) -> Path:
    """Write rows as CSV, and return the path. Raises OSError."""
    with replacing(path) as temporary, temporary.open("wb") as stream:
        stream.write(csv_header(row))
        stream.write(csv_text(arrow_batch(row, rows)))
    return path
