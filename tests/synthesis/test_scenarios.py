"""The numbers that the documents state hold for the scenarios, and everything is the same from run to run."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path

import msgspec
import pytest
from samples import summarized

from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.errors import InputError, UnknownName
from ctxsim.policies import open_policy
from ctxsim.results.columns import SummaryRow
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.resolve import resolve
from ctxsim.simulator.replay import replay
from ctxsim.simulator.replay.sent import Sent
from ctxsim.synthesis import Scenario, load_scenario, scenario_names, synthesize
from ctxsim.synthesis.scenario import folder
from ctxsim.transcript import Transcript, problems


@cache
def opened(name: str) -> tuple[Scenario, Transcript, Provider]:
    scenario = load_scenario(name)
    return scenario, synthesize(scenario), resolve({}, (name, scenario.provider))


@cache
def replayed(name: str, label: str) -> list[Sent]:
    _, transcript, provider = opened(name)
    return list(replay(transcript, open_policy(label), provider, Counter(open_tokenizer())))


TEXTS = {
    "canaries": "775f03e5da3d",
    "documented-53k": "162f7fc36d86",
    "documented-53k-cached": "f7c8e1f6e255",
    "fifty-turns": "895b74bf44dd",
    "large-results": "6e18786e88de",
    "many-calls": "cf42af8767f5",
    "needles": "c7d96ce2b816",
    "one-prompt": "5cf4980a57d6",
    "rounds": "914011b0162b",
    "sixty-calls": "75a40cbc8f73",
    "small-results": "48381fe834cf",
    "text-only": "d29a1bc457b9",
    "twenty-iterations": "ac0ee017a46b",
}
"""By scenario, the beginning of its conversation's SHA-256. What was measured on one holds for this text alone: who
changes a generator or a scenario on purpose measures again, and then writes the new digest here.
"""


@pytest.mark.parametrize("name", scenario_names())
def test_a_scenario_is_valid_and_has_the_same_text_in_every_version(name: str) -> None:
    transcript = opened(name)[1]
    assert problems(transcript) == []
    assert hashlib.sha256(msgspec.json.encode(transcript)).hexdigest()[:12] == TEXTS[name]


def test_a_file_whose_policies_run_code_needs_trust(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    own, text = tmp_path / "own.toml", (folder() / "one-prompt.toml").read_text()
    own.write_text(text)
    assert load_scenario(str(own)).policies[0] == "keep-all"
    own.write_text(text.replace('"keep-all"', '"mine.py:Mine"'))
    with pytest.raises(InputError, match=r"mine\.py:Mine"):
        load_scenario(str(own))


class TestDocumented53K:
    def test_input_tokens(self) -> None:
        # Document 001: "Turn 1: 2K, turn 3: 12K (after gmail_read), turn 5: 28K (after linkedin_jobs), turn 7: 53K".
        sent = [one.tokens_sent for one in replayed("documented-53k", "keep-all")]
        for call, tokens in {1: 2_000, 3: 12_000, 5: 28_000, 7: 53_000}.items():
            assert abs(sent[call - 1] - tokens) <= 0.005 * tokens
        assert sent[5] == 45_231
        assert sent[0] < sent[1] < sent[2] < sent[3] < sent[4]

    def test_keep_all_fails_at_call_7_and_not_before(self) -> None:
        statuses = [one.status for one in replayed("documented-53k", "keep-all")]
        assert statuses == ["ok"] * 6 + ["rate_limited"]

    def test_token_budget_compacts_1_2_and_4_after_call_6_and_passes(self) -> None:
        sent = replayed("documented-53k", "token-budget")
        assert [one.status for one in sent] == ["ok"] * 7
        _, transcript, _ = opened("documented-53k")
        results = [item.place for item in transcript.items if item.kind == "tool_result"]
        cut = [edit.before.place for _, edit in sent[5].edits if edit.before]
        assert cut == [results[0], results[1], results[3]]
        assert sent[5].said == (
            "Note: Compacted 3 old tool result(s) — input tokens (45,231) exceeded budget (40,000)",
        )
        assert abs(sent[6].tokens_sent - 27_800) < 300

    def test_call_7_first_uses_identifiers_of_results_1_2_and_4(self) -> None:
        _, transcript, _ = opened("documented-53k")
        results = [item.text for item in transcript.items if item.kind == "tool_result"]
        last = transcript.items[-1].text
        earlier = " ".join(item.text for item in transcript.items[:-1] if item.kind != "tool_result")
        atoms = {atom.strip(".,()") for atom in re.findall(r"[^\s(),]*\d[^\s(),]*|\S+@\S+|https?://\S+", last)}
        needed = {atom for atom in atoms if len(atom) > 4 and atom not in earlier + transcript.head.system}
        from_old = {atom for atom in needed if any(atom in results[i] for i in (0, 1, 3))}
        assert len(from_old) >= 12
        early = {atom for atom in from_old if any(atom in results[i][:500] for i in (0, 1, 3))}
        assert len(early) >= 3
        assert from_old - early, "some must lie beyond what the budget retains"

    @pytest.mark.parametrize("label", load_scenario("documented-53k").policies)
    def test_every_default_policy_acts(self, label: str) -> None:
        acted = any(one.edits for one in replayed("documented-53k", label))
        # There is no overflow to retry after: a rate limit is not one. Six results are fewer than the ten that one
        # budget never drops, and 53K tokens are under 70 % of 128,000.
        idle = ("keep-all", "retry", "token-approx-budget", "three-triggers", "three-triggers:estimator=tool-chars")
        assert acted == (label not in idle), label

    def test_max_messages_orphans(self) -> None:
        assert "invalid_pairs" in {one.status for one in replayed("documented-53k", "max-messages:n=9")}


class TestFiftyTurns:
    def summary(self, label: str) -> SummaryRow:
        _, transcript, provider = opened("fifty-turns")
        return summarized(transcript, label, provider)

    def test_raw_history_overflows_at_turn_19_to_21(self) -> None:
        summary = self.summary("keep-all")
        assert summary.first_failure == "overflow"
        assert summary.calls_until_first_failure is not None
        assert 19 <= summary.calls_until_first_failure // 6 + 1 <= 21

    def test_layers_of_seed_003_reach_turn_50(self) -> None:
        summary = self.summary("head-tail+summary")
        assert summary.first_failure is None and summary.summary_calls > 0


def test_unknown_and_broken_scenarios(tmp_path) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UnknownName, match="did you mean documented-53k"):
        load_scenario("documented-52k")
    broken = tmp_path / "broken.toml"
    broken.write_text("title = 3\n")
    with pytest.raises(InputError, match="title"):
        load_scenario(str(broken))
    broken.write_text('title = "')
    with pytest.raises(InputError, match=r"broken\.toml"):
        load_scenario(str(broken))
    with pytest.raises(InputError, match="window"):
        resolve({}, ("test", {"window": -1}))
    with pytest.raises(InputError, match="wndow"):
        resolve({}, ("test", {"wndow": 1}))
