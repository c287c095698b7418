"""The page docs/columns.md, from what each column says of itself."""

from __future__ import annotations

import types
import typing

import msgspec

from ctxsim.results.compactions import COMPACTION_TABLES
from ctxsim.results.info import TABLES

INTRODUCTION = """# Columns

What is in the tables of a run, column by column. These names are the API. `ctxsim list columns` writes this page.

Kind says where a number comes from:

- *recorded* by the source,
- *counted* by a real tokenizer, or found by a detector,
- *estimated* by the policy's estimator,
- *modelled* by the mock provider's rules,
- *fitted* to recorded usage by a small model,
- *fact*: what happened in the replay.

A column with a `?` may be missing: not known, or never. Missing is not zero. Each table is a Parquet file;
{csv} are CSV too.
[references.md](references.md) says what needs, detectors and survival are.
"""

OF_COMPACTIONS = """
# Columns of `ctxsim compactions`

Each of these tables is written as CSV and as Parquet.
"""

HEADING = "| column | type | kind | unit | meaning |\n|---|---|---|---|---|\n"


def markdown() -> str:
    """Return the page: one table per table."""
    csv = [f"`{name}`" for name, (_, csv_too) in TABLES.items() if csv_too]
    parts = [INTRODUCTION.format(csv=f"{', '.join(csv[:-1])} and {csv[-1]}")]
    for name, (row, _) in TABLES.items():
        parts.extend(_table(name, row))
    parts.append(OF_COMPACTIONS)
    for name, row in COMPACTION_TABLES.items():
        parts.extend(_table(name, row))
    return "".join(parts)


def column_rows() -> list[tuple[str, str, str, str, str, str]]:
    """Return each column: its table, name, type, kind, unit and meaning."""
    tables = {name: row for name, (row, _) in TABLES.items()} | COMPACTION_TABLES
    return [(name, *line) for name, row in tables.items() for line in _cells(row)]


def _table(name: str, row: type[msgspec.Struct]) -> typing.Iterator[str]:
    yield f"\n## {name}\n\n{_about(row)}\n\n{HEADING}"
    yield from _lines(row)


def _about(row: type[msgspec.Struct]) -> str:
    """The first sentence of a row's docstring."""
    return (row.__doc__ or "").partition("\n")[0].partition(". ")[0].rstrip(".") + "."


def _lines(row: type[msgspec.Struct]) -> typing.Iterator[str]:
    for column, kind_of, kind, unit, meaning in _cells(row):
        yield f"| `{column}` | {kind_of} | {kind} | {unit} | {meaning} |\n"


def _cells(row: type[msgspec.Struct]) -> typing.Iterator[tuple[str, str, str, str, str]]:
    for column, annotation in typing.get_type_hints(row, include_extras=True).items():
        meta, meaning = annotation.__metadata__[:2]
        kind, unit = (meta.extra_json_schema[key] for key in ("kind", "unit"))
        yield column, _type(annotation.__origin__), kind, unit, meaning


def _type(annotation: typing.Any) -> str:
    """`int`, or `int?` where it may be missing."""
    if not isinstance(annotation, types.UnionType):
        return str(annotation.__name__)
    (known,) = (option for option in annotation.__args__ if option is not type(None))
    return f"{known.__name__}?"
