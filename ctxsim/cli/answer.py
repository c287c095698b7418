"""A run's answer as commands print it: the verdict first, then one table; the options that choose goal and columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from ctxsim.answers.advice.advice import GOALS, advise
from ctxsim.answers.advice.pooled import figures_of
from ctxsim.cli.output import console
from ctxsim.cli.rows import escaped, how_to_see_all
from ctxsim.report.sheet import Sheet
from ctxsim.results import Run

Command = TypeVar("Command", bound=Callable[..., Any])

goal = click.option("--goal", type=click.Choice(GOALS), default="dollars", help="What the advice wants little of.")


def _chosen(context: click.Context, option: click.Parameter, given: str | None) -> tuple[str, ...] | None:
    """The columns that are named. One that isn't there is told before anything runs."""
    if not given:
        return None
    from ctxsim.report.cells import chosen_columns

    return chosen_columns(given)


columns = click.option(
    "--columns", metavar="A,B", callback=_chosen, help="These columns. See the list in: ctxsim columns"
)


def names_of(columns: tuple[str, ...] | None, wide: bool, form: str) -> tuple[str, ...] | None:
    """Return which columns are asked for: None for the usual ones, `*` for all. Programs get all unless told."""
    if columns is not None:
        return columns
    return ("*",) if wide or form in ("json", "csv") else None


def tell_answer(run: Run, goal: str) -> None:
    """Print the verdict of a run."""
    from ctxsim.report.tables import print_verdict

    print_verdict(run, advise(run, goal), console().print)


def show_run(
    command: str,
    run: Run,
    table: Callable[..., Sheet],
    goal: str,
    form: str = "table",
    wide: bool = False,
    columns: tuple[str, ...] | None = None,
    **more: Any,
) -> None:
    """Print the verdict of a run, then what `table` makes of it; as CSV the table alone."""
    from ctxsim.report.tables import formatted, needle_sheets, print_sheet, print_verdict

    advice = advise(run, goal)
    sheets = [table(run, figures_of(run), advice, names=names_of(columns, wide, form), **more)]
    if form != "csv":
        sheets += needle_sheets(run)
    if form != "table":
        click.echo(formatted(command, run, sheets, form, advice, goal), nl=False)
        return
    out = console()
    out.print()
    print_verdict(run, advice, out.print)
    for one in sheets:
        print_sheet(escaped(one), out.print, out.width, wide or columns is not None, how_to_see_all())
