"""`ctxsim sweep`: a grid of a policy's parameters, and which setting to take."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ctxsim.cli import answer, options, rows
from ctxsim.cli.answer import show_run
from ctxsim.cli.loudness import stage
from ctxsim.cli.output import tell_old_names, tell_results, tell_what_was_left_out
from ctxsim.cli.running import Where, folder_of, run, runs_of
from ctxsim.cli.settings import usual_paths
from ctxsim.errors import CtxsimError
from ctxsim.report.picture import picture
from ctxsim.report.sweep_plots import sweeps
from ctxsim.report.tables import sweep_sheet
from ctxsim.report.tradeoff_plots import tradeoffs
from ctxsim.runs.grid import expand

BOUNDS = ("keep-all", "drop-all", "oracle-lossless")


@click.command("sweep")
@options.paths
@click.option(
    "--policy", "grids", multiple=True, required=True, metavar="GRID", help="token-budget:retain=100..4000@8,budget=..."
)
@answer.goal
@rows.form
@rows.wide
@answer.columns
@options.run_options
def command(
    paths: tuple[str, ...],
    grids: tuple[str, ...],
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
    """Replay PATHS or scenarios through every setting of a grid: what each costs, loses and has refused.

    `low..high@n` are n values, `a|b|c` these; several --policy and several ranges multiply. The bounds always run too.
    """
    paths = usual_paths(paths, given["scenarios"])
    if not (paths or given["scenarios"]):
        raise CtxsimError("sweep needs transcripts or --scenario NAME, as in: ctxsim sweep logs --policy GRID")
    tell_old_names(grids)
    labels = [label for grid in grids for label in expand(grid)]
    runs = runs_of(paths, [*BOUNDS, *labels], said=[_name(grids, labels)], **given)
    bad = 0
    for asked in runs:
        folder = folder_of(asked, out, len(runs) == 1, "-sweep")
        info, made = run(asked, folder, Where(jobs, cluster, resume, force), told=form == "table")
        with stage("answer and table"):
            show_run("sweep", made, sweep_sheet, goal, form, wide, columns)
        with stage("pictures"):
            one = picture(made, goal)
            pictures = [*sweeps(one, made.folder), *tradeoffs(one, made.folder)]
        if form == "table":
            tell_results(made, pictures)
        bad += tell_what_was_left_out(info)
        if not info.complete:
            sys.exit(130)
    if bad:
        sys.exit(1)


def _name(grids: Sequence[str], labels: Sequence[str]) -> str:
    """What the folder of a sweep is called by: the policies, and a digest of their settings."""
    names = "+".join(dict.fromkeys(part.partition(":")[0] for grid in grids for part in grid.split("+")))
    return f"{names}-{hashlib.sha256(repr(labels).encode()).hexdigest()[:6]}"
