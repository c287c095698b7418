"""`ctxsim sweep`: a grid of a policy's parameters, and which setting to take."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from ctxsim.cli.bench import Where, console, replayed, run_options, say_what_was_left_out, say_where, settings_of
from ctxsim.errors import CtxsimError
from ctxsim.report.tables import print_sweep
from ctxsim.report.tradeoff_plots import plot_sweep
from ctxsim.sweep import expand

BOUNDS = ("keep-all", "drop-all", "oracle-lossless")


@click.command("sweep")
@click.argument("paths", nargs=-1)
@click.option(
    "--policy", "grids", multiple=True, required=True, metavar="GRID", help="token-budget:retain=100..4000@8,budget=..."
)
@run_options
def command(
    paths: tuple[str, ...],
    grids: tuple[str, ...],
    out: Path | None,
    jobs: int,
    cluster: str | None,
    resume: bool,
    **options: Any,
) -> None:
    """Replay PATHS or scenarios through every setting of a grid: what each costs, loses and has refused.

    `low..high@n` are n values, `a|b|c` these; several --policy and several ranges multiply. The bounds always run too.
    """
    labels = [*BOUNDS, *(label for grid in grids for label in expand(grid))]
    runs = settings_of(paths, labels, **options) if paths or options["scenarios"] else []
    if not runs:
        raise CtxsimError("sweep needs transcripts or --scenario NAME, as in: ctxsim sweep logs --policy GRID")
    bad = 0
    for setting, chosen in runs:
        folder = out if out and len(runs) == 1 else (out or Path("results")) / f"{setting.name}-sweep"
        info, run = replayed(setting, chosen, paths, folder, Where(jobs, cluster, resume))
        print_sweep(run, console().print)
        say_where(run, plot_sweep(run))
        bad += say_what_was_left_out(info)
    if bad:
        sys.exit(1)
