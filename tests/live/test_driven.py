"""What real agents decided, replayed from runs that are reduced to sizes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from driven import FOLDER, load, observation

from ctxsim.simulator.provider import Provider
from ctxsim.simulator.replay import replay
from ctxsim.simulator.replay.sent import Sent

RUNS = sorted(file.stem for file in FOLDER.glob("*.json"))


def replayed(run: dict[str, Any]) -> list[Sent]:
    provider = Provider(window=run["window"])
    seen = observation(run)
    return list(replay(seen.transcript, seen.spec(), provider, provider.counter()))


def asked(run: dict[str, Any]) -> list[list[Any]]:
    """The requests of the script's steps and what came between, without those refused for rate."""
    return [one for one in run["requests"] if one[2] != 429 and one[1] <= len(run["calls"])]


@pytest.mark.parametrize("name", RUNS)
def test_a_real_run_is_replayed_to_the_token(name: str) -> None:
    run = load(name)
    last = {step: (status, tokens) for kind, step, status, tokens, _ in run["requests"] if kind == "main"}
    for sent in replayed(run):
        status, tokens = last[sent.call]
        # Calls of tools are counted as name and arguments, here as one text.
        assert abs(sent.tokens_sent - tokens) <= 0.002 * tokens
        assert (sent.status == "ok") == (status == 200)


@pytest.mark.parametrize("name", RUNS)
def test_items_leave_only_where_a_summary_came_or_the_agent_clears_by_itself(name: str) -> None:
    run = load(name)
    summaries = {after[1] for before, after in pairwise(asked(run)) if before[0] == "summary" and after[0] == "main"}
    left = {sent.call for sent in replayed(run) if any(edit.action == "dropped" for _, edit in sent.edits)}
    assert summaries and summaries <= left
    if not name.startswith("qwen"):
        assert left == summaries


def decisions(run: dict[str, Any]) -> list[tuple[int, bool]]:
    """Of each answered step the tokens that its usage reported, and whether a summary was asked for next."""
    found = []
    for before, after in pairwise(asked(run)):
        if before[0] == "main" and before[2] == 200:
            found.append((before[3] + before[4], after[0] == "summary"))
    return found


def test_opencode_compacts_after_the_step_whose_usage_reaches_the_context_less_the_output() -> None:
    run = load("opencode-sixty-calls")
    limit = run["window"] - 4_096
    assert [compacts for _, compacts in decisions(run)] == [usage >= limit for usage, _ in decisions(run)]


def test_codex_compacts_before_nine_tenths_of_the_window_are_passed() -> None:
    run = load("codex-sixty-calls")
    sent = [tokens for kind, _, status, tokens, _ in run["requests"] if kind == "main" and status == 200]
    # It adds ceil(bytes / 4) of the results that are new: the largest is 10,000 bytes and what stands around.
    assert max(sent) < 0.9 * run["window"] + 600
    fired = [usage for usage, compacts in decisions(run) if compacts]
    assert fired and min(fired) > 0.9 * run["window"] - 3_500


def test_pi_compacts_when_a_run_has_ended_or_was_refused_never_between() -> None:
    run = load("pi-sixty-calls")
    calls, kinds = run["calls"], [kind for kind, *_ in run["items"]]
    ends = {step for step, (start, end) in enumerate(calls, 1) if "tool_call" not in kinds[start:end]}
    for before, after in pairwise(asked(run)):
        if before[0] == "main" and after[0] == "summary":
            refused = before[2] == 400
            assert refused or (before[1] in ends and before[3] + before[4] > run["window"] - 16_384)
