"""Rows as tables of Arrow and pandas, with the types that their columns declare."""

import struct
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import accumulate, chain
from typing import Any, TypeAlias

import msgspec

from ctxsim.results.run_info import TABLES, Tables

if typing.TYPE_CHECKING:
    import pandas

Frame: TypeAlias = "pandas.DataFrame"
"""A table of pandas, which is imported when one is made."""


@cache
def arrow_schema(row: type[msgspec.Struct]) -> Any:
    """Return the Arrow schema of a row type; a column is nullable if it may be None."""
    import pyarrow

    arrow = {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64(), bool: pyarrow.bool_()}
    fields = []
    for name, annotation in typing.get_type_hints(row).items():
        options = typing.get_args(annotation) if isinstance(annotation, types.UnionType) else (annotation,)
        kind = next(option for option in options if option is not type(None))
        fields.append(pyarrow.field(name, arrow[kind], nullable=type(None) in options))
    return pyarrow.schema(fields)


def columns_of(row: type[msgspec.Struct], rows: Sequence[msgspec.Struct]) -> dict[str, list[Any]]:
    """Return rows of one type as columns."""
    cells = list(chain.from_iterable(map(msgspec.structs.astuple, rows)))
    names = row.__struct_fields__
    return {name: cells[at :: len(names)] for at, name in enumerate(names)}


def arrow_batch(row: type[msgspec.Struct], rows: Sequence[msgspec.Struct]) -> Any:
    """Return rows of one type as an Arrow record batch of their schema."""
    return arrow_batch_of(row, [columns_of(row, rows)])


def arrow_batch_of(row: type[msgspec.Struct], groups: Sequence[Mapping[str, Sequence[Any]]]) -> Any:
    """Return groups of columns, concatenated, as a record batch; a column object that all share is packed once."""
    import pyarrow

    schema, columns = arrow_schema(row), []
    for field in schema:
        pieces = [group[field.name] for group in groups]
        if pieces and all(piece is pieces[0] for piece in pieces):
            columns.append(pyarrow.concat_arrays([packed(pieces[0], field.type)] * len(pieces)))
        else:
            columns.append(packed(list(chain.from_iterable(pieces)), field.type))
    return pyarrow.RecordBatch.from_arrays(columns, schema=schema)


def tables_of(
    rows: Mapping[str, Sequence[msgspec.Struct]], calls: Sequence[Mapping[str, Sequence[Any]]] = ()
) -> Tables:
    """Return one transcript's tables, from its calls as columns, one mapping per policy, and from the other tables'
    rows; a table without an entry is empty.
    """
    others = {name: row for name, (row, _) in TABLES.items() if name not in ("calls", "summary")}
    return {
        "calls": arrow_batch_of(TABLES["calls"][0], calls),
        **{name: arrow_batch(row, rows.get(name, ())) for name, row in others.items()},
    }


def mapped(batch: Any, **functions: Callable[[str], str]) -> Any:
    """Return a record batch with functions applied to the texts of the columns they are named after.

    A function sees each different text of a column once.
    """
    import pyarrow

    columns = [
        _mapped(column, functions.get(name)) for name, column in zip(batch.schema.names, batch.columns, strict=True)
    ]
    return pyarrow.RecordBatch.from_arrays(columns, schema=batch.schema)


def _mapped(column: Any, function: Callable[[str], str] | None) -> Any:
    if function is None:
        return column
    encoded = column.dictionary_encode()
    before = encoded.dictionary.to_pylist()
    after = list(map(function, before))
    return column if before == after else packed(after, column.type).take(encoded.indices)


def joined(batches: Sequence[Any]) -> Any:
    """Return record batches of one schema as one, their rows in order."""
    import pyarrow

    if len(batches) == 1:
        return batches[0]
    columns = [pyarrow.concat_arrays(pieces) for pieces in zip(*(batch.columns for batch in batches), strict=True)]
    return pyarrow.RecordBatch.from_arrays(columns, schema=batches[0].schema)


def frame_of(
    rows: Iterable[msgspec.Struct | dict[str, Any]], columns: type[msgspec.Struct] | Sequence[str] = ()
) -> Frame:
    """Return rows of any type as a frame, a column for each of their fields or keys.

    `columns`: the rows' type, or their keys. A frame without a row has these columns too.
    """
    import pandas

    made = [row if isinstance(row, dict) else msgspec.structs.asdict(row) for row in rows]
    return pandas.DataFrame(made, columns=getattr(columns, "__struct_fields__", columns) or None)


_CODES = {"string": "s", "int64": "q", "double": "d", "bool": "?"}
"""How values of an Arrow type are packed: format characters of `struct`, with `s` for texts of any length."""


def packed(values: Sequence[Any], kind: Any) -> Any:
    """Return values as an Arrow array of this type. None is null. Raises TypeError or struct.error for another type.

    `pyarrow.array` would import pandas, which takes a third of a second and 60 MB in each process that only replays.
    """
    import pyarrow

    there, code = None, _CODES[str(kind)]
    try:
        buffers = _buffers(values, code)
    except (struct.error, TypeError):  # one is None
        there = pyarrow.py_buffer(_bits([value is not None for value in values]))
        buffers = _buffers([_EMPTY[code] if value is None else value for value in values], code)
    return pyarrow.Array.from_buffers(kind, len(values), [there, *map(pyarrow.py_buffer, buffers)])


_EMPTY = {"s": "", "q": 0, "d": 0.0, "?": False}


def _buffers(values: Sequence[Any], code: str) -> list[bytes]:
    if code == "?":
        return [_bits(values)]
    if code != "s":
        return [struct.pack(f"{len(values)}{code}", *values)]
    text = "".join(values)
    if text.isascii():
        return [_offsets(map(len, values)), text.encode()]
    encoded = [value.encode() for value in values]
    return [_offsets(map(len, encoded)), b"".join(encoded)]


def _offsets(lengths: Iterable[int]) -> bytes:
    offsets = list(accumulate(lengths, initial=0))
    return struct.pack(f"{len(offsets)}i", *offsets)


def _bits(truths: Sequence[bool]) -> bytes:
    import numpy

    return numpy.packbits(numpy.frombuffer(bytes(truths), dtype=bool), bitorder="little").tobytes()


def refused(summary: Any) -> Any:
    """Return how many calls of each row weren't ok: over a limit, with invalid pairs or thinking, or given up."""
    import numpy

    known = sum(summary[name].to_numpy() for name in ("overflows", "rate_limited", "invalid_pairs", "stopped"))
    # Earlier versions wrote no such column: it is missing in their runs.
    return known + numpy.nan_to_num(summary.invalid_thinking.to_numpy(dtype=float)).astype(int)
