"""`ctxsim doctor`: which known defects does a policy have?"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from ctxsim.cli import rows
from ctxsim.cli.output import tell, tell_old_names

if TYPE_CHECKING:
    from ctxsim.answers.validation.doctor import Diagnosis
    from ctxsim.report.sheet import Sheet


@click.command("doctor")
@click.option("--policy", "policies", multiple=True, metavar="LABEL", help="A label, a chain a+b, or path.py:Class.")
@click.option("--policies", "presets", default="", metavar="LIST", help="Whole families, as in agents,frameworks.")
@click.option("--defect", "names", multiple=True, metavar="NAME", help="Only this one; may be given several times.")
@rows.form
def command(policies: tuple[str, ...], presets: str, names: tuple[str, ...], form: str) -> None:
    """Run policies through every known defect of compaction, and say which they have. Exit status 1 if any has one.

    Each is a scenario that comes with ctxsim: `ctxsim replay defects/NAME --policy LABEL` shows it call by call. The
    limits are for the scenario's window: give a policy a budget that fits it. Several policies make a matrix.
    """
    from ctxsim.answers.validation.doctor import examine_all
    from ctxsim.policies import open_policies
    from ctxsim.runs.presets import preset_policies

    tell_old_names(policies)
    chosen = open_policies((*policies, *(preset_policies(presets) if presets else ())))
    if not chosen:
        raise click.UsageError("give a --policy LABEL, or --policies agents")
    short = {spec.label: spec.short for spec in chosen}
    found: dict[str, list[Diagnosis]] = {}
    for one in examine_all(chosen, names):
        found.setdefault(short[one.policy], []).append(one)
    sheet = _matrix(found) if len(found) > 1 else _of_one(*next(iter(found.items())))
    rows.show("doctor", [sheet], form, wide=True)
    diagnoses = [one for several in found.values() for one in several]
    for one in diagnoses:
        if one.broken:
            tell(f"defects/{one.defect.name}: {one.broken}")
    if any(one.has_it for one in diagnoses):
        sys.exit(1)


def _of_one(policy: str, found: Sequence[Diagnosis]) -> Sheet:
    """One policy, a line for each defect: what was seen, and what is expected."""
    from ctxsim.report.sheet import Cell, Column, sheet

    lines = [
        (
            one.defect.name, Cell(one.has_it, "yes" if one.has_it else ""),
            Cell(None if one.broken else one.value, "-" if one.broken else f"{one.value:g}"),
            Cell(one.defect.expectation.at_most, f"{one.defect.expectation.at_most:g}"), one.defect.expectation.that,
        )
        for one in found
    ]  # fmt: skip
    sick = [one for one in found if one.has_it]
    notes = [f"{policy}: {len(sick)} of {len(found)} known defects"]
    if sick:
        notes.append(f"One of them: ctxsim replay defects/{sick[0].defect.name} --policy '{policy}'")
    columns = ("defect", Column("has_it", "has it", left=True), "seen", Column("at_most", "at most"),
               Column("expected", "expected of a policy without it", left=True))  # fmt: skip
    return sheet("defects", "", columns, lines, marks=["bad" if one.has_it else "" for one in found], notes=notes)


def _matrix(found: Mapping[str, Sequence[Diagnosis]]) -> Sheet:
    """Policies x defects: the defects are numbered, and a number stands where a policy has one."""
    from ctxsim.report.sheet import Cell, Column, sheet

    diagnosed = next(iter(found.values()))
    numbers = range(1, len(diagnosed) + 1)
    columns: list[str | Column] = ["policy", "has"]
    columns += (Column(one.defect.name, str(n)) for n, one in zip(numbers, diagnosed, strict=True))
    lines = [
        (policy, sum(one.has_it for one in several),
         *(Cell(one.has_it, str(n) if one.has_it else "·") for n, one in zip(numbers, several, strict=True)))
        for policy, several in found.items()
    ]  # fmt: skip
    notes = [
        f"{n}. {one.defect.name}: {one.defect.expectation.that}" for n, one in zip(numbers, diagnosed, strict=True)
    ]
    return sheet("matrix", "", columns, lines, notes=notes)
