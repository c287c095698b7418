"""`ctxsim sweep`: replay a grid of a policy's parameters, and say which setting to take."""

import hashlib
from collections.abc import Sequence
from typing import Any

import click

from ctxsim.api.runs import settings_of, sweep
from ctxsim.cli import completion, options
from ctxsim.cli.output import tell_of_labels
from ctxsim.cli.running import run_all, split
from ctxsim.errors import CtxsimError
from ctxsim.report.tables import sweep_sheet


@click.command("sweep")
@options.paths
@click.option(
    "--policy", "grids", multiple=True, required=True, metavar="GRID", shell_complete=completion.policies,
    help="Try every setting of this grid, for example token-budget:retain=100..4000@8. May be repeated.",
)  # fmt: skip
@options.goal
@options.form
@options.columns
@options.given(*options.RUN_OPTIONS)
def command(paths: tuple[str, ...], grids: tuple[str, ...], scenarios: tuple[str, ...], **said: Any) -> None:
    """Replay PATHS or scenarios through every setting of a grid.

    Says what each setting costs and loses, and what the provider refuses. In a grid, `low..high@n` stands for n values,
    and `a|b|c` for the values a, b and c. All values of one --policy are combined with each other. Several --policy
    options are tried one after the other. The bounds always run too.
    """
    recorded, made = split(paths, scenarios)
    if not (recorded or made):
        raise CtxsimError("sweep needs transcripts or --scenario NAME, as in: ctxsim sweep logs --policy GRID")
    tell_of_labels(grids)
    run_all("sweep", sweep, sweep_sheet, recorded, made, [_name(grids)], said | {"grids": grids})


def _name(grids: Sequence[str]) -> str:
    """The part of a sweep's folder name for its grids: the policies, and a digest of their settings."""
    names = "+".join(dict.fromkeys(part.partition(":")[0] for grid in grids for part in grid.split("+")))
    return f"{names}-{hashlib.sha256(repr(settings_of(grids)).encode()).hexdigest()[:6]}"
