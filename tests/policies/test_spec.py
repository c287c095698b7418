"""What a label opens, what a policy is unless it says otherwise, and what the code of others may not change."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest

from ctxsim.counting.estimators import open_estimator
from ctxsim.errors import ContractError, LabelError
from ctxsim.policies import (
    Surroundings,
    agent_of,
    open_policies,
    open_policy,
    register,
    registered_policies,
    registry,
)
from ctxsim.policies.agents.codex.policy import Codex
from ctxsim.policies.policy import SHIPPED, Policy, _take_shipped, with_estimator
from ctxsim.policies.trial import Watch, refuse


@pytest.mark.parametrize(
    ("label", "server_side", "bound", "own"),
    [
        ("anthropic-compact", True, False, True), ("clear-tool-uses", True, False, True), ("mask", False, False, True),
        ("anthropic-compact+mask", False, False, True), ("drop-all", False, True, True),
        ("recorded", False, True, True), ("keep-all+mask", False, False, True),
    ],
)  # fmt: skip
def test_what_is_said_of_a_whole_chain(label: str, server_side: bool, bound: bool, own: bool) -> None:
    spec = open_policy(label)
    assert (spec.server_side, spec.bound, spec.own) == (server_side, bound, own)


def test_labels_that_mean_the_same_are_opened_once() -> None:
    found = open_policies(("mask", "mask:keep=10", "fifo:budget=9"), "words")
    assert [spec.short for spec in found] == ["mask:estimator=words", "fifo:budget=9,estimator=words"]
    assert {spec.estimator for spec in found} == {open_estimator("words")}
    (plain,) = open_policies(("mask",))
    assert plain.estimator == open_estimator() and plain.label == "mask:keep=10,batch=1" and plain.short == "mask"


@pytest.mark.parametrize("more", ["codex:model=unknown", "codex:tool_output_token_limit=2500"])
def test_two_policies_of_one_name_are_refused_if_a_sessions_version_tells_them_apart(more: str) -> None:
    # `codex` takes the limit of each session's model, here 10,000; the other has 2,500 in every session.
    limits = [open_policy(one).as_shipped("codex-rollout", "0.140.0", "gpt-5.5").create() for one in ("codex", more)]
    assert limits == [[Codex(tool_output_token_limit=10_000)], [Codex()]]
    for pair in (("codex", more), (more, "codex")):
        with pytest.raises(LabelError, match=f"{pair[0]} and {pair[1]} would have the same name in tables"):
            open_policies(pair)
    assert len(open_policies((more, more))) == len(open_policies(("codex", "codex"))) == 1


@pytest.mark.parametrize("said", [None, ["budget"], {"budget": "40000"}, {"budget": float("nan")}, {1: 2}, 1 / 3])
def test_limits_that_are_no_numbers_of_tokens_are_told_before_anything_is_replayed(
    said: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    @dataclass
    class Unlimited(Policy):
        def limits(self) -> Any:
            return said

    monkeypatch.setitem(registry.classes, "unlimited", Unlimited)
    with pytest.raises(ContractError, match=r"unlimited: limits must return tokens by name, as \{'budget': 40000\}: V"):
        open_policy("fifo:budget=50+unlimited")


def test_what_a_policy_is_unless_it_says_otherwise() -> None:
    class SaysNothing(Policy):
        pass

    class Named(Policy, abstract=True):
        name = "its-own"

        def threshold(self) -> float:
            return 7

    plain = SaysNothing()
    assert (SaysNothing.name, plain.label, SaysNothing.family) == ("says-nothing", "says-nothing", "")
    flags = ("bound", "others_code", "server_side", "per_request", "abstract", "ephemeral")
    assert [getattr(plain, flag) for flag in flags] == [False] * 6
    assert (plain.retries, plain.threshold(), plain.fires_at(), plain.limits()) == (None, None, None, {})
    assert (Named.name, Named.abstract, Named().fires_at(), Policy.abstract) == ("its-own", True, 7, True)
    assert Surroundings(1_000).now_s == 0
    families = {name: cls.family for name, cls in registered_policies().items()}
    assert [families[name] for name in ("codex", "langmem", "mask", "keep-all")] == [
        "agents",
        "frameworks",
        "papers",
        "",
    ]


def test_a_number_that_an_agent_ships_stands_in_the_place_of_its_mark() -> None:
    class Codex(Policy):
        agent = "codex"
        name = "codex"
        keep_user_tokens = 1

    Codex.keep_user_tokens = SHIPPED
    _take_shipped(Codex)
    # Its author read no release of Codex.
    assert (Codex.keep_user_tokens, Codex.version) == (20_000, "")
    # The numbers in that file are those of a policy called as the agent.
    with pytest.raises(LabelError, match=r"codex/settings\.toml has no number for the parameter keep of a"):

        class Other(Policy):
            agent = "codex"
            keep = SHIPPED


def test_an_estimator_is_named_where_it_is_not_the_default() -> None:
    usual, words = open_estimator(), open_estimator("words")
    assert with_estimator("mask", usual) == "mask" and with_estimator("mask", words) == "mask:estimator=words"
    assert with_estimator("fifo:budget=1", words) == "fifo:budget=1,estimator=words"
    assert with_estimator("mask", usual, always=True).startswith("mask:estimator=")


def test_a_class_that_is_registered_is_known() -> None:
    class Noted(Policy):
        name = "noted-in-a-test"

    assert register(Noted) is Noted and registered_policies()["noted-in-a-test"] is Noted
    assert open_policy("noted-in-a-test").create()[0].label == "noted-in-a-test"
    assert registry.broken == {}
    del registered_policies()["noted-in-a-test"]


@pytest.mark.parametrize(
    ("format", "agent"),
    [
        ("codex", "codex"),
        ("codex-rollout", "codex"),
        ("kimi", "kimi-code"),
        ("codexrollout", ""),
        ("kim", ""),
        ("", ""),
    ],
)
def test_the_agent_that_writes_a_format(format: str, agent: str) -> None:
    assert agent_of(format) == agent


def test_what_others_use_too_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    watch = Watch()
    assert watch.changed() == ""
    with monkeypatch.context() as patch:
        patch.setattr(json, "dumps", lambda value: "")
        assert watch.changed() == "replaced json.dumps, which others use too"
    with monkeypatch.context() as patch:
        patch.setattr(json, "notes", "no function", raising=False)
        patch.setattr(os, "linesep", "?")
        assert watch.changed() == ""
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "json", ModuleType("json"))
        assert watch.changed() == "replaced the module json, which others use too"
    assert watch.changed() == ""


def test_what_is_refused_and_what_is_not() -> None:
    refuse(("ctxsim.invented",), "does what it may not")
    sys.audit("ctxsim.other")
    with pytest.raises(ContractError, match=r"does what it may not \(ctxsim.invented\); a policy may only look"):
        sys.audit("ctxsim.invented")
