"""`ctxsim bench`: the main job."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from ctxsim.bench import PRESETS
from ctxsim.cli import options
from ctxsim.cli.output import console, tell_old_names, tell_results, tell_what_was_left_out
from ctxsim.cli.running import Where, folder_of, run, runs_of
from ctxsim.report.plots import plot_run
from ctxsim.report.tables import SORTS, formatted, print_run


@click.command("bench")
@options.paths
@click.option("--policy", "policies", multiple=True, metavar="LABEL", help="Run these policies instead of the default.")
@click.option("--policies", "presets", metavar="LIST", help=f"Run whole families of them: {','.join(PRESETS)}.")
@click.option("--sort", type=click.Choice(list(SORTS)), default="run", help="Best first by this; run: as given.")
@click.option("--format", "form", type=click.Choice(("table", "csv", "json", "markdown")), default="table")
@options.run_options
def command(
    paths: tuple[str, ...],
    policies: tuple[str, ...],
    presets: str | None,
    sort: str,
    form: str,
    out: Path | None,
    jobs: int,
    cluster: str | None,
    resume: bool,
    **given: Any,
) -> None:
    """Replay transcripts (PATHS: files, folders, - for standard input) or scenarios through policies.

    Without arguments both scenarios run. Prints one table per run and writes run.json, calls, events, summary and
    pictures to results/<name>.
    """
    runs = runs_of(paths, policies, presets=presets, **given)
    tell_old_names(label for asked in runs for label in asked.setting.policies)
    bad = 0
    for asked in runs:
        folder = folder_of(asked, out, len(runs) == 1)
        info, made = run(asked, folder, Where(jobs, cluster, resume), quiet=form != "table")
        if form == "table":
            print_run(made, console().print, sort)
            tell_results(made, plot_run(made))
        else:
            click.echo(formatted(made, form, sort), nl=False)
            plot_run(made)
        bad += tell_what_was_left_out(info)
        if not info.complete:
            sys.exit(130)
    if bad:
        sys.exit(1)
