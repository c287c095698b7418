"""A session's own agent, in its version and for its model, decides: its numbers, and with `as-set` its policy."""

from __future__ import annotations

import pytest

from ctxsim.errors import LabelError
from ctxsim.policies import Spec, open_policy
from ctxsim.policies.agents.claude_code.policy import ClaudeCode
from ctxsim.policies.agents.codex.policy import Codex
from ctxsim.policies.agents.swe_agent.policy import SweAgent
from ctxsim.policies.keep_all import KeepAll


def test_each_sessions_own_agent_in_its_version_and_model() -> None:
    spec = open_policy("as-set")
    old = spec.as_shipped("claude-code", "2.1.17", "claude-opus-4-5")
    assert old.label == "as-set" and old.create() == [
        ClaudeCode(reserve=32_000, keep_exchanges=0, tail_factor=1.0, micro="size")
    ]
    new = spec.as_shipped("claude-code", "2.1.330", "claude-sonnet-4-5-20250929")
    assert new.create() == [ClaudeCode(proactive=False)]
    assert spec.as_shipped("codex-rollout", "0.140.0", "gpt-5.2").create() == [Codex()]


# openai/codex: models-manager/models.json, and core/src/models_manager/model_info.rs of older versions. Run with a
# result of 120,000 bytes, 0.171.0 sends 40,212 bytes of it to gpt-5.5, and 10,212 to gpt-5.2 and to `mock`.
@pytest.mark.parametrize(
    ("model", "tokens"),
    [("gpt-5", 2_500), ("gpt-5.1", 2_500), ("gpt-5.2", 2_500), ("gpt-oss-120b", 2_500), ("mock", 2_500), ("", 2_500),
     ("gpt-5-codex", 10_000), ("gpt-5.1-codex-max", 10_000), ("gpt-5.3-codex-spark", 10_000), ("gpt-5.4", 10_000),
     ("gpt-5.5", 10_000), ("openai/gpt-5.6-sol", 10_000), ("gpt-6-astra", 10_000), ("codex-mini-latest", 10_000)],
)  # fmt: skip
def test_codex_cuts_results_as_its_model_says(model: str, tokens: int) -> None:
    spec = open_policy("as-set").as_shipped("codex-rollout", "0.140.0", model)
    assert spec.create() == [Codex(tool_output_token_limit=tokens)]


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


@pytest.mark.parametrize(("version", "n"), [("0.x", 5), ("1.x", 0), ("", 5)])
def test_swe_agent_replaces_old_observations_by_default_before_1(version: str, n: int) -> None:
    assert open_policy("as-set").as_shipped("swe-agent", version, "gpt-4").create() == [SweAgent(n=n)]


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
