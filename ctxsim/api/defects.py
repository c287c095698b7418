"""`check policy --doctor`: which known defects policies have, and the shortest transcript that shows one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from ctxsim.errors import CtxsimError
from ctxsim.policies import open_policies, open_policy
from ctxsim.runs.doctor import Defect, Diagnosis, examine_all, load_defect, prepare_case, shortest
from ctxsim.transcript import Transcript


class Diagnoses(msgspec.Struct, frozen=True):
    """Which known defects of compaction policies have."""

    found: list[Diagnosis]

    @property
    def ok(self) -> bool:
        """Whether no policy has any defect."""
        return not any(one.has_it for one in self.found)

    def by_policy(self) -> dict[str, list[Diagnosis]]:
        """Return them by the policies' labels."""
        several: dict[str, list[Diagnosis]] = {}
        for one in self.found:
            several.setdefault(one.policy, []).append(one)
        return several

    def frame(self) -> Any:
        """Return a row for each policy and defect."""
        import pandas

        return pandas.DataFrame(
            {
                "policy": one.policy, "defect": one.defect.name, "has_it": one.has_it, "seen": one.value,
                "at_most": one.defect.expectation.at_most, "expected": one.defect.expectation.that,
            }
            for one in self.found
        )  # fmt: skip


def diagnose(policies: Sequence[str], defects: Sequence[str] = ()) -> Diagnoses:
    """Test policies for known defects of compaction: all, or those named. Raises UnknownName."""
    from ctxsim.runs.presets import expanded

    return Diagnoses(list(examine_all(open_policies(expanded(policies)), defects)))


class Shown(NamedTuple):
    """The shortest transcript in which a policy shows a defect, and what the provider says to its last request."""

    defect: Defect
    transcript: Transcript
    answer: str


def shortest_case(policy: str, defect: str) -> Shown:
    """Return the fewest first calls of a defect's scenario that show the defect in a policy.

    Raises UnknownName, ContractError, and CtxsimError if the policy doesn't have the defect.
    """
    spec, case = open_policy(policy), prepare_case(load_defect(defect))
    found = shortest(spec, case)
    if found is None:
        raise CtxsimError(f"{spec.label} doesn't have {defect}")
    transcript, sent = found
    last = sent[-1]
    answer = "200" if last.status == "ok" else f"{last.status}, {last.verdict.reason}"
    if last.attempts > 1:
        answer = f"refused {last.attempts - (last.status == 'ok')} times for its size, at last {answer}"
    return Shown(case.defect, transcript, answer)
