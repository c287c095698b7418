"""`ctxsim config`: a project's defaults, and where they are from."""

from __future__ import annotations

import os
from typing import Any

import click

from ctxsim.cli import rows
from ctxsim.cli.settings import ABOUT, FILE, PROJECT, found
from ctxsim.report.sheet import Cell, Column, sheet


@click.command("config")
@rows.form
def command(form: str) -> None:
    """Show the project's defaults of bench and sweep: ctxsim.toml, or [tool.ctxsim] in pyproject.toml.

    The nearest such file counts, from here up to the folder that holds .git. Options go before it.
    """
    said = found()
    lines = [(name, _cell(getattr(said, name)), about) for name, about in ABOUT.items()]
    where = f"From {os.path.relpath(said.file)}" if said.file else f"No {FILE} and no [tool.ctxsim] in a {PROJECT} here"
    columns = [Column("setting", "setting", left=True), Column("value", "value", left=True),
               Column("about", "what", left=True, rank=1)]  # fmt: skip
    show = sheet("settings", where, columns, lines)
    rows.show("config", [show], form, file=said.file or None)


def _cell(value: Any) -> Cell:
    if isinstance(value, tuple):
        return Cell(list(value) or None, "\n".join(value) or "-")
    return Cell(value, "-" if value is None else str(value))
