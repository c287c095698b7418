"""`ctxsim losses`: what each policy of a finished run lost, taken apart."""

from __future__ import annotations

from pathlib import Path

import click

from ctxsim.cli import rows
from ctxsim.cli.options import run_folder
from ctxsim.results import read_run

BY = ("age", "depth", "kind", "tool", "form")


@click.command("losses")
@run_folder
@click.option("--by", type=click.Choice(BY), multiple=True, help="Only this breakdown; may be repeated.")
@rows.form
def command(run: Path, by: tuple[str, ...], form: str) -> None:
    """Show what the policies of RUN (a folder that bench wrote) lost: by age, depth, kind, tool and form of loss."""
    from ctxsim.report.losses import basis, breakdown, pooled
    from ctxsim.report.sheet import sheet
    from ctxsim.report.tables import needle_sheets

    found = read_run(run)
    sheets = [] if by else needle_sheets(found)
    something = len(pooled(found, "needs", "detector")) > 0
    for one in (by or BY) if something else ():
        title = "Lost identifiers by form of loss" if one == "form" else f"Kept identifiers by {one}"
        lines = breakdown(found, one)
        values = [tuple(line.values()) for line in lines]
        sheets.append(sheet(one, f"{title} (pooled over all calls)", list(lines[0]), values))
    rows.show("losses", sheets, form, basis=basis(found))
    if form == "table":
        for line in (f"{'' if something else 'nothing to lose: '}{basis(found)}", *found.caveats):
            click.echo(line)
