"""Known defects of compaction, each a small scenario with an expectation, and the diagnosis of a policy by them."""

import msgspec

from ctxsim.errors import ContractError, InputError, unknown
from ctxsim.policies import Spec, open_policy
from ctxsim.runs.symptoms import SYMPTOMS
from ctxsim.runs.transcript_rows import sent_of
from ctxsim.simulator.measure.measured import AsSent
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.replay import Sent
from ctxsim.synthesis.scenario import Expectation, Scenario, folder, load_scenario, synthesize
from ctxsim.transcript import Transcript


class Defect(msgspec.Struct, frozen=True):
    """One scenario that brings a defect out, and what is expected of a policy without it."""

    scenario: Scenario
    expectation: Expectation

    @property
    def name(self) -> str:
        """The NAME of `--scenario defects/NAME`."""
        return self.scenario.name


class Diagnosis(msgspec.Struct, frozen=True):
    """What a policy showed in one scenario. `broken` is why it could not be replayed, or ''."""

    defect: Defect
    policy: str
    value: float
    broken: str = ""

    @property
    def has_it(self) -> bool:
        """Whether the policy has the defect; one that could not be replayed shows none."""
        return self.value > self.defect.expectation.at_most


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


class Case(msgspec.Struct, frozen=True):
    """A defect's scenario, prepared: its conversation, and keep-all's requests."""

    defect: Defect
    one: AsSent
    whole: tuple[Sent, ...]


def prepare_case(defect: Defect) -> Case:
    """Return a defect's scenario, ready to be replayed through one policy after another."""
    provider = msgspec.convert(defect.scenario.provider, Provider)
    one = AsSent(synthesize(defect.scenario), provider, counter=provider.counter())
    return Case(defect, one, tuple(sent_of(one, open_policy("keep-all"))))


def examine(spec: Spec, case: Case) -> Diagnosis:
    """Replay a defect's scenario through a policy, and return the diagnosis by its symptom."""
    try:
        sent = list(sent_of(case.one, spec))
    except ContractError as error:
        return Diagnosis(case.defect, spec.label, float("nan"), str(error))
    value = SYMPTOMS[case.defect.expectation.symptom](case.one.transcript, sent, case.whole)
    return Diagnosis(case.defect, spec.label, round(value, 3))


def shortest(spec: Spec, case: Case) -> tuple[Transcript, list[Sent]] | None:
    """Return the fewest first calls of a case in which a policy shows the defect, and the policy's requests.

    None if the policy doesn't show the defect. Raises ContractError.
    """
    whole = case.one.transcript
    for last in range(1, len(whole.calls) + 1):
        calls = whole.calls[:last]
        transcript = msgspec.structs.replace(whole, calls=calls, items=whole.items[: calls[-1].end])
        cut = Case(case.defect, msgspec.structs.replace(case.one, transcript=transcript), case.whole[:last])
        if examine(spec, cut).has_it:
            return transcript, list(sent_of(cut.one, spec))
    return None
