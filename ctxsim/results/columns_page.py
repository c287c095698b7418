"""The page that `ctxsim list columns --format md` prints, made from the columns' metadata."""

from pathlib import Path

import msgspec

from ctxsim.results.columns import described
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
    return [(name, *line) for name, row in tables.items() for line in described(row)]


def _table(name: str, row: type[msgspec.Struct], known: set[tuple[str, ...]]) -> str:
    # The first sentence of a row's docstring.
    about = (row.__doc__ or "").partition("\n")[0].partition(". ")[0].rstrip(".")
    told = [cells for cells in described(row) if cells[0] not in IN_EVERY_TABLE]
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
