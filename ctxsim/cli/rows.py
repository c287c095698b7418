"""Rows as a command prints them: a table as wide as the terminal, or JSON, CSV and Markdown for programs and pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from ctxsim.cli.output import console
from ctxsim.report.sheet import FORMS, Sheet, as_csv, as_json, as_markdown

Command = TypeVar("Command", bound=Callable[..., Any])

form = click.option("--format", "form", type=click.Choice(FORMS), default="table", help="Of the rows.")

wide = click.option("--wide", is_flag=True, help="All columns, as tables below each other.")


def show(command: str, sheets: Sequence[Sheet], form: str, wide: bool = False, **more: Any) -> None:
    """Print tables in one of FORMS; `more` goes into the JSON beside them."""
    if form == "json":
        click.echo(as_json(command, sheets, **more), nl=False)
    elif form == "csv":
        click.echo(as_csv(sheets), nl=False)
    elif form == "md":
        click.echo("\n".join(as_markdown(one) for one in sheets), nl=False)
    else:
        from ctxsim.report.tables import print_sheet

        out = console()
        for one in sheets:
            print_sheet(one, out.print, out.width, wide)
