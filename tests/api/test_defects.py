"""The doctor as a function: which defects there are, and the shortest case of one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from samples import conversation

from ctxsim.api import defects as room
from ctxsim.api.defects import Diagnoses, Shown, diagnose, shortest_case
from ctxsim.errors import CtxsimError
from ctxsim.runs.doctor import Defect, Diagnosis
from ctxsim.synthesis.scenario import Expectation


def defect(at_most: float = 0.5) -> Defect:
    scenario: Any = SimpleNamespace(name="mine")
    return Defect(scenario, Expectation("Nothing is lost", "refused-calls", at_most))


SOUND, SICK = Diagnosis(defect(), "mask", 0.5), Diagnosis(defect(), "pi", 0.51)
BROKEN = Diagnosis(defect(), "mask", float("nan"), "mask raises")


def test_all_is_well_where_nobody_has_any_and_all_could_be_replayed() -> None:
    assert Diagnoses([]).ok and Diagnoses([SOUND]).ok and Diagnoses([SOUND]).untold == ()
    assert not Diagnoses([SOUND, SICK]).ok and not Diagnoses([BROKEN]).ok
    both = Diagnoses([SOUND, SICK, BROKEN])
    assert both.by_policy() == {"mask": [SOUND, BROKEN], "pi": [SICK]}
    assert both.frame().iloc[:2].to_dict("records") == [
        {"policy": "mask", "defect": "mine", "has_it": False, "seen": 0.5, "at_most": 0.5,
         "expected": "Nothing is lost"},
        {"policy": "pi", "defect": "mine", "has_it": True, "seen": 0.51, "at_most": 0.5, "expected": "Nothing is lost"},
    ]  # fmt: skip


def test_policies_and_families_are_tested_for_the_defects_that_are_named() -> None:
    found = diagnose(["summary", "papers"], ["task-lost", "user-texts-lost"])
    assert [(one.defect.name, one.policy.partition(":")[0]) for one in found.found] == [
        (name, policy) for name in ("task-lost", "user-texts-lost")
        for policy in ("summary", "keep-all", "drop-all", "oracle-lossless", "oracle-lossless", "mask")
    ]  # fmt: skip
    assert {one.defect.name for one in found.found if one.has_it and one.policy.startswith("summary")} == {
        "task-lost", "user-texts-lost"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("status", "attempts", "answer"),
    [
        ("ok", 1, "200"), ("overflow", 1, "overflow, too long"), ("ok", 3, "refused 2 times for its size, at last 200"),
        ("overflow", 2, "refused 2 times for its size, at last overflow, too long"),
    ],
)  # fmt: skip
def test_a_case_says_what_the_provider_answers(
    status: str, attempts: int, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = conversation("one")
    last = SimpleNamespace(status=status, attempts=attempts, verdict=SimpleNamespace(reason="too long"))
    case = SimpleNamespace(defect=defect())
    monkeypatch.setattr(room, "load_defect", lambda name: name)
    monkeypatch.setattr(room, "prepare_case", lambda name: case)
    monkeypatch.setattr(room, "shortest", lambda spec, given: (made, [None, last]) if given is case else None)
    assert shortest_case("mask", "mine") == Shown(case.defect, made, answer)
    monkeypatch.setattr(room, "shortest", lambda spec, given: None)
    with pytest.raises(CtxsimError, match="mask:keep=2,batch=1 doesn't have mine"):
        shortest_case("mask:keep=2", "mine")
