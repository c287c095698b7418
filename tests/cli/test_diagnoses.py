"""Which defects policies have, as tables and as a status."""

from __future__ import annotations

from typing import Any

import click
import pytest

from ctxsim.api.defects import Diagnoses
from ctxsim.cli.diagnoses import _matrix, _of_one, defects_of, show_diagnoses
from ctxsim.report.sheet import Cell
from ctxsim.runs.doctor import Defect, Diagnosis
from ctxsim.synthesis.scenario import Expectation, Scenario


def defect(name: str, at_most: float = 0.0) -> Defect:
    made: Any = Scenario(name, f"About {name}", "", None, {})  # type: ignore[arg-type]
    return Defect(made, Expectation(f"No {name}", "refused-calls", at_most))


LOST, CUT = defect("task-lost"), defect("cut", 0.25)


def test_one_policy_has_a_row_for_each_defect() -> None:
    found = _of_one("mask", [
        Diagnosis(LOST, "mask", 2.0), Diagnosis(CUT, "mask", 0.25), Diagnosis(CUT, "mask", float("nan"), "it raises")
    ])  # fmt: skip
    at_most = (Cell(0.0, "0"), Cell(0.25, "0.25"))
    assert found.rows == (
        ("task-lost", Cell(True, "yes"), Cell(2.0, "2"), at_most[0], "No task-lost"),
        ("cut", Cell(False, ""), Cell(0.25, "0.25"), at_most[1], "No cut"),
        ("cut", Cell(False, "fails"), Cell(None, "-"), at_most[1], "No cut"),
    )  # fmt: skip
    assert found.name == "defects" and tuple(found.marks) == ("bad", "", "bad")
    assert tuple(found.notes) == (
        "mask: 1 of 3 known defects; it fails on 1 of their conversations",
        "One of them: ctxsim replay defects/task-lost --policy 'mask'",
    )  # fmt: skip
    assert [(one.name, one.heading, one.left) for one in found.columns] == [
        ("defect", "defect", True), ("has_it", "has it", True), ("seen", "seen", False), ("at_most", "at most", False),
        ("expected", "expected of a policy without it", True),
    ]  # fmt: skip
    assert tuple(_of_one("mask", [Diagnosis(CUT, "mask", 0.0)]).notes) == ("mask: 0 of 1 known defects",)
    driven = _of_one("observed:codex", [Diagnosis(LOST, "observed:codex", 1.0)])
    assert tuple(driven.notes) == ("observed:codex: 1 of 1 known defects",), "nobody can replay it"


def test_several_policies_have_a_row_each_and_defects_numbers() -> None:
    found = _matrix({
        "mask": [Diagnosis(LOST, "mask", 1.0), Diagnosis(CUT, "mask", 0.5)],
        "fifo": [Diagnosis(LOST, "fifo", 0.0), Diagnosis(CUT, "fifo", 0.25)],
        "pi": [Diagnosis(CUT, "pi", 0.26)],
    })  # fmt: skip
    assert found.rows == (
        ("mask", 2, Cell("task-lost cut", "1 2")), ("fifo", 0, Cell("", "")), ("pi", 1, Cell("cut", "2"))
    )  # fmt: skip
    assert (found.name, tuple(found.notes)) == ("matrix", ("1. task-lost: No task-lost", "2. cut: No cut"))
    assert [(one.name, one.heading, one.left) for one in found.columns] == [
        ("policy", "policy", True), ("has", "has", False), ("defects", "which", True)
    ]  # fmt: skip


def test_defects_may_be_named_as_scenarios() -> None:
    assert defects_of(["defects/task-lost", "cut"]) == ["task-lost", "cut"]


def shown(done: Diagnoses, short: dict[str, str]) -> int:
    with click.Context(click.Command("check")):
        try:
            show_diagnoses("check", done, "csv", short)
        except SystemExit as end:
            assert isinstance(end.code, int)
            return end.code
    return 0


def test_the_status_says_whether_there_is_any(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(Diagnoses([Diagnosis(LOST, "mask:keep=1", 0.0)]), {"mask:keep=1": "mask"}) == 0
    assert capsys.readouterr().out == "defect,has_it,seen,at_most,expected\ntask-lost,False,0.0,0.0,No task-lost\n"
    two = [Diagnosis(LOST, "mask", 1.0), Diagnosis(LOST, "pi", float("nan"), "pi raises")]
    assert shown(Diagnoses(two, ("images: results are files",)), {"pi": "short"}) == 1
    said = capsys.readouterr()
    assert said.out == "policy,has,defects\nmask,1,task-lost\nshort,0,\n"
    assert said.err == "ctxsim: images: results are files\nctxsim: defects/task-lost: pi raises\n"
    assert shown(Diagnoses([], ("images: results are files",)), {}) == 0
    assert capsys.readouterr().out == ""
