"""Printing of tables: at the terminal's width, or as JSON, CSV or Markdown. A run's verdict comes before its table."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import click
import msgspec

from ctxsim.answers.advice.baseline import advise
from ctxsim.answers.advice.pooled import figures_of
from ctxsim.answers.advice.verdict import as_values, verdict
from ctxsim.cli.output import console
from ctxsim.cli.terminal import safe
from ctxsim.report.planted import needle_sheets
from ctxsim.report.sheet import Cell, Sheet, as_csv, as_json, as_markdown
from ctxsim.report.tables import print_sheet
from ctxsim.results import Run


def escaped(one: Sheet) -> Sheet:
    """Return a sheet for people, in which texts from recordings, such as names of tools and files, are escaped."""
    rows = tuple(tuple(_escaped(cell) for cell in row) for row in one.rows)
    return msgspec.structs.replace(one, title=safe(one.title), rows=rows, notes=tuple(map(safe, one.notes)))


def _escaped(cell: Any) -> Any:
    if isinstance(cell, Cell):
        return Cell(cell.value, safe(cell.text))
    return safe(cell).replace("\n", "\\n").replace("\t", "\\t") if isinstance(cell, str) else cell


def show(command: str, sheets: Sequence[Sheet], form: str, wide: bool = False, **more: Any) -> None:
    """Print tables in one of FORMS. `more` are further fields of the JSON."""
    if form == "json":
        click.echo(as_json(command, sheets, **more), nl=False)
    elif form == "csv":
        click.echo(as_csv(sheets), nl=False)
    elif form == "md":
        click.echo("\n".join(as_markdown(escaped(one)) for one in sheets), nl=False)
    else:
        _print(sheets, wide)


def _print(sheets: Sequence[Sheet], wide: bool) -> None:
    out = console()
    options = {name for parameter in click.get_current_context().command.params for name in parameter.opts}
    rest = "--format csv shows all" if "--format" in options else ""
    rest = "--columns all shows all" if "--columns" in options else rest
    for one in sheets:
        print_sheet(escaped(one), out.print, out.width, wide, rest)


def tell_lines(lines: Iterable[str], caveats: Sequence[str] = ()) -> None:
    """Print the lines of an answer, the first in bold, and what weakens the answer in yellow."""
    from rich.text import Text

    out = console()
    for n, line in enumerate(lines):
        weak = line.startswith("Weak") or line in caveats
        out.print(Text(line, style="bold" if not n else "yellow" if weak else ""))


def tell_answer(run: Run, goal: str) -> None:
    """Print the verdict of a run."""
    advice = advise(run, goal)
    tell_lines(verdict(advice, run.info.shown), advice.caveats if advice else ())


def show_run(
    command: str, run: Run, table: Callable[..., Sheet], goal: str, form: str = "table",
    columns: tuple[str, ...] | None = None,
) -> None:  # fmt: skip
    """Print a run's verdict and the sheet that `table` returns. JSON and CSV have all columns; CSV has no verdict."""
    advice = advise(run, goal)
    names = columns or (("*",) if form in ("json", "csv") else None)
    sheets = [table(run, figures_of(run), advice, names=names)]
    if form != "csv":
        sheets += needle_sheets(run)
    if form == "table":
        click.echo()
        tell_answer(run, goal)
        _print(sheets, columns is not None)
        return
    if form == "md":
        click.echo("".join(f"> {line}  \n" for line in verdict(advice, run.info.shown)))
    said: dict[str, Any] = {}
    if form == "json":
        said = {"run": run.info.name, "goal": goal, "verdict": as_values(advice, run.info.shown)}
    show(command, sheets, form, **said)
