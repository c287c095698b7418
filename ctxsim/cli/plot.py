"""`ctxsim plot`: the pictures of a run, for papers and pages."""

from __future__ import annotations

from pathlib import Path

import click

from ctxsim.cli import answer, options
from ctxsim.cli.answer import tell_answer
from ctxsim.errors import CtxsimError
from ctxsim.results import read_run
from ctxsim.runs.overwrite import is_reference


@click.command("plot")
@options.run_folder
@click.option("--out", type=options.PATH, metavar="DIR", help="Instead of RUN itself.")
@click.option("--format", "form", type=click.Choice(("png", "svg", "both")), default="both", help="Of the files.")
@click.option("--policy", "policies", multiple=True, metavar="LABEL", help="Only these, and the bounds.")
@answer.goal
def command(run: Path, out: Path | None, form: str, policies: tuple[str, ...], goal: str) -> None:
    """Draw every chart of RUN (a folder that bench wrote): same colours everywhere, labels at the lines."""
    from ctxsim.report.charts import plot_all
    from ctxsim.report.picture import picture

    found = read_run(run)
    if out is None and is_reference(run):
        raise CtxsimError(f"{run} is a documented reference, which stays as it is; say where with --out")
    tell_answer(found, goal)
    for path in plot_all(picture(found, goal, policies), out or run, ("png", "svg") if form == "both" else (form,)):
        click.echo(path)
