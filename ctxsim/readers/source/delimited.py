"""Rows of files of comma-separated values, one at a time.

Documentation: https://www.rfc-editor.org/rfc/rfc4180
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, cast

from ctxsim.errors import InputError
from ctxsim.readers.source.limits import most_bytes

if TYPE_CHECKING:
    from ctxsim.readers.source.source import Source

LEAST_COLUMNS = 3


def header(start: bytes) -> tuple[str, ...]:
    """Return the names of columns that a file begins with; () if its first line is no header of a table."""
    line = start.removeprefix(b"\xef\xbb\xbf").splitlines()[:1]
    if not line or line[0].lstrip()[:1] in (b"{", b"[", b"/"):
        return ()
    try:
        names = next(csv.reader([line[0].decode("utf-8", "replace")]), [])
    except csv.Error:
        return ()
    plain = all(name and name.isprintable() and "\ufffd" not in name for name in names)
    return tuple(names) if len(names) >= LEAST_COLUMNS and plain else ()


def csv_rows(source: Source) -> Iterator[tuple[int, Mapping[str, str | None]]]:
    """Return the rows with their numbers, from 1; empty cells are None. Raises InputError if one can't be read."""
    csv.field_size_limit(min(most_bytes(), 2**31 - 1))
    with source.open() as stream, source.readable():
        lines = io.TextIOWrapper(cast(io.BufferedReader, stream), encoding="utf-8-sig", errors="replace", newline="")
        number = 0
        try:
            for number, row in enumerate(csv.DictReader(lines), 1):
                yield number, {name: value or None for name, value in row.items() if name}
        except csv.Error as error:
            raise InputError(f"{source.name} row {number + 1}", f"cannot be read: {error}") from error
