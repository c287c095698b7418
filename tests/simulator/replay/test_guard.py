"""The time limit of a policy, as a variable sets it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
from samples import conversation, run_class, spec_of

from ctxsim.errors import ContractError, InputError
from ctxsim.policies import Policy
from ctxsim.simulator.replay import guard
from ctxsim.simulator.replay.guard import DEFAULT_S, VARIABLE, guarded, limit_s
from ctxsim.view import View


@pytest.mark.parametrize(("text", "seconds"), [("0.5", 0.5), ("30", 30.0), ("999999999", 999_999_999.0)])
def test_a_positive_number_of_seconds_is_the_limit(text: str, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, text)
    assert limit_s() == seconds


def test_in_another_thread_a_policy_has_no_limit_and_works() -> None:
    @dataclass
    class Patient(Policy):
        def before_call(self, view: View) -> View:
            return view.rewrite({item.place: "short" for item in view.results}, "a test")

    with ThreadPoolExecutor(1) as other:
        sent = other.submit(run_class, Patient, conversation("long")).result()
    assert [item.text for item in sent[1].view.results] == ["short"]


@pytest.mark.parametrize("text", ["0", "-1", "1e9", "inf", "nan", "soon", ""])
def test_anything_else_is_no_limit(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(InputError, match=f"is '{text}', not a number of seconds"):
        limit_s()


def test_the_limit_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert limit_s() == DEFAULT_S == 60.0


def test_who_listens_hears_of_each_call_and_of_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass
    class Pressed(Policy):
        def before_call(self, view: View) -> View:
            raise KeyboardInterrupt

    heard: list[str] = []
    monkeypatch.setattr(guard, "_hear", heard.append)
    (policy,) = spec_of(Pressed).create()
    with pytest.raises(ContractError, match="before_call wanted to end the process"):
        guarded(policy, "before_call", None)
    assert heard == ["before_call", ""]
