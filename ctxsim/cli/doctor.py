"""`ctxsim doctor`: which known defects does a policy have?"""

from __future__ import annotations

import sys

import click

from ctxsim.cli.output import console, tell, tell_old_names


@click.command("doctor")
@click.option("--policy", "label", required=True, help="The policy: a label, a chain a+b, or path.py:Class.")
@click.option("--defect", "names", multiple=True, metavar="NAME", help="Only this one; may be given several times.")
def command(label: str, names: tuple[str, ...]) -> None:
    """Run a policy through every known defect of compaction, and say which it has. Exit status 1 if it has any.

    Each is a scenario that comes with ctxsim: `ctxsim replay defects/NAME --policy LABEL` shows it call by
    call. The limits are for the scenario's window: give a policy a budget that fits it.
    """
    from rich.table import Table
    from rich.text import Text

    from ctxsim.policies import open_policy
    from ctxsim.studies.doctor import examine_all

    spec = open_policy(label)
    tell_old_names([label])
    found = list(examine_all(spec, list(names)))
    table = Table(box=None, header_style="bold")
    for heading in ("defect", "has it", "seen", "at most", "expected of a policy without it"):
        table.add_column(heading, justify="right" if heading in ("seen", "at most") else "left")
    for one in found:
        seen = "-" if one.broken else f"{one.value:g}"
        cells = (one.defect.name, "yes" if one.has_it else "", seen, f"{one.defect.expectation.at_most:g}")
        table.add_row(*cells, one.defect.expectation.that, style="bold red" if one.has_it else "")
    out = console()
    out.print(table)
    for one in found:
        if one.broken:
            tell(f"defects/{one.defect.name}: {one.broken}")
    sick = [one for one in found if one.has_it]
    out.print(Text(f" {spec.short}: {len(sick)} of {len(found)} known defects"))
    if sick:
        shown = f" One of them: ctxsim replay defects/{sick[0].defect.name} --policy '{spec.short}'"
        out.print(Text(shown), soft_wrap=True)
        sys.exit(1)
