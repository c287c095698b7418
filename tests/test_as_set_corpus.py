"""Real recordings of known agents: who recorded them is told, and the answer is something that their user can set."""

from __future__ import annotations

import re
from pathlib import Path

import corpus
import pytest

from ctxsim.answers.advice.baseline import AsSetAdvice, advise
from ctxsim.answers.advice.setting_names import given_in
from ctxsim.answers.advice.verdict import changed, verdict
from ctxsim.api.runs import bench
from ctxsim.policies import agent_of
from ctxsim.policies.agents.given import effect, setting_of
from ctxsim.policies.agents.lines import where
from ctxsim.readers import read_source, sources
from ctxsim.readers.glance import formats_of
from ctxsim.runs.presets import of_agents

pytestmark = [corpus.here, pytest.mark.corpus]

# What `grep` finds in each file: the version that most of its lines state, '' where none does, and the first model that
# a response is of.
MADE = "schema-fixtures-agent-sessions/stage0/agents"
RECORDED = {
    "claude-code-agentcmd/full-session-two.jsonl": ("claude-code", "2.0.26", "claude-sonnet-4-5-20250929"),
    "claude-code-agentv/7ad2528cc37f-0/full.jsonl.gz": ("claude-code", "2.1.62", "claude-opus-4-6"),
    "claude-code-compacted/184069756ffc-0/full.jsonl.gz": ("claude-code", "2.1.42", "claude-opus-4-6"),
    "claude-code-compacted/2372de7ea2ff-0/full.jsonl.gz": ("claude-code", "2.1.5", "claude-opus-4-5-20251101"),
    "claude-code-compacted/432b48f6b6e6-0/full.jsonl.gz": ("claude-code", "2.1.36", "claude-opus-4-6"),
    "claude-code-compacted/649d11045222-0/full.jsonl.gz": ("claude-code", "2.1.25", "claude-opus-4-5-20251101"),
    "claude-code-compacted/897eb280e769-18/full.jsonl.gz": ("claude-code", "2.1.17", "claude-sonnet-4-5-20250929"),
    "claude-code-compacted/f5dab3d95bc1-0/full.jsonl.gz": ("claude-code", "2.1.19", "claude-opus-4-5-20251101"),
    "claude-code-entire/040b015eb1c2-0/full.jsonl": ("claude-code", "2.1.3", "claude-sonnet-4-5-20250929"),
    "claude-code-entire/10dd2cdb2cdd-0/full.jsonl": ("claude-code", "2.1.34", "claude-opus-4-6"),
    "claude-code-entire/90dcfc331835-0/full.jsonl": ("claude-code", "2.0.76", "claude-opus-4-5-20251101"),
    "claude-code-oh-my-posh/0254bffa0c17-1/full.jsonl.gz": ("claude-code", "2.1.219", "claude-opus-5"),
    "claude-code-oh-my-posh/595b94d3a0e6-0/full.jsonl.gz": ("claude-code", "2.1.205", "claude-fable-5"),
    "codex-agentv/0034f597b72d-1/full.jsonl.gz": ("codex", "0.142.2", "gpt-5.3-codex-spark"),
    "codex-agentv/a392ff332928-0/full.jsonl": ("codex", "0.140.0", "gpt-5.4"),
    "codex-agentv/a57b22d8d4bd-0/full.jsonl.gz": ("codex", "0.140.0", "gpt-5.5"),
    "codex-session-view/rollout-2025-11-17T15-30-28-019a93b9-f380-7600-98ff-940e6b99603c.jsonl.gz": (
        "codex", "0.58.0", "gpt-5.1-codex",
    ),
    "copilot-cli-agentv/269e1b9e5502-0/full.jsonl.gz": ("copilot-cli", "1.0.64", "claude-sonnet-4.6"),
    "copilot-cli-agentv/4f8edb57e3d1-0/full.jsonl": ("copilot-cli", "1.0.64-1", "gpt-5.3-codex-spark"),
    "copilot-cli-agentv/4f8edb57e3d1-2/full.jsonl": ("copilot-cli", "1.0.64-1", "gpt-5.3-codex-spark"),
    "claude-code-by-date/00-c9e2351016-0.jsonl.gz": ("claude-code", "2.1.29", "claude-opus-4-5-20251101"),
    "claude-code-by-date/12-a0a03fd4aa-0.jsonl.gz": ("claude-code", "2.0.76", "claude-opus-4-5-20251101"),
    "claude-code-by-date/29-47d03374d0-0.jsonl.gz": ("claude-code", "2.1.7", "claude-opus-4-5-20251101"),
    "gemini-cli-agentcmd/session-2025-10-27T19-55-981c87cb.json": ("gemini-cli", "", "gemini-2.5-pro"),
    "gemini-cli-agentcmd/session-2025-10-29T10-36-f96c76b0.json": ("gemini-cli", "", "gemini-2.5-pro"),
    "gemini-cli-entire/a03d69f30a1f-0/full.jsonl": ("gemini-cli", "", "gemini-2.5-flash"),
    "gemini-cli-entire/d444444d1480-0/full.jsonl": ("gemini-cli", "", "gemini-2.5-pro"),
    "pi-mono/large-session.jsonl.gz": ("pi", "", "claude-sonnet-4-5"),
    "pi-mono/session.jsonl.gz": ("pi", "", "claude-opus-4-5"),
    "cline-sdk/session.messages.json": ("cline", "", "anthropic/claude-opus-4.8-fast"),
    "cline-sdk/basic.compaction.json": ("cline", "", "anthropic/claude-opus-4.8-fast"),
    "openhands-events/basic.json": ("openhands", "", "claude-3-5-sonnet-20241022"),
    "openhands-events/wrong_initial_state.json": ("openhands", "", "claude-3-5-sonnet-20241022"),
    f"{MADE}/codex/large.jsonl": ("codex", "0.106.0", "gpt-5.2"),
    f"{MADE}/codex/small.jsonl": ("codex", "0.146.0", "gpt-5.6-luna"),
    f"{MADE}/copilot/large.jsonl": ("copilot-cli", "0.0.420", "gpt-5"),
    f"{MADE}/copilot/small.jsonl": ("copilot-cli", "1.0.77", "gpt-5-mini"),
    f"{MADE}/qwen/019f0000-0000-7000-8000-000000000001.jsonl": ("qwen-code", "0.21.13", "synthetic-model"),
    f"{MADE}/kimi/assistant_tools.jsonl": ("kimi-code", "", "kimi-k2.7-code"),
    f"{MADE}/opencode/storage_v2": ("opencode", "1.3.17", "gpt-4o-mini"),
}  # fmt: skip


@pytest.mark.parametrize("name", RECORDED)
def test_agent_version_and_model_of_forty_recordings(name: str) -> None:
    one = next(read_source(next(iter(sources(str(corpus.FOLDER / name))))))
    assert (agent_of(one.format), one.version, one.model) == RECORDED[name]


FOLDERS = sorted(set(corpus.FOLDER.glob("*/")) - {corpus.FOLDER / name for name in (*corpus.APART, "LICENSES")})

BESIDE = ("keep-all", "drop-all", "max-result-chars:chars=20000", "codex")
"""What no user can set, and much of which is cheaper than anything that can be set."""


BESIDE_NAMES = [label.partition(":")[0] for label in BESIDE]


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_no_verdict_names_what_its_user_cannot_set(folder: Path) -> None:
    # One session of each format: the verdicts of others are made of the same settings.
    few = {tuple(formats_of([source])): source.name for source in sources(str(folder))}
    formats = [one for found in few for one in found if agent_of(one)]
    if not formats:
        pytest.skip("no sessions of known agents")
    run = bench(list(few.values()), [*BESIDE, *of_agents(formats)], text="none")
    if not run.info.recorders:
        pytest.skip("its sessions of known agents have no call")
    found = advise(run)
    assert isinstance(found, AsSetAdvice)
    # A recording holds what the agent's own edits left, so its policy has little to edit. SWE-agent logs what it had
    # before it edited.
    tokens = run.summary.groupby("policy")["tokens_sum"].sum()
    assert tokens["as-set"] >= 0.95 * tokens["keep-all"] or "swe-agent" in folder.name
    for one in changed(found):
        setting = setting_of(one.agent, one.key)
        assert setting is not None and where(one.agent, one.key)
        recorders = [each for each in found.recorders if each.agent == one.agent]
        assert any(effect(one, each.version, each.model) == one.value for each in recorders), "ignored or clamped"
    lines = verdict(found)
    assert re.match(r"(Set |Change nothing|Open between )", lines[0])
    policies = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, BESIDE_NAMES))})(?![\w-])")
    for line in lines[:3]:
        assert line.startswith("If you build the agent: ") or not policies.search(line), line
    for figures in (found.losing_less, found.cheaper):
        assert figures is None or given_in(figures.policy)
