"""The doctor: which known defects policies and driven agents have, and the shortest transcript that shows one."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from ctxsim.api.live import faults_of
from ctxsim.errors import CtxsimError
from ctxsim.live.agent import load_agent
from ctxsim.live.drive import Driven, drive, need_endpoint
from ctxsim.live.install import located
from ctxsim.live.observed import observe
from ctxsim.policies import open_policies, open_policy
from ctxsim.results.frames import frame_of
from ctxsim.runs.doctor import Case, Defect, Diagnosis, defect_names, examine, load_defect, prepare_case, shortest
from ctxsim.runs.driven import UNPLAYED, examine_driven
from ctxsim.runs.presets import expanded
from ctxsim.transcript import Transcript


class Diagnoses(msgspec.Struct, frozen=True):
    """Which known defects of compaction policies or driven agents have."""

    found: list[Diagnosis]
    untold: tuple[str, ...] = ()
    """For driven agents: the defects that a run could neither show nor rule out, and why."""

    @property
    def ok(self) -> bool:
        """Whether no policy has any defect, and every policy could be replayed."""
        return not any(one.has_it or one.broken for one in self.found)

    def by_policy(self) -> dict[str, list[Diagnosis]]:
        """Return the diagnoses by policy label."""
        several: dict[str, list[Diagnosis]] = {}
        for one in self.found:
            several.setdefault(one.policy, []).append(one)
        return several

    def frame(self) -> Any:
        """Return a row for each policy and defect."""
        return frame_of(
            {
                "policy": one.policy, "defect": one.defect.name, "has_it": one.has_it, "seen": one.value,
                "at_most": one.defect.expectation.at_most, "expected": one.defect.expectation.that,
            }
            for one in self.found
        )  # fmt: skip


def diagnose(policies: Sequence[str], defects: Sequence[str] = ()) -> Diagnoses:
    """Test policies for known defects of compaction: all, or those named. Raises UnknownName."""
    specs = open_policies(expanded(policies))
    return Diagnoses([examine(spec, case) for case in _cases(defects) for spec in specs])


def _cases(defects: Sequence[str]) -> Iterator[Case]:
    return (prepare_case(load_defect(name)) for name in defects or defect_names())


def diagnose_driven(
    agents: Sequence[str],
    defects: Sequence[str] = (),
    *,
    install: bool = False,
    window: int | None = None,
    faults: Sequence[str] = (),
    limit_s: float = 300.0,
    told: Callable[[Diagnosis], object] = lambda one: None,
) -> Diagnoses:
    """Return which known defects real agents have: each agent is driven through the scenario of each defect, offline.

    A refused request counts, even if a smaller one then passes. `window` replaces the scenario's window, for agents
    that assume a window of their own. Raises UnknownName, and CtxsimError if an agent isn't installed.
    """
    need_endpoint()
    cases = list(_cases(defects))
    broken = faults_of(faults, [case.one.transcript for case in cases if case.defect.name not in UNPLAYED])
    found, untold = [], []
    for agent, programs in [located(load_agent(name), install) for name in agents]:
        lived: dict[bytes, Driven] = {}  # defects that share a conversation share its run
        for case in cases:
            name = case.defect.name
            if name in UNPLAYED:
                untold.append(f"{name}: {UNPLAYED[name]}")
                continue
            played, rules = case.one.transcript, case.one.provider
            rules = msgspec.structs.replace(rules, window=window) if window else rules
            usage = rules.usage_factor if rules.usage_factor != 1 else broken.usage
            same = msgspec.json.encode((played.items, played.calls, rules))
            if same not in lived:
                with TemporaryDirectory(prefix="ctxsim-doctor-") as folder:
                    its = msgspec.structs.replace(broken, usage=usage)
                    try:
                        lived[same] = drive(agent, played, rules, programs, its, limit_s, kept=Path(folder))
                    except CtxsimError as error:
                        untold.append(f"{agent.name}, {name}: {error}")
                        continue
            done = lived[same]
            seen = observe(agent.label, done.script, done.entries)
            one = examine_driven(case.defect, seen, done.script, done.provider)
            if one is None:
                steps, total = len(seen.transcript.calls), len(done.script.steps)
                untold.append(f"{agent.name}, {name}: it ended after {steps} of {total} steps")
            else:
                found.append(one)
                told(one)
    return Diagnoses(found, tuple(dict.fromkeys(untold)))


def shortest_case(policy: str, defect: str) -> tuple[Defect, Transcript, str]:
    """Return a defect, the fewest first calls of its scenario that show it in a policy, and the provider's answer to
    the last request.

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
    return case.defect, transcript, answer
