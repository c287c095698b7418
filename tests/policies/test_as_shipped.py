"""A session's own version of its agent decides the numbers of that agent's policy."""

from __future__ import annotations

from ctxsim.policies import Spec, open_policy


def reserve(spec: Spec) -> object:
    return vars(spec.create()[0])["reserve"]


def test_the_version_that_recorded_a_session_decides() -> None:
    plain = open_policy("claude-code")
    assert reserve(plain) == 20_000
    assert reserve(plain.as_shipped("claude-code", "2.1.17", "claude-opus-4-5")) == 32_000, "reserved more until 2.1.19"
    assert reserve(plain.as_shipped("claude-code", "2.1.200", "claude-opus-4-5")) == 20_000
    sonnet = plain.as_shipped("claude-code", "2.1.330", "claude-sonnet-4-5").create()[0]
    assert vars(sonnet)["proactive"] is False, "from 2.1.153 on it compacts only after a refusal"


def test_what_a_label_says_goes_first() -> None:
    said = open_policy("claude-code:reserve=5000")
    assert reserve(said.as_shipped("claude-code", "2.1.17", "")) == 5_000
    named = open_policy("claude-code:version=2.1.200")
    assert reserve(named.as_shipped("claude-code", "2.1.17", "")) == 20_000


def test_another_agents_session_changes_nothing() -> None:
    plain = open_policy("claude-code")
    assert plain.as_shipped("codex-rollout", "0.140.0", "gpt-5.4") is plain
    assert plain.as_shipped("claude-code", "", "claude-opus-4-5") is plain
    # A source build's word for its version is none.
    assert plain.as_shipped("claude-code", "local", "claude-opus-4-5") is plain
    assert open_policy("mask").as_shipped("claude-code", "2.1.17", "") == open_policy("mask")
