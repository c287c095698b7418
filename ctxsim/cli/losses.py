"""`ctxsim losses`: what each policy of a finished run lost, taken apart."""

from __future__ import annotations

from pathlib import Path

import click

from ctxsim.cli.options import run_folder
from ctxsim.cli.output import console
from ctxsim.results import read_run

BY = ("age", "depth", "kind", "tool", "form")


@click.command("losses")
@run_folder
@click.option("--by", type=click.Choice(BY), multiple=True, help="Only this breakdown; may be repeated.")
def command(run: Path, by: tuple[str, ...]) -> None:
    """Show what the policies of RUN (a folder that bench wrote) lost: by age, depth, kind, tool and form of loss."""
    from rich.text import Text

    from ctxsim.report.losses import basis, breakdown, pooled
    from ctxsim.report.tables import print_needles, print_survival, rich_table

    found = read_run(run)
    out = console()
    if not by:
        print_survival(found, out.print)
        print_needles(found, out.print)
    if not len(pooled(found, "needs", "detector")):
        out.print(Text(f" nothing to lose: {basis(found)}", style="dim"))
        return
    for one in by or BY:
        title = "Lost identifiers by form of loss" if one == "form" else f"Kept identifiers by {one}"
        out.print(Text(f"\n{title} (pooled over all calls)", style="bold"))
        rows = breakdown(found, one)
        out.print(rich_table(rows, bad=[False] * len(rows)))
    out.print(Text(f" {basis(found)}", style="dim"))
