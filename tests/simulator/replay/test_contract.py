"""Every policy keeps the contract on every transcript, and the checker catches those that don't."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import msgspec
import pytest
from acting import CHAINS, FOREIGN, PROVIDERS, SELDOM, SEVERAL_TURNS, acting_labels, eventful, fingerprint
from hypothesis import given, settings
from project import ROOT, TESTS
from samples import conversation, spec_of
from strategies import transcripts

from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.policies import Policy, Stop, Surroundings, open_policy
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.replay import replay
from ctxsim.simulator.replay.contract import _problems, violations
from ctxsim.transcript import Head, Item, Transcript, problems
from ctxsim.view import Edit, View

CONVERSATIONS = [msgspec.structs.replace(eventful(random.Random(seed)), name=f"eventful {seed}") for seed in range(12)]
"""Always the same ones, for what is counted."""

COUNTER = Counter(open_tokenizer())
opened = cache(open_policy)
LABELS = [*filter(None, acting_labels(strict=False).values()), *CHAINS, *FOREIGN]


def kept(label: str, *transcripts: Transcript) -> None:
    assert not any(map(problems, transcripts))
    for provider in PROVIDERS.values():
        assert list(violations(opened(label), transcripts, provider)) == []


@pytest.mark.parametrize("label", LABELS)
def test_every_policy_keeps_the_contract(label: str) -> None:
    number = LABELS.index(label)
    kept(label, *(CONVERSATIONS[at % len(CONVERSATIONS)] for at in (number, number + 5)))


@pytest.mark.slow
@settings(max_examples=4)
@given(transcript=transcripts())
def test_every_policy_keeps_the_contract_on_strange_ones(transcript: Transcript) -> None:
    for label in LABELS:
        kept(label, transcript)


def test_every_policy_has_a_label_under_which_it_acts() -> None:
    assert acting_labels()


def acted(label: str, provider: Provider) -> list[bool]:
    """Per conversation, whether the policy edited anything."""
    return [
        any(sent.edits for sent in replay(transcript, opened(label), provider, COUNTER)) for transcript in CONVERSATIONS
    ]


@pytest.mark.parametrize("label", [label for label in LABELS if not opened(label).bound])
def test_every_policy_acts_in_most_cases(label: str) -> None:
    """What never edits keeps any contract. A policy that fails here needs sharper parameters in tests/acting.py."""
    once = [one for one in CONVERSATIONS if sum(item.kind == "user" for item in one.items) == 1]
    name = label.partition(":")[0]
    may = len(CONVERSATIONS) - (len(once) if name in SEVERAL_TURNS else 0)
    assert any(sum(acted(label, provider)) >= SELDOM.get(name, 0.8) * may for provider in PROVIDERS.values())


def test_each_call_has_its_own_head() -> None:
    made = CONVERSATIONS[0]
    heads = [Head("word " * number) for number in range(len(made.calls))]
    calls = tuple(msgspec.structs.replace(call, head=head) for call, head in zip(made.calls, heads, strict=True))
    kept("keep-all", msgspec.structs.replace(made, calls=calls))


# the test of the test: mutants of every policy are caught

Mutation = Callable[[type[Policy]], type[Policy]]
MOMENTS = ("on_tool_result", "before_call", "after_call", "on_overflow")


def rolls_dice(cls: type[Policy]) -> type[Policy]:
    """At every moment that is its own it does nothing half of the time; without one it drops an old result."""
    own = [name for name in MOMENTS if getattr(cls, name) is not getattr(Policy, name)]

    def loaded(name: str) -> Callable[..., object]:
        def moment(self: Policy, seen: object, *more: object) -> object:
            if random.random() < 0.5:
                return None if name == "on_overflow" else seen
            return getattr(cls, name)(self, seen, *more)

        return moment

    def drops(self: Policy, view: View) -> View:
        whole = [item.place for item in view.results if item.text]
        return view.rewrite({whole[0]: ""}, "dice") if whole and random.random() < 0.5 else view

    moments = {name: loaded(name) for name in own} or {"before_call": drops}
    return dataclass(type("Mutant", (cls,), moments))


def after_before_call(change: Callable[[Policy, View], View]) -> Mutation:
    """A mutant whose `before_call` changes what its policy returns."""

    def mutation(cls: type[Policy]) -> type[Policy]:
        def before_call(self: Policy, view: View) -> View | Stop:
            acted = cls.before_call(self, view)
            return acted if isinstance(acted, Stop) else change(self, acted)

        return dataclass(type("Mutant", (cls,), {"before_call": before_call}))

    return mutation


def edits_the_head(policy: Policy, view: View) -> View:
    """It can't reach what is sent, but it can make everybody estimate by another head."""
    policy.sees.head = Head("Shorter.")
    return view


def invents_an_item(policy: Policy, view: View) -> View:
    """A recorded item that nobody recorded, with an edit that owns up to it."""
    made = Item("user", max((item.place for item in view), default=0) + 50, 999, "I never said so.")
    return view._with([*view, made], view.size, (*view.edits, Edit(None, made, len(view), "invented")), None)


def reorders(policy: Policy, view: View) -> View:
    """The two newest recorded items change places."""
    items = list(view)
    if len(items) < 2 or items[-1].synthetic or items[-2].synthetic:
        return view
    items[-2:] = items[-1], items[-2]
    return view._with(items, view.size, (*view.edits, Edit(items[-1], items[-1], len(items) - 2, "swapped")), None)


MUTATIONS: dict[str, Mutation] = {
    "rolls dice": rolls_dice,
    "edits the head": after_before_call(edits_the_head),
    "invents an item": after_before_call(invents_an_item),
    "reorders": after_before_call(reorders),
}
SAID = {
    "rolls dice": "is it deterministic?",
    "edits the head": "another head",
    "invents an item": "sent before it was recorded",
    "reorders": "out of order",
}


@pytest.mark.parametrize("mutation", MUTATIONS)
@pytest.mark.parametrize(
    "label", [label for label in LABELS if "+" not in label and SELDOM.get(label.partition(":")[0], 1)]
)
def test_a_mutant_of_every_policy_is_caught(label: str, mutation: str) -> None:
    spec = open_policy(label)
    ((cls, name, parameters),) = spec.links
    mutant = msgspec.structs.replace(spec, links=((MUTATIONS[mutation](cls), name, parameters),))
    said = (
        line
        for provider in PROVIDERS.values()
        for transcript in CONVERSATIONS[:4]
        for line in violations(mutant, [transcript], provider)
    )
    assert any(SAID[mutation] in line for line in said)


def test_what_is_wrong_with_a_request_by_hand() -> None:
    made = conversation("a", "b")
    first, call, result, *rest = made.items[:5]

    def told(*items: Item, touched: tuple[int, ...] = ()) -> list[str]:
        return list(_problems(list(items), made, 5, set(touched)))

    edited, other = result.with_text("A"), msgspec.structs.replace(result, tool="other")
    note = Item("summary", -1, -1, "So far.", sources=(2, 4))
    assert told(first, call, result, *rest) == [] == told(first, note, *rest, touched=(1, 2))
    assert told(call, first, result, *rest) == ["recorded items are out of order or doubled"]
    assert told(*made.items) == ["item 5 is sent before it was recorded"]
    assert told(first, call, edited, *rest) == ["item 2 changed without an edit in the audit trail"]
    assert told(first, call, other, *rest, touched=(2,)) == ["more than the text of item 2 was changed"]
    late = msgspec.structs.replace(note, sources=(5,))
    assert told(*made.items[:5], late) == ["synthetic item -1 names sources that don't exist"]
    assert told(first, *rest, touched=(1,)) == ["items [2] left without an edit in the audit trail"]


def test_what_a_policy_remembers_of_another_transcript_is_seen() -> None:
    @dataclass
    class Mindful(Policy):
        """Masks results that are longer than the longest it has ever seen before this transcript."""

        longest: ClassVar[int] = 0

        def attach(self, sees: Surroundings) -> None:
            super().attach(sees)
            self.__dict__["limit"] = Mindful.longest

        def before_call(self, view: View) -> View:
            long = {item.place: "" for item in view.results if len(item.text) > self.__dict__["limit"]}
            Mindful.longest = max([Mindful.longest, *(len(item.text) for item in view.results)])
            return view.rewrite(long, "longer than any")

    found = list(violations(spec_of(Mindful), CONVERSATIONS[:2], PROVIDERS["roomy"]))
    assert any("is it deterministic?" in line for line in found)


@pytest.mark.parametrize("call", [1, 2])
def test_a_second_replay_that_breaks_is_another_result(call: int) -> None:
    @dataclass
    class BreaksLater(Policy):
        """The second object of the class breaks the contract at this call."""

        made: ClassVar[int] = 0

        def start(self) -> None:
            BreaksLater.made += 1
            self._broken = BreaksLater.made > 1

        def before_call(self, view: View) -> View:
            return view.drop([99], "not there") if self._broken and (call == 1 or len(view) > 1) else view

    (line,) = violations(spec_of(BreaksLater), CONVERSATIONS[:1], PROVIDERS["roomy"])
    assert f"call {call}: a second replay gave another result" in line


@pytest.mark.slow
def test_no_policy_decides_by_the_order_of_a_set() -> None:
    """What one process can't see: texts hash otherwise under another seed, so sets of them are walked otherwise."""
    code = "import sys, acting; print(acting.fingerprint(*sys.argv[1:]))"
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(map(str, (TESTS, ROOT)))}
    labels = LABELS[:-2]  # one of those that run a program is enough
    done = subprocess.run([sys.executable, "-c", code, *labels], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == fingerprint(*labels)


@pytest.mark.parametrize("resend", ["never", "current_turn", "all"])
@settings(max_examples=15)
@given(transcript=transcripts())
def test_reasoning_rules_keep_the_contract(resend: str, transcript: Transcript) -> None:
    provider = Provider(window=100_000, reasoning=resend)  # type: ignore[arg-type]
    assert list(violations(open_policy("keep-all"), [transcript], provider)) == []
