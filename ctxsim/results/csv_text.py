"""Tables as CSV text, made column by column, with the cells that Python's `csv` would write.

Functions here also write tables that belong to no run: as CSV, or as CSV and Parquet.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from ctxsim.results.files import replacing, write_file
from ctxsim.results.frames import arrow_batch, mapped, packed

_QUOTED = re.compile(r'[",\r\n]')
_NUMBER = re.compile(r"[+-]\d[\d.]*%?")


def harmless(cell: str) -> str:
    """Return a cell that no spreadsheet takes for a formula: an apostrophe precedes a character that would begin one.

    Source: https://owasp.org/www-community/attacks/CSV_Injection. Parquet files have the cell as it is.
    """
    begins = cell.startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"'{cell}" if begins and not _NUMBER.fullmatch(cell) else cell


def csv_header(row: type[msgspec.Struct]) -> bytes:
    """Return the names of a table's columns as the first line of its file."""
    return ",".join(row.__struct_fields__).encode() + b"\n"


def csv_text(batch: Any) -> bytes | memoryview:
    """Return the lines of a record batch, without a header.

    None is an empty cell, texts are made harmless, and only cells that need quotes have them.
    """
    if not batch.num_rows:
        return b""
    import pyarrow.compute

    texts = {field.name: _quoted for field in batch.schema if pyarrow.types.is_string(field.type)}
    *cells, last = map(_cells, mapped(batch, **texts).columns)
    last = pyarrow.compute.binary_join_element_wise(last, "", "\n", null_handling="replace")
    lines = pyarrow.compute.binary_join_element_wise(*cells, last, ",", null_handling="replace")
    return memoryview(lines.buffers()[-1])[: pyarrow.compute.sum(pyarrow.compute.binary_length(lines)).as_py()]


def _quoted(cell: str) -> str:
    cell = harmless(cell)
    return '"' + cell.replace('"', '""') + '"' if _QUOTED.search(cell) else cell


def _cells(column: Any) -> Any:
    import pyarrow.compute

    if pyarrow.types.is_boolean(column.type):
        return pyarrow.compute.if_else(column, "True", "False")
    cells = column.cast(pyarrow.string())
    return _as_python(column, cells) if pyarrow.types.is_floating(column.type) else cells


def _as_python(numbers: Any, cells: Any) -> Any:
    """Return cells of floats in Python's form, which differs from Arrow's for whole, large and tiny numbers."""
    from pyarrow import compute

    size = compute.abs(numbers)
    other = compute.or_(compute.equal(compute.floor(size), size), compute.less(size, 1e-4))
    other = compute.or_(other, compute.greater_equal(size, 1e10))
    found = numbers.filter(other).dictionary_encode()
    spelled = packed(list(map(repr, found.dictionary.to_pylist())), cells.type).take(found.indices)
    return compute.replace_with_mask(cells, other, spelled)


def write_table(folder: Path, name: str, row: type[msgspec.Struct], rows: Sequence[msgspec.Struct]) -> list[Path]:
    """Write rows as CSV and Parquet into `folder`, which is made if missing, and return the paths. Raises OSError."""
    import pyarrow.parquet

    folder.mkdir(parents=True, exist_ok=True)
    parquet = folder / f"{name}.parquet"
    batch = arrow_batch(row, rows)
    with replacing(parquet) as temporary:
        pyarrow.parquet.write_table(pyarrow.Table.from_batches([batch]), temporary, compression="zstd")
    return [_written(folder / f"{name}.csv", row, batch), parquet]


def write_csv(path: Path, rows: Sequence[msgspec.Struct]) -> Path:
    """Write rows (at least one, all of one type) as CSV, and return the path. Raises OSError."""
    return _written(path, type(rows[0]), arrow_batch(type(rows[0]), rows))


def _written(path: Path, row: type[msgspec.Struct], batch: Any) -> Path:
    return write_file(path, csv_header(row) + csv_text(batch))
