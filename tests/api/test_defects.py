"""The doctor as a function: which defects there are, and the shortest case of one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from samples import conversation

from ctxsim.api import defects as room
from ctxsim.api.defects import Diagnoses, diagnose, diagnose_driven, shortest_case
from ctxsim.errors import CtxsimError
from ctxsim.runs.doctor import Defect, Diagnosis
from ctxsim.runs.driven import UNPLAYED
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
    assert shortest_case("mask", "mine") == (case.defect, made, answer)
    monkeypatch.setattr(room, "shortest", lambda spec, given: None)
    with pytest.raises(CtxsimError, match="mask:keep=2,batch=1 doesn't have mine"):
        shortest_case("mask:keep=2", "mine")


class Driving:
    """Agents that are there and answer at once: what is asked of them, and what is seen."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[Any] = []
        pytest.importorskip("starlette")
        monkeypatch.setattr(room, "load_agent", lambda name: SimpleNamespace(name=name, label=f"{name} 1.0"))
        monkeypatch.setattr(room, "located", lambda agent, install: (agent, f"bin, {install}"))
        monkeypatch.setattr(room, "drive", self.drive)
        monkeypatch.setattr(room, "observe", lambda label, script, entries: SimpleNamespace(
            label=label, transcript=SimpleNamespace(calls=script.steps[:2])
        ))  # fmt: skip
        monkeypatch.setattr(room, "examine_driven", self.examine)

    def drive(self, agent: Any, played: Any, rules: Any, programs: str, faults: Any, limit_s: float, kept: Any) -> Any:
        self.asked.append((agent.name, played.name, rules.window, programs, faults, limit_s, kept.is_dir()))
        if agent.name == "absent":
            raise CtxsimError("it isn't there")
        return SimpleNamespace(script=SimpleNamespace(steps=[1, 2, 3]), entries=[], provider=rules)

    def examine(self, defect: Defect, seen: Any, script: Any, provider: Any) -> Diagnosis | None:
        return None if seen.label.startswith("ends") else Diagnosis(defect, seen.label, float(provider.window))


def test_agents_live_through_each_conversation_once(monkeypatch: pytest.MonkeyPatch) -> None:
    driving, told = Driving(monkeypatch), list[Diagnosis]()
    names = ["task-lost", "one-user-message", "zero-usage"]
    found = diagnose_driven(["a", "b"], [*names, "images"], told=told.append)
    assert [(one.policy, one.defect.name) for one in found.found] == [
        (f"{agent} 1.0", name) for agent in "ab" for name in names
    ]
    assert found.found == told and found.untold == (f"images: {UNPLAYED['images']}",)
    # The first two have one conversation. That no usage is told is a rule of the third one, not a fault asked for.
    assert [(one[0], one[1], one[4].usage) for one in driving.asked] == [
        (agent, name, usage) for agent in "ab" for name, usage in (("task-lost", 1.0), ("zero-usage", 0.0))
    ]
    assert {(one[3], one[5], one[6]) for one in driving.asked} == {("bin, False", 300.0, True)}


def test_a_window_faults_and_a_limit_are_handed_on_and_what_was_not_seen_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    driving = Driving(monkeypatch)
    found = diagnose_driven(
        ["absent", "ends"], ["task-lost"], install=True, window=7_000, faults=["429@2", "usage=0.5"], limit_s=9.0
    )
    assert found.found == [] and found.untold == (
        "absent, task-lost: it isn't there", "ends, task-lost: it ended after 2 of 3 steps"
    )  # fmt: skip
    assert [(one[2], one[3], one[5]) for one in driving.asked] == [(7_000, "bin, True", 9.0)] * 2
    assert all(one[4].usage == 0.5 for one in driving.asked)
