"""Which known defects policies or driven agents have, as `check --doctor` and `drive --doctor` print them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ctxsim.cli.output import tell
from ctxsim.cli.show import show
from ctxsim.report.sheet import Cell, Column, Sheet, sheet, sheet_of
from ctxsim.results.run_info import OBSERVED

if TYPE_CHECKING:
    from ctxsim.api.defects import Diagnoses
    from ctxsim.runs.doctor import Diagnosis


def defects_of(scenarios: Sequence[str]) -> list[str]:
    """Return the names of scenarios without `defects/`, which are the names of their defects."""
    return [name.removeprefix("defects/") for name in scenarios]


def show_diagnoses(command: str, done: Diagnoses, form: str, short: Mapping[str, str]) -> None:
    """Print which defects policies or agents have. Exit with status 1 if any. `short`: labels to their short forms."""
    found = {short.get(label, label): several for label, several in done.by_policy().items()}
    if found:
        shown = _matrix(found) if len(found) > 1 else _of_one(*next(iter(found.items())))
        show(command, [shown], form, wide=True)
    for line in done.untold:
        tell(line)
    for one in done.found:
        if one.broken:
            tell(f"defects/{one.defect.name}: {one.broken}")
    if not done.ok:
        sys.exit(1)


COLUMNS = (
    Column("defect", "defect", left=True, of=lambda one: one.defect.name),
    Column("has_it", "has it", left=True,
           of=lambda one: Cell(one.has_it, "fails" if one.broken else "yes" if one.has_it else "")),
    Column("seen", "seen", form="{:g}", of=lambda one: None if one.broken else one.value),
    Column("at_most", "at most", form="{:g}", of=lambda one: one.defect.expectation.at_most),
    Column("expected", "expected of a policy without it", left=True, of=lambda one: one.defect.expectation.that),
)  # fmt: skip
"""The columns of the table of one policy."""


def _of_one(policy: str, found: Sequence[Diagnosis]) -> Sheet:
    """The table of one policy: a row for each defect, with what was seen and what is expected."""
    sick = [one for one in found if one.has_it]
    broken = sum(bool(one.broken) for one in found)
    failed = f"; it fails on {broken} of their conversations" if broken else ""
    notes = [f"{policy}: {len(sick)} of {len(found)} known defects{failed}"]
    if sick and not policy.startswith(OBSERVED):
        notes.append(f"One of them: ctxsim replay defects/{sick[0].defect.name} --policy '{policy}'")
    marks = ["bad" if one.has_it or one.broken else "" for one in found]
    return sheet_of("defects", "", COLUMNS, found, marks=marks, notes=notes)


def _matrix(found: Mapping[str, Sequence[Diagnosis]]) -> Sheet:
    """A row for each policy with the defects that it has: by number for people, by name for programs."""
    diagnosed = {one.defect.name: one.defect.expectation.that for several in found.values() for one in several}
    order = {name: str(n) for n, name in enumerate(diagnosed, 1)}
    lines = []
    for policy, several in found.items():
        has = [one.defect.name for one in several if one.has_it]
        lines.append((policy, len(has), Cell(" ".join(has), " ".join(order[name] for name in has))))
    notes = [f"{order[name]}. {name}: {that}" for name, that in diagnosed.items()]
    return sheet("matrix", "", ("policy", "has", Column("defects", "which", left=True)), lines, notes=notes)
