"""`ctxsim doctor`: which known defects does a policy have?"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ctxsim.cli.output import console, tell, tell_old_names

if TYPE_CHECKING:
    from ctxsim.studies.doctor import Diagnosis


@click.command("doctor")
@click.option("--policy", "policies", multiple=True, metavar="LABEL", help="A label, a chain a+b, or path.py:Class.")
@click.option("--policies", "presets", default="", metavar="PRESETS", help="Whole families, as in agents,frameworks.")
@click.option("--defect", "names", multiple=True, metavar="NAME", help="Only this one; may be given several times.")
@click.option("--format", "form", type=click.Choice(["table", "md"]), default="table", help="Print it as this.")
def command(policies: tuple[str, ...], presets: str, names: tuple[str, ...], form: str) -> None:
    """Run policies through every known defect of compaction, and say which they have. Exit status 1 if any has one.

    Each is a scenario that comes with ctxsim: `ctxsim replay defects/NAME --policy LABEL` shows it call by call. The
    limits are for the scenario's window: give a policy a budget that fits it. Several policies make a matrix.
    """
    from ctxsim.bench.presets import preset_policies
    from ctxsim.policies import open_policies
    from ctxsim.studies.doctor import examine_all

    tell_old_names(policies)
    chosen = open_policies((*policies, *(preset_policies(presets) if presets else ())))
    if not chosen:
        raise click.UsageError("give a --policy LABEL, or --policies agents")
    short = {spec.label: spec.short for spec in chosen}
    found: dict[str, list[Diagnosis]] = {}
    for one in examine_all(chosen, names):
        found.setdefault(short[one.policy], []).append(one)
    if form == "md":
        _print_matrix(found, "| {} |", " | ")
    elif len(found) > 1:
        _print_matrix(found, " {}", " ")
    else:
        _print_one(*next(iter(found.items())))
    for one in (one for diagnoses in found.values() for one in diagnoses if one.broken):
        tell(f"defects/{one.defect.name}: {one.broken}")
    if any(one.has_it for diagnoses in found.values() for one in diagnoses):
        sys.exit(1)


def _print_one(policy: str, found: Sequence[Diagnosis]) -> None:
    """One policy, a line for each defect: what was seen, and what was expected."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold")
    for heading in ("defect", "has it", "seen", "at most", "expected of a policy without it"):
        table.add_column(heading, justify="right" if heading in ("seen", "at most") else "left")
    for one in found:
        seen = "-" if one.broken else f"{one.value:g}"
        cells = (one.defect.name, "yes" if one.has_it else "", seen, f"{one.defect.expectation.at_most:g}")
        table.add_row(*cells, one.defect.expectation.that, style="bold red" if one.has_it else "")
    out = console()
    out.print(table)
    sick = [one for one in found if one.has_it]
    out.print(Text(f" {policy}: {len(sick)} of {len(found)} known defects"))
    if sick:
        out.print(
            Text(f" One of them: ctxsim replay defects/{sick[0].defect.name} --policy '{policy}'"), soft_wrap=True
        )


def _print_matrix(found: dict[str, list[Diagnosis]], line: str, between: str) -> None:
    """Policies x defects: the defects are numbered, a number stands where a policy has one."""
    diagnosed = next(iter(found.values()))
    for number, one in enumerate(diagnosed, 1):
        click.echo(f"{number}. {one.defect.name}: {one.defect.expectation.that.lower()}")
    click.echo()
    width = max(map(len, found))
    numbers = [str(number) for number in range(1, len(diagnosed) + 1)]
    rows = [["policy".ljust(width), " has", *(number.rjust(2) for number in numbers)]]
    if line.startswith("|"):
        rows.append(["---", "--:", *(["---"] * len(numbers))])
    for policy, diagnoses in found.items():
        marks = [number.rjust(2) if one.has_it else " ·" for number, one in zip(numbers, diagnoses, strict=True)]
        rows.append([policy.ljust(width), f"{sum(one.has_it for one in diagnoses):>4}", *marks])
    for row in rows:
        click.echo(line.format(between.join(row)))
