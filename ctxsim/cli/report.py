"""`ctxsim report`: the page that people look at."""

from __future__ import annotations

import os
from pathlib import Path

import click

from ctxsim.cli import answer, options
from ctxsim.cli.answer import tell_answer
from ctxsim.cli.output import tell_keys
from ctxsim.errors import CtxsimError
from ctxsim.results import read_run
from ctxsim.runs.overwrite import is_reference


@click.command("report")
@options.run_folder
@click.option("--out", type=options.PATH, metavar="FILE", help="Instead of report.html in RUN.")
@click.option("--open", "show", is_flag=True, help="Open it in the browser.")
@click.option("--transcript", "word", default="", metavar="WORD", help="Hold only those whose name contains this.")
@answer.goal
def command(run: Path, out: Path | None, show: bool, word: str, goal: str) -> None:
    """Write one self-contained HTML page of RUN (a folder that bench wrote): sortable, interactive, no network.

    Any transcript can be opened in it. Of more than about a thousand the largest are in it, or those of --transcript.
    """
    from ctxsim.report.page import write_page

    found = read_run(run)
    if out is None and is_reference(run):
        raise CtxsimError(f"{run} is a documented reference, which stays as it is; say where with --out")
    tell_keys(found.info)
    tell_answer(found, goal)
    path = write_page(found, out or run / "report.html", goal, word)
    click.echo(f"{path} ({path.stat().st_size / 1e6:.1f} MB)")
    if show:
        click.launch(os.fspath(path.resolve()))
