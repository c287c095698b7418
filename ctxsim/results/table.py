"""One table that belongs to no run: as CSV and as Parquet, each whole under its name or not there."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import msgspec

from ctxsim.results.files import replacing
from ctxsim.results.frames import arrow_schema, arrow_table


def write_table(folder: Path, name: str, row: type[msgspec.Struct], rows: Sequence[msgspec.Struct]) -> list[Path]:
    """Write rows to `folder`, which is made, and return the paths. Raises OSError."""
    import pyarrow.parquet

    folder.mkdir(parents=True, exist_ok=True)
    written = [folder / f"{name}.csv", folder / f"{name}.parquet"]
    with replacing(written[0]) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(row.__struct_fields__)
        writer.writerows(map(msgspec.structs.astuple, rows))
    with replacing(written[1]) as temporary:
        pyarrow.parquet.write_table(arrow_table(rows, arrow_schema(row)), temporary, compression="zstd")
    return written
