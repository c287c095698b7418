"""The tables of `bench` and `sweep`, and tables on a terminal: columns that don't fit are left out or go below."""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, pairwise
from typing import Any

from ctxsim.answers.advice.advice import Advice
from ctxsim.answers.advice.pooled import Pooled, figures_of
from ctxsim.errors import many
from ctxsim.report.cells import WORTH, policy_sheet
from ctxsim.report.losses import basis
from ctxsim.report.sheet import Cell, Column, Sheet, legend, marked, sheet, text_of, text_rows
from ctxsim.report.style import wrap_label
from ctxsim.report.tradeoff import dominated, points
from ctxsim.results import Run

LEAST_NAME = 20
"""Characters that the first column keeps before another column drops out."""

GAP = 2
"""Characters between columns."""

EDGES = 1
"""Characters left of all columns."""

LEAST_TEXT = 36
"""Characters that a column of long texts needs at least. Its texts wrap if there is no more room."""

REFUSED = "Refused calls count as if they had been answered, so that all policies' totals can be compared."


def policy_rows(run: Run) -> list[dict[str, str]]:
    """Return the rows of the table that bench prints, as texts by heading."""
    found = figures_of(run)
    return text_rows(policy_sheet(run, found, found.labels))


def bench_sheet(run: Run, pooled: Pooled, advice: Advice | None, names: Sequence[str] | None = None) -> Sheet:
    """Return the table of a bench, with notes."""
    one = policy_sheet(run, pooled, pooled.labels, names, advice.take.policy if advice else None)
    return _noted(one, run, pooled)


def sweep_sheet(run: Run, pooled: Pooled, advice: Advice | None, names: Sequence[str] | None = None) -> Sheet:
    """Return the table of a sweep: the bounds, then the settings worth having, then the others, each by amount."""
    dollars = pooled.by_dollars
    worse = dominated(points(pooled, dollars))
    amount = {label: pooled.value(label, "usd" if dollars else "tokens") or 0.0 for label in pooled.labels}
    labels = sorted(pooled.labels, key=lambda label: (not pooled.all[label].bound, label in worse, amount[label]))
    one = policy_sheet(run, pooled, labels, names, advice.take.policy if advice else None)
    worth = [Cell(None, "") if pooled.all[label].bound else Cell(label not in worse, "no" if label in worse else "yes")
             for label in labels]  # fmt: skip
    rows = [(*row, mark) for row, mark in zip(one.rows, worth, strict=True)]
    return _noted(sheet("settings", one.title, [*one.columns, WORTH], rows, marks=one.marks), run, pooled)


def _noted(one: Sheet, run: Run, pooled: Pooled) -> Sheet:
    """The sheet with notes on what its figures are based on."""
    transcripts = pooled.transcripts
    title = f"{run.info.title} ({many(transcripts, 'transcript(s)')})"
    scope = "USD and tokens are totals over all transcripts"
    if pooled.by_dollars and pooled.priced < transcripts:
        scope = f"Tokens are totals over all transcripts, USD over the {pooled.priced:,} with known prices"
    scope += "; kept is a mean"
    intervals = f"; ranges: {pooled.ranges}" if pooled.ranges else ""
    if pooled.sample is not None:
        title = f"{run.info.title} ({transcripts:,} of {pooled.sample.transcripts:,} transcripts, sampled)"
        scope = "USD, tokens, kept, refused calls and shares of keep-all are estimates for this folder"
        intervals = "; ranges: 95 %, sampling error; all other columns are of the sampled transcripts"
    counted = any(pooled.all[label].refused for label in pooled.labels)
    notes = (f"{scope}{intervals}.", *[REFUSED] * counted, f"{basis(run)}.")
    return Sheet(one.name, title, one.columns, one.rows, one.marks, notes)


def print_sheet(one: Sheet, write: Callable[..., None], width: int, wide: bool = False, rest: str = "") -> None:
    """Write a table to a terminal: if `wide`, as blocks below each other, else without the columns that don't fit.

    `rest` says how to see these columns.
    """
    from rich.text import Text

    one, gone = (one, []) if wide else fitting(one, width)
    parts = blocks(one, width)
    texts = [Text(f"\n{one.title}", style="bold")] if one.title else []
    for shown in (*texts, *chain.from_iterable(rich_tables(part, width) for part in parts if one.rows)):
        # A label that is longer than the terminal stays one word, to be copied.
        write(shown, soft_wrap=isinstance(shown, Text) and any(len(word) > width for word in shown.plain.split()))
    for line in (*one.notes, legend(one.columns) if one.rows else ""):
        if line:
            write(Text(line, style="dim"))
    if gone:
        # If the command has --columns, columns are named as it takes them.
        by_name = rest.startswith("--columns")
        names = [one.name if by_name else one.heading.replace("\n", " ") for one in gone]
        write(Text(f"Left out at this width: {', '.join(names)}{rest and f' ({rest})'}.", style="dim"))


def fitting(one: Sheet, width: int) -> tuple[Sheet, list[Column]]:
    """Return the sheet with the columns that fit into a width, and the columns that don't."""
    left: list[Column] = []
    while True:
        others = sum(_widths(one)[1:]) + GAP * len(one.columns) + EDGES
        leaving = max(one.columns[1:], key=lambda column: column.rank, default=None)
        if width - others >= min(LEAST_NAME, _widths(one)[0]) or leaving is None or not leaving.rank:
            return one, left
        left.append(leaving)
        one = one.only([column.name for column in one.columns if column is not leaving])


def blocks(one: Sheet, width: int) -> list[Sheet]:
    """Return the sheet split into tables that fit into a width, each with the first column."""
    widths = _widths(one)
    first = min(widths[0], LEAST_NAME)
    parts: list[list[str]] = [[]]
    room = width - first - GAP - EDGES
    for column, needs in zip(one.columns[1:], widths[1:], strict=True):
        if parts[-1] and room < needs + GAP:
            parts.append([])
            room = width - first - GAP - EDGES
        parts[-1].append(column.name)
        room -= needs + GAP
    return [one.only(names) for names in parts]


def _widths(one: Sheet) -> list[int]:
    """The characters that each column takes; of a column of texts, the characters that it takes at least."""
    rows = [row for row, mark in marked(one) if mark != "head"]
    found = [
        max(len(line) for text in (column.heading, *(text_of(row[n]) for row in rows)) for line in text.split("\n"))
        for n, column in enumerate(one.columns)
    ]
    return [min(width, LEAST_TEXT) if n and one.columns[n].left else width for n, width in enumerate(found)]


def rich_tables(one: Sheet, width: int) -> Iterator[Any]:
    """Yield a sheet as rich objects for a width: tables, and between them the rows marked `head` as texts."""
    from rich.padding import Padding
    from rich.text import Text

    widths = _widths(one)
    heads = [n for n, mark in enumerate(one.marks) if mark == "head"]
    first, *_ = [*heads, len(one.rows)]
    yield _rich_table(one, slice(first), width, widths)
    for head, end in pairwise([*heads, len(one.rows)] if heads else ()):
        yield Text(f" {text_of(one.rows[head][0])}", style="bold")
        yield Padding(_rich_table(one, slice(head + 1, end), width, widths, bare=True), (0, 0, 0, EDGES))
    if heads:
        yield Text()


def _rich_table(one: Sheet, rows: slice, width: int, widths: Sequence[int], bare: bool = False) -> Any:
    """Some rows as a table. Long names wrap, bad rows are red, less important ones dim. `bare`: no headings."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, GAP - 1, 0, 0), show_header=not bare, show_edge=not bare)
    room = max(12, width - sum(widths[1:]) - GAP * len(widths) - EDGES)
    for n, column in enumerate(one.columns):
        # A name that can't be broken anywhere is folded, and texts wrap; figures stay whole.
        text: dict[str, Any] = {"overflow": "fold"} if widths[n] == LEAST_TEXT and column.left else {"no_wrap": True}
        how = text if n else {"max_width": room, "overflow": "fold"}
        least = min(widths[n], room) if "head" in one.marks else None
        table.add_column(Text(column.heading), justify="left" if column.left else "right", min_width=least, **how)
    styles = {"bad": "red", "dim": "dim", "chosen": "bold green"}
    for row, mark in list(marked(one))[rows]:
        texts = [text_of(cell) for cell in row]
        texts[0] = wrap_label(texts[0], room)
        table.add_row(*(Text(text) for text in texts), style=styles.get(mark, ""))
    return table
