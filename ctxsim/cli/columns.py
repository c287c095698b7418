"""`ctxsim columns`: what each column of the result files is."""

from __future__ import annotations

import click

from ctxsim.results.catalogue import markdown


@click.command("columns")
def command() -> None:
    """Print what each column of the result files is: the page docs/columns.md."""
    click.echo(markdown(), nl=False)
