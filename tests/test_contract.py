"""Every policy keeps the contract on every transcript, and the checker catches those that don't."""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from samples import conversation
from strategies import transcripts

from ctxsim.contract import violations
from ctxsim.errors import ContractError
from ctxsim.estimators import open_estimator
from ctxsim.measure import Measured
from ctxsim.policies import Overflow, Policy, Spec, open_policy, registered_policies
from ctxsim.provider import Provider, RateLimit
from ctxsim.replay import replay
from ctxsim.tokenizers import open_tokenizer
from ctxsim.tokenizers.counter import Counter
from ctxsim.transcript import Item, Transcript, Usage, problems
from ctxsim.view import View

SHARP = {
    # Parameters that make each policy act on small transcripts.
    "token-budget": "token-budget:budget=50,retain=10",
    "truncate-after-use": "truncate-after-use:retain=5",
    "max-result-chars": "max-result-chars:chars=20",
    "max-messages": "max-messages:n=3",
    "head-tail": "head-tail:lines=3,bytes=60",
    "fifo": "fifo:budget=120",
    "summary": "summary:at=0.1,keep_last=2,max_tokens=20",
    "mask": "mask:keep=1",
    "clear-tool-uses": "clear-tool-uses:trigger=100,keep=1,sticky=False",
}
LABELS = [SHARP.get(name, name) for name in registered_policies()] + [
    "head-tail:lines=2,bytes=50+summary:at=0.1,keep_last=2",
    "mask:keep=1+retry+fifo:budget=100",
]


@pytest.mark.parametrize("label", LABELS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(transcript=transcripts())
def test_every_policy_keeps_the_contract(label: str, transcript: Transcript) -> None:
    assert problems(transcript) == []
    tight = Provider(window=400, reserved_output=20, pace_s=5, rate_limit=RateLimit(tokens_per_minute=600))
    assert list(violations(open_policy(label), [transcript], tight)) == []


@pytest.mark.parametrize("resend", ["never", "current_turn", "all"])
@settings(max_examples=15, deadline=None)
@given(transcript=transcripts())
def test_reasoning_rules_keep_the_contract(resend: str, transcript: Transcript) -> None:
    provider = Provider(window=100_000, reasoning=resend)  # type: ignore[arg-type]
    assert list(violations(open_policy("keep-all"), [transcript], provider)) == []


def broken(cls: type[Policy]) -> Spec:
    return Spec(cls.name, ((cls, cls.name, {}),), open_estimator())


def said_of(cls: type[Policy], window: int = 200_000) -> str:
    return "\n".join(violations(broken(cls), [conversation("one", "two", "three")], Provider(window=window)))


def test_a_policy_that_returns_a_list() -> None:
    @dataclass
    class Lister(Policy):
        def before_call(self, view: View) -> View:
            return list(view)  # type: ignore[return-value]

    assert "must return the view it was given or an edit of it, not list" in said_of(Lister)


def test_a_policy_that_forgets_to_return() -> None:
    @dataclass
    class Forgetful(Policy):
        def before_call(self, view: View) -> View:
            view.drop([0], "lost")
            return None  # type: ignore[return-value]

    assert "not NoneType" in said_of(Forgetful)


def test_a_policy_that_returns_another_view() -> None:
    @dataclass
    class Swapper(Policy):
        def before_call(self, view: View) -> View:
            return View(lambda item: 0)

    assert "edit of it, not View" in said_of(Swapper)


def test_a_policy_that_goes_back_in_time() -> None:
    @dataclass
    class Nostalgic(Policy):
        def before_call(self, view: View) -> View:
            self.first = getattr(self, "first", view)
            return self.first

    assert "returned a view from an earlier moment" in said_of(Nostalgic)


def test_a_policy_that_drops_what_is_not_there() -> None:
    @dataclass
    class Greedy(Policy):
        def before_call(self, view: View) -> View:
            return view.drop([0], "always the first")

    assert "item 0 is not in the view" in said_of(Greedy)


def test_a_policy_that_changes_more_than_text() -> None:
    @dataclass
    class Renamer(Policy):
        def on_tool_result(self, item: Item) -> Item:
            return Item("user", item.place, item.message, item.text)

    assert "may change only the text of item" in said_of(Renamer)


def test_a_policy_that_rolls_dice() -> None:
    @dataclass
    class Gambler(Policy):
        def after_call(self, view: View, usage: Usage) -> View:
            return view.insert(f"note {random.random()}", 0, "dice")

    assert "is it deterministic?" in said_of(Gambler)


def test_a_policy_that_stops_on_overflow() -> None:
    from ctxsim.policies import Stop

    @dataclass
    class Quitter(Policy):
        def on_overflow(self, view: View, error: Overflow) -> View:
            return Stop("enough")  # type: ignore[return-value]

    assert "only before_call may stop" in said_of(Quitter, window=1)


def test_contract_errors_reach_the_caller() -> None:
    @dataclass
    class Nothing(Policy):
        def after_call(self, view: View, usage: Usage) -> View:
            return None  # type: ignore[return-value]

    transcript = conversation("one")
    with pytest.raises(ContractError, match="nothing"):
        list(replay(transcript, broken(Nothing), Provider(), Counter(open_tokenizer())))


@settings(max_examples=40, deadline=None)
@given(transcript=transcripts())
def test_the_lossless_oracle_loses_nothing(transcript: Transcript) -> None:
    measured = Measured(transcript, open_policy("oracle-lossless"), Provider(), Counter(open_tokenizer()))
    summary = measured.summary(None)
    assert {summary.survival, summary.survival_loose, summary.survival_fresh} <= {None, 1.0}


@pytest.mark.parametrize(
    "label",
    [
        "token-budget", "token-budget:budget=1", "three-triggers:only=tokens", "token-approx-budget",
        "token-approx-budget:tokens=5,estimator=bytes", "json-aware+round-summary+token-approx-budget",
        "three-triggers:estimator=tool-chars", "fifo:budget=40000,estimator=chars:ratio=3",
        "token-approx-budget:estimator=chars",
    ],
)  # fmt: skip
def test_a_short_label_opens_the_same_policy(label: str) -> None:
    spec = open_policy(label)
    assert open_policy(spec.short).label == spec.label
    assert len(spec.short) <= len(spec.label)
