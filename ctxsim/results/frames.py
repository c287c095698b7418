"""Rows as tables of Arrow and pandas, with the types that their columns declare."""

from __future__ import annotations

import types
import typing
from collections.abc import Sequence
from typing import Any

import msgspec

from ctxsim.results.run import TABLES

if typing.TYPE_CHECKING:
    import pandas


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


def arrow_table(rows: Sequence[msgspec.Struct], schema: Any) -> Any:
    """Return rows as an Arrow table of their schema."""
    import pyarrow

    values = list(zip(*map(msgspec.structs.astuple, rows), strict=True)) or [()] * len(schema.names)
    return pyarrow.table(dict(zip(schema.names, map(list, values), strict=True)), schema=schema)


def frame(table: str, rows: Sequence[msgspec.Struct]) -> pandas.DataFrame:
    """Return rows of one of the tables as a frame, as if read back from its file."""
    return arrow_table(rows, arrow_schema(TABLES[table][0])).to_pandas()
