"""Small hand-made conversations that tests read like a chat."""

from __future__ import annotations

from ctxsim.counting.estimators import open_estimator
from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.policies import Policy, Spec, open_policy
from ctxsim.readers.assembly import Assembly, Part
from ctxsim.results.columns import CallRow, SummaryRow
from ctxsim.simulator.measure.measured import Basis, measure
from ctxsim.simulator.measure.summary import summary_row
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.replay import replay
from ctxsim.simulator.replay.sent import Sent
from ctxsim.transcript import RESPONSE_KINDS, Call, Head, Item, Transcript, problems


def conversation(*results: str, system: str = "", name: str = "sample") -> Transcript:
    """A task, then one call per result, then a last call that answers: len(results) + 1 calls."""
    assembly = Assembly(name)
    assembly.system.append(system)
    assembly.user("Do the task.")
    for number, result in enumerate(results):
        assembly.response([Part("tool_call", "{}", "tool", f"c{number}")])
        assembly.result(result, f"c{number}")
    assembly.response([Part("assistant", "Done.")])
    return assembly.transcript()


def run(transcript: Transcript, label: str, **provider: object) -> list[Sent]:
    """Replay under a policy against a provider with these rules."""
    rules = Provider(**provider)  # type: ignore[arg-type]
    return list(replay(transcript, open_policy(label), rules, Counter(open_tokenizer(rules.tokenizer))))


def chat(*turns: tuple[str, str], head: Head | None = None) -> Transcript:
    """A conversation of (kind, text); a run of response kinds is one call, results answer the calls in order."""
    items: list[Item] = []
    calls: list[Call] = []
    open_calls: list[int] = []
    for kind, text in turns:
        place = len(items)
        response, last = kind in RESPONSE_KINDS, items[-1] if items else None
        same = last is not None and (last.kind in RESPONSE_KINDS if response else last.kind == kind)
        if response:
            calls[-1 if same else len(calls) :] = [Call(calls[-1].start if same else place, place + 1)]
        if kind == "tool_call":
            open_calls.append(place)
        answers = open_calls.pop(0) if kind == "tool_result" else None
        message = last.message if last and same else place
        tool = "read" if kind in ("tool_call", "tool_result") else ""
        items.append(Item(kind, place, message, text, tool, answers))  # type: ignore[arg-type]
    made = Transcript("chat", head or Head(), tuple(items), tuple(calls))
    assert not problems(made)
    return made


ASK = ("tool_call", "{}")
TASK = ("user", "Do the task.")
RESULT = "x" * 400  # 100 tokens by length / 4


def turns(count: int, results: int = 1) -> Transcript:
    """User turns, each with some tool calls and an answer."""
    assembly = Assembly("turns")
    for turn in range(count):
        assembly.user(f"Task {turn}.")
        for number in range(results):
            assembly.response([Part("tool_call", "{}", "t", f"c{turn}.{number}")])
            assembly.result(RESULT, f"c{turn}.{number}")
        assembly.response([Part("assistant", f"Answer {turn}.")])
    return assembly.transcript()


def basis_of(transcript: Transcript, provider: Provider | None = None) -> Basis:
    """What all policies on a transcript share."""
    return Basis(transcript, provider or Provider(), Counter(open_tokenizer()))


def call_rows(transcript: Transcript, label: str, **provider: object) -> list[CallRow]:
    """The rows of a replay under a policy against a provider with these rules."""
    return measure(basis_of(transcript, Provider(**provider)), open_policy(label)).rows  # type: ignore[arg-type]


def summarized(transcript: Transcript, label: str, provider: Provider | None = None) -> SummaryRow:
    """The summary row of a replay under a policy."""
    basis = basis_of(transcript, provider)
    return summary_row(basis, measure(basis, open_policy(label)))


def spec_of(cls: type[Policy], **parameters: str) -> Spec:
    """A policy class of a test's own, opened without a name that others could see."""
    return Spec(cls.name, ((cls, cls.name, parameters),), open_estimator())


def run_class(cls: type[Policy], transcript: Transcript, **rules: object) -> list[Sent]:
    """Replay under a policy that a test wrote, against a provider with these rules."""
    spec = spec_of(cls)
    return list(replay(transcript, spec, Provider(**rules), Counter(open_tokenizer())))  # type: ignore[arg-type]
