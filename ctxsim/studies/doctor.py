"""Known defects of compaction, each a small scenario with one line of expectation: which of them does a policy have?"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ctxsim.errors import ContractError, InputError, unknown
from ctxsim.policies import Spec, open_policy
from ctxsim.provider import Provider
from ctxsim.replay import replay
from ctxsim.studies.symptoms import SYMPTOMS
from ctxsim.synthesis.scenario import Expectation, Scenario, folder, load_scenario, synthesize


class Defect(msgspec.Struct, frozen=True):
    """One scenario that brings a defect out, and what is expected of a policy without it."""

    scenario: Scenario
    expectation: Expectation

    @property
    def name(self) -> str:
        """As `--scenario defects/NAME` takes it."""
        return self.scenario.name


class Diagnosis(msgspec.Struct, frozen=True):
    """What a policy showed in one scenario. `broken` is why it could not be replayed, or ''."""

    defect: Defect
    policy: str
    value: float
    broken: str = ""

    @property
    def has_it(self) -> bool:
        """Whether the policy has the defect."""
        return bool(self.broken) or self.value > self.defect.expectation.at_most


def defect_names() -> list[str]:
    """Return the names of the known defects."""
    return sorted(file.stem for file in (folder() / "defects").glob("*.toml"))


def load_defect(name: str) -> Defect:
    """Return a defect by name. Raises UnknownName, and InputError for a file that doesn't fit."""
    if name not in defect_names():
        raise unknown("defect", name, defect_names())
    scenario = load_scenario(f"defects/{name}")
    if scenario.expect is None or scenario.expect.symptom not in SYMPTOMS:
        raise InputError(f"scenario defects/{name}", f"expect needs a symptom, one of {', '.join(SYMPTOMS)}")
    return Defect(scenario, scenario.expect)


def examine(spec: Spec, defect: Defect) -> Diagnosis:
    """Replay a defect's scenario through a policy and through keep-all, and look at its symptom."""
    transcript = synthesize(defect.scenario)
    provider = msgspec.convert(defect.scenario.provider, Provider)
    counter = provider.counter()
    whole = list(replay(transcript, open_policy("keep-all"), provider, counter))
    try:
        sent = list(replay(transcript, spec, provider, counter))
    except ContractError as error:
        return Diagnosis(defect, spec.label, float("nan"), str(error))
    value = SYMPTOMS[defect.expectation.symptom](transcript, sent, whole)
    return Diagnosis(defect, spec.label, round(value, 3))


def examine_all(spec: Spec, names: list[str] | None = None) -> Iterator[Diagnosis]:
    """Yield what a policy shows of each known defect, or of those named. Raises UnknownName."""
    for name in names or defect_names():
        yield examine(spec, load_defect(name))
