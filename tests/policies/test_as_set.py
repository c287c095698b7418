"""`as-set` is the policy of the agent that recorded a session, as its user has set it."""

from __future__ import annotations

import pytest

from ctxsim.errors import LabelError
from ctxsim.policies import open_policy
from ctxsim.policies.agents.claude_code.policy import ClaudeCode
from ctxsim.policies.agents.codex.policy import Codex
from ctxsim.policies.keep_all import KeepAll


def test_each_sessions_own_agent_in_its_version_and_model() -> None:
    spec = open_policy("as-set")
    old = spec.as_shipped("claude-code", "2.1.17", "claude-opus-4-5")
    assert old.label == "as-set" and old.create() == [
        ClaudeCode(reserve=32_000, keep_exchanges=0, tail_factor=1.0, micro="size")
    ]
    new = spec.as_shipped("claude-code", "2.1.330", "claude-sonnet-4-5-20250929")
    assert new.create() == [ClaudeCode(proactive=False)]
    assert spec.as_shipped("codex-rollout", "0.140.0", "gpt-5.4").create() == [Codex()]


def test_it_decides_by_what_the_agent_decides_by_unless_somebody_says() -> None:
    shipped = open_policy("as-set").as_shipped("claude-code", "2.1.17", "")
    assert shipped.estimator == open_policy("claude-code").estimator
    said = open_policy("as-set:estimator=words").as_shipped("claude-code", "2.1.17", "")
    assert said.estimator == open_policy("mask:estimator=words").estimator


def test_settings_of_the_sessions_agent_alone_have_an_effect() -> None:
    spec = open_policy("as-set:given=claude-code/autoCompactWindow=200000;codex/tool_output_token_limit=900")
    assert spec.as_shipped("claude-code", "2.1.330", "x").create() == [ClaudeCode(auto_compact_window=200_000)]
    assert spec.as_shipped("codex-rollout", "0.140.0", "x").create() == [Codex(tool_output_token_limit=900)]


@pytest.mark.parametrize("version", ["", "dev", "main-branch"])
def test_a_version_that_is_no_number_is_the_newest(version: str) -> None:
    assert open_policy("as-set").as_shipped("claude-code", version, "claude-opus-4-6").create() == [ClaudeCode()]


def test_an_agent_that_we_do_not_know_is_left_as_it_is() -> None:
    assert open_policy("as-set").as_shipped("openai-chat", "", "").create() == [KeepAll()]


def test_what_is_no_setting_is_told_when_the_label_is_opened() -> None:
    with pytest.raises(LabelError, match="AGENT/KEY=VALUE"):
        open_policy("as-set:given=autoCompactWindow")


def test_an_agent_without_a_file_of_settings_runs_its_policy() -> None:
    assert open_policy("as-set").as_shipped("swe-agent", "1.0", "gpt-4").create()[0].name == "swe-agent"
