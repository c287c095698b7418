"""Known defects of compaction, each a small scenario with an expectation, and the diagnosis of a policy by them."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import msgspec

from ctxsim.errors import ContractError, InputError, unknown
from ctxsim.policies import Spec, open_policy
from ctxsim.runs.transcript_rows import sent_of
from ctxsim.simulator.measure.measured import AsSent
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.replay import Sent
from ctxsim.synthesis.scenario import Expectation, Scenario, folder, load_scenario, synthesize
from ctxsim.transcript import Item, Transcript

Found = Sequence[Sent]
Symptom = Callable[[Transcript, Found, Found], float]
"""A function of a transcript, what a policy sent of it, and what keep-all sent; at best it is zero.

They use only `Sent` values, so that they apply to any policy: built in, adapter, or another program.
"""


def calls_without_the_task(transcript: Transcript, sent: Found, whole: Found) -> float:
    """Count calls whose request holds the first user text neither as its item nor word for word in another item."""
    first = next((item for item in transcript.items if item.kind == "user"), None)
    return 0 if first is None else sum(not _holds(one, first) for one in sent)


def user_texts_lost(transcript: Transcript, sent: Found, whole: Found) -> float:
    """Count user texts that the last request holds neither as their item nor word for word in another item."""
    last = sent[-1]
    known = transcript.items[: last.recorded.start]
    return sum(not _holds(last, item) for item in known if item.kind == "user")


def results_cut_unread(transcript: Transcript, sent: Found, whole: Found) -> float:
    """Count tool results that were cut or absent in the first request that could have shown them."""
    cut, shown = 0, 0
    for one in sent:
        new = [item for item in transcript.items[shown : one.recorded.start] if item.kind == "tool_result"]
        cut += sum(one.view.find(item.place) != item for item in new)
        shown = one.recorded.start
    return cut


SYMPTOMS: dict[str, Symptom] = {
    # Calls that the provider refused, even if a smaller request then passed, or that the policy gave up.
    "refused-calls": lambda _, sent, whole: sum(one.status != "ok" or one.attempts > 1 for one in sent),
    # Calls with a result that answers nothing, or a tool call that nothing answers.
    "unpaired-calls": lambda _, sent, whole: sum(one.status == "invalid_pairs" for one in sent),
    # Requests with no message at all: only the head is left.
    "empty-requests": lambda _, sent, whole: sum(len(one.view) == 0 for one in sent),
    "calls-without-the-task": calls_without_the_task,
    "user-texts-lost": user_texts_lost,
    "results-cut-unread": results_cut_unread,
    # Share of calls whose request isn't a continuation of the one before: a cache reads only up to there.
    "broken-prefixes": lambda _, sent, whole: (
        sum(this.changed_from < len(last.view) for last, this in pairwise(sent)) / max(1, len(sent) - 1)
    ),
    # What all calls cost, with their summaries, as a share of what keep-all's cost.
    "dollars-of-keep-all": lambda _, sent, whole: (
        sum(one.cost_usd or 0 for one in sent) / (sum(one.cost_usd or 0 for one in whole) or 1)
    ),
    # Share of calls before which the policy edited what was there: new results cut on arrival don't count.
    "edits-share": lambda _, sent, whole: (
        sum(any(moment != "on_tool_result" for moment, _ in one.edits) for one in sent) / len(sent)
    ),
    # Summaries requested, per call.
    "summaries-share": lambda _, sent, whole: sum(one.summary_calls for one in sent) / len(sent),
    # Share of keep-all's last request that was taken away.
    "tokens-lost-early": lambda _, sent, whole: 1 - sent[-1].tokens_sent / whole[-1].tokens_sent,
}


def _holds(sent: Sent, item: Item) -> bool:
    """Whether a request holds an item unchanged, or its text within another item."""
    return sent.view.find(item.place) == item or any(item.text in other.text for other in sent.view)


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
