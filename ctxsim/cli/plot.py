"""`ctxsim plot`: the pictures of a run, for papers and pages."""

from __future__ import annotations

from pathlib import Path

import click

from ctxsim.cli import options
from ctxsim.results import read_run


@click.command("plot")
@options.run_folder
@click.option("--out", type=options.PATH, metavar="DIR", help="Instead of RUN itself.")
@click.option("--format", "form", type=click.Choice(("png", "svg", "both")), default="both", help="Of the files.")
def command(run: Path, out: Path | None, form: str) -> None:
    """Draw every chart of RUN (a folder that bench wrote): same colours everywhere, labels at the lines."""
    from ctxsim.report.charts import plot_all

    for path in plot_all(read_run(run), out or run, ("png", "svg") if form == "both" else (form,)):
        click.echo(path)
