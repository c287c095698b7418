"""The page docs/columns.md, from what each column says of itself."""

import types
import typing
from pathlib import Path

import msgspec

from ctxsim.results.compactions import COMPACTION_TABLES
from ctxsim.results.info import TABLES

HEADING = "| column | number | meaning |\n|---|---|---|\n"

IN_EVERY_TABLE = ("transcript", "policy")
"""Columns that the introduction tells once."""


def markdown() -> str:
    """Return the page: a Markdown table for each table of a run."""
    csv = [f"`{name}`" for name, (_, csv_too) in TABLES.items() if csv_too]
    introduction, of_compactions = Path(__file__).with_suffix(".md").read_text(encoding="utf-8").split("---\n")
    runs = (_table(name, row) for name, (row, _) in TABLES.items())
    compactions = (_table(name, row) for name, row in COMPACTION_TABLES.items())
    introduction = introduction.format(csv=f"{', '.join(csv[:-1])} and {csv[-1]}")
    return "".join([introduction, *runs, of_compactions, *compactions])


def column_rows() -> list[tuple[str, str, str, str, str, str]]:
    """Return each column: its table, name, type, kind, unit and meaning."""
    tables = {name: row for name, (row, _) in TABLES.items()} | COMPACTION_TABLES
    return [(name, *line) for name, row in tables.items() for line in _cells(row)]


def _table(name: str, row: type[msgspec.Struct]) -> str:
    # The first sentence of a row's docstring.
    about = (row.__doc__ or "").partition("\n")[0].partition(". ")[0].rstrip(".")
    lines = [
        f"| `{column}` | {', '.join(filter(None, (kind, '' if unit == 'count' else unit, of_type)))} | {meaning} |\n"
        for column, of_type, kind, unit, meaning in _cells(row)
        if column not in IN_EVERY_TABLE
    ]
    return f"\n## {name}\n\n{about}.\n\n{HEADING}{''.join(lines)}"


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
