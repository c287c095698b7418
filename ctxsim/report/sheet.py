"""A table as values with their texts, and its forms as JSON, CSV, Markdown and LaTeX."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, get_args

import msgspec

from ctxsim.plugins.labels import BOUND
from ctxsim.results.csv_text import harmless

Form = Literal["table", "json", "csv", "md"]

FORMS: tuple[str, ...] = get_args(Form)

SCHEMA = 1
"""The version of the JSON that every command prints, which docs/output.md describes."""


class Cell(NamedTuple):
    """A value for programs and its text for people. An unknown value is None, and its text a dash."""

    value: Any
    text: str


Written = str | Callable[[Any], str]
"""How a value is written: a format string or a function."""


def cell(value: Any, form: Written = "{:,}") -> Cell:
    """Return a cell of a value and its text in this form; the text of None is a dash."""
    return Cell(value, "-" if value is None else form(value) if callable(form) else form.format(value))


class Column(msgspec.Struct, frozen=True):
    """A column: its name in files and options, its heading, its meaning. If a terminal is too narrow, columns with the
    largest `rank` are left out first; those with 0 never are.

    In a table of objects, `of` is the field, or a function of the object, that gives the cell: by default the field
    `name`. `form` is the form of values, and `kind` the kind of number.
    """

    name: str
    heading: str
    about: str = ""
    left: bool = False
    rank: int = 0
    form: Written = ""
    of: str | Callable[[Any], Any] = ""
    kind: str = ""

    def cell(self, one: Any) -> Any:
        """Return the column's cell for an object."""
        value = self.of(one) if callable(self.of) else getattr(one, self.of or self.name)
        return cell(value, self.form) if self.form else value


class Sheet(msgspec.Struct, frozen=True):
    """One table. `rows` hold a Cell or a plain value for each column; `marks` say how a row looks: chosen, bad or dim.
    A row marked `head` has only one text, the name of the rows below it.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]
    marks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def only(self, names: Sequence[str]) -> Sheet:
        """Return the sheet with these columns in this order; its first column always stays."""
        numbers = {column.name: number for number, column in enumerate(self.columns)}
        wanted = list(dict.fromkeys([0, *(numbers[name] for name in names if name in numbers)]))
        rows = tuple(tuple(row[number] for number in wanted) for row in self.rows)
        return msgspec.structs.replace(self, columns=tuple(self.columns[number] for number in wanted), rows=rows)


def sheet(name: str, title: str, columns: Sequence[str | Column], rows: Sequence[Sequence[Any]], **more: Any) -> Sheet:
    """Return a sheet. A string as a column is its name and heading; if it is the first, it is left-aligned."""
    made = [Column(one, one, left=not n) if isinstance(one, str) else one for n, one in enumerate(columns)]
    return Sheet(name, title, tuple(made), tuple(tuple(row) for row in rows), **more)


def sheet_of(name: str, title: str, columns: Sequence[Column], objects: Iterable[Any], **more: Any) -> Sheet:
    """Return a sheet with a row for each object, made by its columns."""
    return sheet(name, title, columns, [[column.cell(one) for column in columns] for one in objects], **more)


def legend(columns: Sequence[Column]) -> str:
    """Return the meanings of columns by heading, without the first column and columns that have none."""
    return "; ".join(f"{column.heading}: {column.about}" for column in columns[1:] if column.about)


def text_of(one: Any) -> str:
    """Return a cell as text for people."""
    if isinstance(one, Cell):
        return one.text
    if one is None:
        return "-"
    if isinstance(one, bool):
        return "yes" if one else "no"
    if isinstance(one, float):
        return f"{one:,.4g}"
    return f"{one:,}" if isinstance(one, int) else str(one)


def value_of(one: Any) -> Any:
    """Return a cell's value for programs."""
    return one.value if isinstance(one, Cell) else one


def marked(one: Sheet) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Return a sheet's rows, each with its mark."""
    return zip(one.rows, one.marks or [""] * len(one.rows), strict=True)


def text_rows(one: Sheet) -> list[dict[str, str]]:
    """Return a sheet's rows as texts by heading."""
    headings = [column.heading for column in one.columns]
    return [dict(zip(headings, map(text_of, row), strict=True)) for row in one.rows]


def value_rows(one: Sheet) -> list[dict[str, Any]]:
    """Return a sheet's rows as values by the columns' names; a value that is a dict becomes several columns."""
    found = []
    for row in one.rows:
        values: dict[str, Any] = {}
        for column, cell in zip(one.columns, row, strict=True):
            value = value_of(cell)
            if isinstance(value, dict):
                values |= {f"{column.name}{part and '_'}{part}": inner for part, inner in value.items()}
            else:
                values[column.name] = value
        found.append(values)
    return found


def as_json(command: str, sheets: Sequence[Sheet], **more: Any) -> str:
    """Return the JSON of any command: schema, command name, the fields in `more`, and tables."""
    tables = [
        {
            "name": one.name,
            "title": one.title,
            "columns": {column.name: column.about for column in one.columns},
            "rows": value_rows(one),
            "notes": list(one.notes),
        }
        for one in sheets
    ]
    return json.dumps({"schema": SCHEMA, "command": command, **more, "tables": tables}, indent=2, default=str) + "\n"


def as_csv(sheets: Sequence[Sheet]) -> str:
    """Return the tables as CSV, with an empty line between two of them and without formulas."""
    found = []
    for one in sheets:
        out = io.StringIO()
        rows = value_rows(one)
        names = list(dict.fromkeys(name for row in rows for name in row)) or [column.name for column in one.columns]
        writer = csv.DictWriter(out, names, lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({name: harmless(it) if isinstance(it, str) else it for name, it in row.items()})
        found.append(out.getvalue())
    return "\n".join(found)


def as_markdown(one: Sheet) -> str:
    """Return a table as Markdown, with whole labels."""
    lines = [
        "| " + " | ".join(column.heading for column in one.columns) + " |",
        "|" + "|".join("---" if column.left else "--:" for column in one.columns) + "|",
    ]
    for row, mark in marked(one):
        texts = [text_of(cell).replace("\n", " ") for cell in row]
        if one.columns[0].name == "policy" or mark == "head":
            label = texts[0].removesuffix(BOUND)
            texts[0] = in_backticks(label) + (BOUND if label != texts[0] else "")
        lines.append("| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |")
    return "\n".join(lines) + "\n"


_LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}  # fmt: skip


def as_latex(one: Sheet) -> str:
    """Return a table as a LaTeX `table` with its title as the caption; notes follow the rows, a paragraph each."""
    rows = [" & ".join(_escaped(column.heading) for column in one.columns) + r" \\ \hline"]
    for row, mark in marked(one):
        texts = [_escaped(text_of(cell)) for cell in row]
        across = f"\\multicolumn{{{len(texts)}}}{{l}}{{{texts[0]}}}"
        rows.append((across if mark == "head" else " & ".join(texts)) + r" \\")
    columns = "".join("l" if column.left else "r" for column in one.columns)
    head = [r"\begin{table}", r"\centering", f"\\caption{{{_escaped(one.title)}}}", f"\\begin{{tabular}}{{{columns}}}"]
    notes = [f"\n\\noindent{{\\footnotesize {_escaped(note)}}}" for note in one.notes]
    return "\n".join([*head, r"\hline", *rows, r"\hline", r"\end{tabular}", *notes, r"\end{table}"]) + "\n"


def _escaped(text: str) -> str:
    # LaTeX makes a dash of two hyphens. A line break has no effect in a cell.
    text = re.sub(r"[\\~^<>|&%$#_{}]", lambda found: _LATEX[found[0]], " ".join(text.split()))
    return text.replace("--", "-{}-")


def in_backticks(text: str) -> str:
    """Return a text as Markdown code. The fence is longer than any run of backticks, and line ends become spaces."""
    text = " ".join(text.split("\n"))
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{space}{text}{space}{fence}"
