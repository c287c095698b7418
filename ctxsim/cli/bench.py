"""`ctxsim bench`: the main job."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from ctxsim.cli import answer, options, rows
from ctxsim.cli.answer import show_run
from ctxsim.cli.loudness import stage
from ctxsim.cli.output import tell_old_names, tell_results, tell_what_was_left_out
from ctxsim.cli.running import Where, folder_of, run, runs_of
from ctxsim.cli.settings import usual_paths
from ctxsim.report.plots import plot_run
from ctxsim.report.tables import SORTS, bench_sheet
from ctxsim.runs import PRESETS


@click.command("bench")
@options.paths
@click.option("--policy", "policies", multiple=True, metavar="LABEL", help="Run these policies instead of the default.")
@click.option("--policies", "presets", metavar="LIST", help=f"Run whole families of them: {','.join(PRESETS)}.")
@click.option("--sort", type=click.Choice(list(SORTS)), default="run", help="Best first by this; run: as given.")
@answer.goal
@rows.form
@rows.wide
@answer.columns
@options.run_options
def command(
    paths: tuple[str, ...],
    policies: tuple[str, ...],
    presets: str | None,
    sort: str,
    goal: str,
    form: str,
    wide: bool,
    columns: tuple[str, ...] | None,
    out: Path | None,
    jobs: int,
    cluster: str | None,
    resume: bool,
    force: bool,
    **given: Any,
) -> None:
    """Replay transcripts (PATHS: files, folders, - for standard input) or scenarios through policies.

    Without arguments the scenarios documented-53k and fifty-turns run (all: ctxsim scenarios). Says which policy
    to take, prints one table per run, and writes run.json, calls, events, summary and pictures to results/<name>.
    """
    paths = usual_paths(paths, given["scenarios"])
    runs = runs_of(paths, policies, presets=presets, **given)
    tell_old_names(label for asked in runs for label in asked.setting.policies)
    bad = 0
    for asked in runs:
        folder = folder_of(asked, out, len(runs) == 1)
        info, made = run(asked, folder, Where(jobs, cluster, resume, force), told=form == "table")
        with stage("answer and table"):
            show_run("bench", made, bench_sheet, goal, form, wide, columns, sort=sort)
        with stage("pictures"):
            pictures = plot_run(made, goal)
        if form == "table":
            tell_results(made, pictures)
        bad += tell_what_was_left_out(info)
        if not info.complete:
            sys.exit(130)
    if bad:
        sys.exit(1)
