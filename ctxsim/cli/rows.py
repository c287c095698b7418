"""Rows as a command prints them: a table as wide as the terminal, or JSON, CSV and Markdown for programs and pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click
import msgspec

from ctxsim.cli.output import console
from ctxsim.cli.terminal import safe
from ctxsim.report.sheet import FORMS, Cell, Sheet, as_csv, as_json, as_markdown

Command = TypeVar("Command", bound=Callable[..., Any])

form = click.option("--format", "form", type=click.Choice(FORMS), default="table", help="Of the rows.")

wide = click.option("--wide", is_flag=True, help="All columns, as tables below each other.")


def escaped(one: Sheet) -> Sheet:
    """Return a sheet for people: names of others, as of tools and files, hold no control character and no line feed."""
    rows = tuple(tuple(_escaped(cell) for cell in row) for row in one.rows)
    return msgspec.structs.replace(one, title=safe(one.title), rows=rows, notes=tuple(map(safe, one.notes)))


def _escaped(cell: Any) -> Any:
    if isinstance(cell, Cell):
        return Cell(cell.value, safe(cell.text))
    return safe(cell).replace("\n", "\\n").replace("\t", "\\t") if isinstance(cell, str) else cell


def show(command: str, sheets: Sequence[Sheet], form: str, wide: bool = False, **more: Any) -> None:
    """Print tables in one of FORMS; `more` goes into the JSON beside them."""
    if form == "json":
        click.echo(as_json(command, sheets, **more), nl=False)
    elif form == "csv":
        click.echo(as_csv(sheets), nl=False)
    elif form == "md":
        click.echo("\n".join(as_markdown(escaped(one)) for one in sheets), nl=False)
    else:
        from ctxsim.report.tables import print_sheet

        out = console()
        for one in sheets:
            print_sheet(escaped(one), out.print, out.width, wide, how_to_see_all())


def how_to_see_all() -> str:
    """Return how the present command shows the columns that a terminal has no room for."""
    options = {name for parameter in click.get_current_context().command.params for name in parameter.opts}
    ways = {"--wide": "--wide shows all", "--columns": "--columns some"}
    return ", ".join(says for option, says in ways.items() if option in options) or "--format csv shows all"
