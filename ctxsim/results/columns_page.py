"""The page that `ctxsim list columns --format md` prints, made from the columns' metadata."""

import types
import typing
from pathlib import Path

import msgspec

from ctxsim.results.compactions import COMPACTION_TABLES
from ctxsim.results.run_info import TABLES

IN_EVERY_TABLE = ("transcript", "policy")
"""Columns that the page's introduction explains once."""


NAMED_UNITS = {"tokens": "tokens_", "USD": "_usd_", "references": "refs_", "seconds": "_s_"}
"""By unit, the part of a column's name that states it."""


def markdown() -> str:
    """Return the page: a list of columns for each table of a run."""
    csv = [f"`{name}`" for name, (_, csv_too) in TABLES.items() if csv_too]
    introduction = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")
    known: set[tuple[str, ...]] = set()
    tables = [_table(name, row, known) for name, (row, _) in TABLES.items()]
    return introduction.format(csv=f"{', '.join(csv[:-1])} and {csv[-1]}") + "".join(tables)


def column_rows() -> list[tuple[str, str, str, str, str, str]]:
    """Return each column: its table, name, type, kind, unit and meaning."""
    tables = {name: row for name, (row, _) in TABLES.items()} | COMPACTION_TABLES
    return [(name, *line) for name, row in tables.items() for line in _cells(row)]


def _table(name: str, row: type[msgspec.Struct], known: set[tuple[str, ...]]) -> str:
    # The first sentence of a row's docstring.
    about = (row.__doc__ or "").partition("\n")[0].partition(". ")[0].rstrip(".")
    told = [cells for cells in _cells(row) if cells[0] not in IN_EVERY_TABLE]
    lines = [
        f"- `{column}`{'?' * of_type.endswith('?')}{_number(column, kind, unit)}: {meaning}\n"
        for column, of_type, kind, unit, meaning in told
        if (column, of_type, kind, unit, meaning) not in known
    ]
    if again := [f"`{cells[0]}`" for cells in told if cells in known]:
        lines.append(f"- as in a table above: {', '.join(again)}\n")
    known.update(told)
    return f"\n## {name}\n\n{about}.\n\n{''.join(lines)}"


def _number(column: str, kind: str, unit: str) -> str:
    """Return kind and unit, as ` (modelled calls)`, without `fact`, `count`, and a unit that the name states."""
    shown = "" if unit == "count" or NAMED_UNITS.get(unit, " ") in f"{column}_" else unit
    said = " ".join(("" if kind == "fact" else kind, shown)).strip()
    return f" ({said})" if said else ""


def _cells(row: type[msgspec.Struct]) -> typing.Iterator[tuple[str, str, str, str, str]]:
    for column, annotation in typing.get_type_hints(row, include_extras=True).items():
        meta, meaning = annotation.__metadata__[:2]
        kind, unit = (meta.extra_json_schema[key] for key in ("kind", "unit"))
        yield column, _type(annotation.__origin__), kind, unit, meaning


def _type(annotation: typing.Any) -> str:
    """Return a type's name: `int`, or `int?` if a value may be missing."""
    if not isinstance(annotation, types.UnionType):
        return str(annotation.__name__)
    (known,) = (option for option in annotation.__args__ if option is not type(None))
    return f"{known.__name__}?"
