"""Calls into a policy: without a limit in other threads, and heard by whoever listens."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
from samples import conversation, run_class, spec_of

from ctxsim.errors import ContractError
from ctxsim.policies import Policy
from ctxsim.simulator.replay import guard
from ctxsim.simulator.replay.guard import guarded
from ctxsim.view import View


def test_in_another_thread_a_policy_has_no_limit_and_works() -> None:
    @dataclass
    class Patient(Policy):
        def before_call(self, view: View) -> View:
            return view.rewrite({item.place: "short" for item in view.results}, "a test")

    with ThreadPoolExecutor(1) as other:
        sent = other.submit(run_class, Patient, conversation("long")).result()
    assert [item.text for item in sent[1].view.results] == ["short"]


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
