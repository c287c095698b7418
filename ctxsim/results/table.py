"""One table that belongs to no run: as CSV, or as CSV and as Parquet, each whole under its name or not there."""

import csv
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
    written = [folder / f"{name}.csv", folder / f"{name}.parquet"]
    batch = arrow_batch(row, rows)
    with replacing(written[0]) as temporary, temporary.open("wb") as stream:
        stream.write(csv_header(row))
        stream.write(csv_text(batch))
    with replacing(written[1]) as temporary:
        pyarrow.parquet.write_table(pyarrow.Table.from_batches([batch]), temporary, compression="zstd")
    return written


def write_csv(path: Path, rows: Sequence[msgspec.Struct]) -> Path:
    """Write rows, of which there is at least one, as CSV, and return the path. Raises OSError."""
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(rows[0].__struct_fields__)
        writer.writerows(msgspec.structs.astuple(row) for row in rows)
    return path
