"""Decisions of named policies beside those of the agents that they are named after."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
from corpus import FOLDER, here

from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.policies import Policy, Spec, open_policy
from ctxsim.policies.policy import Overflow
from ctxsim.transcript import Call, Compaction, Head, Item, Transcript, Usage, problems
from ctxsim.view import View
from evidence.agents import RUNS, _label, equality, observed, recorded
from evidence.decisions import decisions
from evidence.observed import Run, conversation, decided, read_runs, reduced, text_of

REAL = FOLDER.parent / "observed"
real = pytest.mark.skipif(not REAL.is_dir(), reason="no recordings of driven agents here")


def told(*used: int | None, compactions: tuple[Compaction, ...] = ()) -> Transcript:
    """A task, then for each usage a call of a tool with a result of 400 characters; the last response calls none."""
    items = [Item("user", 0, 0, "Do it.")]
    calls = []
    for number, tokens in enumerate(used):
        start, last = len(items), number == len(used) - 1
        if last:
            items.append(Item("assistant", start, 2 * number + 1, "Done."))
        else:
            items.append(Item("tool_call", start, 2 * number + 1, "{}", "bash"))
        calls.append(Call(start, start + 1, None if tokens is None else Usage(tokens, 10)))
        if not last:
            items.append(Item("tool_result", start + 1, 2 * number + 2, "x" * 400, "bash", start))
    return Transcript("told", Head("You help."), tuple(items), tuple(calls), compactions=compactions)


def fires(transcript: Transcript, label: str, window: int, at_end: bool = False) -> list[int]:
    return [one.call for one in decisions(transcript, open_policy(label), window, at_end=at_end) if one.made]


def test_usage_of_the_last_call_decides_and_what_joined_since_counts_where_the_agent_counts_it() -> None:
    # Codex: 9,000 of 10,000. 880 + 10 + about 120 for the result's JSON of 400 characters and fields is over 900 of
    # 1,000; 700 + 10 + 120 isn't.
    assert fires(told(700, 880, 100, 100), "codex", 1_000) == [3]
    # opencode: the usage alone, 900 with the 10 of output, against 1,000 - 100.
    assert fires(told(700, 889, 890, 100), "opencode:output=100", 1_000) == [4]


def test_a_wrong_answer_does_not_make_the_next_ones_wrong() -> None:
    """It would compact before calls 3, 4 and 5; the agent didn't, so at each the usage still is what it was told."""
    assert fires(told(100, 950, 960, 970, 100), "codex", 1_000) == [3, 4, 5]


def test_after_a_recorded_compaction_the_conversation_is_the_agents() -> None:
    compacted = Compaction(3, 5, "auto", ("What was done.",), kept=(3, 4))
    found = list(
        decisions(
            told(100, 950, 120, 100, compactions=(compacted,)),
            open_policy("opencode:output=100,preserve_recent_tokens=225"),
            1_000,
        )
    )
    assert [(one.call, one.recorded, one.made) for one in found if one.recorded or one.made] == [(3, True, True)]
    # The agent kept the second result; the policy's tail of 225 tokens holds it too: 400 / 4 and fields.
    assert found[2].held == {4} and found[2].would_hold == {4}
    assert all(one.equal for one in found) and found[3].held == {4, 6}


def test_an_agent_that_looks_after_its_last_response_is_asked_once_more() -> None:
    # pi: over 20,000 - 16,384 = 3,616 at the end of a run, here after the last response only. Its tail is 0 tokens.
    label = "pi:keep_recent_tokens=0"
    assert fires(told(4_000, 4_000, 3_600), label, 20_000, at_end=True) == []
    assert fires(told(4_000, 4_000, 3_610), label, 20_000, at_end=True) == [4]
    assert fires(told(4_000, 4_000, 3_610), label, 20_000) == []


def test_a_call_without_usage_tells_the_policy_nothing() -> None:
    assert fires(told(890, None, 100, 100), "opencode:output=100", 1_000) == [2]


@dataclass
class HalvesOnRefusal(Policy):
    """Drops the older half when the provider refuses."""

    def on_overflow(self, view: View, error: Overflow) -> View | None:
        return view.drop(view.partners([item.place for item in view[: len(view) // 2]]), "refused")


def test_a_refusal_is_a_decision_of_its_own() -> None:
    spec = Spec("halves", ((HalvesOnRefusal, "halves", {}),), open_policy("keep-all").estimator)
    compacted = Compaction(3, 5, "overflow", ("What was done.",))
    found = list(decisions(told(100, 200, 300, 100, compactions=(compacted,)), spec, 1_000, refused={3}))
    assert [(one.call, one.moment, one.recorded, one.made) for one in found[2:4]] == [
        (3, "before", False, False),
        (3, "refused", True, True),
    ]
    silent = list(decisions(told(100, 200, 300, 100), open_policy("codex"), 100_000, refused={3}))
    assert [one.made for one in silent if one.moment == "refused"] == [False]


def test_an_invented_text_has_the_size_that_was_recorded() -> None:
    counter = Counter(open_tokenizer("o200k_base"))
    for chars, tokens, lines in ((11_959, 3_008, 112), (40, 8, 0), (193, 57, 0), (8_164, 2_046, 75)):
        made = text_of(chars, tokens, lines)
        assert len(made) == chars and abs(counter.text(made) - tokens) <= 2
        assert abs(made.count("\n") - lines) <= 0.02 * lines + 1


RUNS_READ = read_runs(RUNS)


@pytest.mark.parametrize("run", RUNS_READ, ids=lambda run: f"{run.agent}-{run.name}")
def test_a_reduced_run_is_a_conversation(run: Run) -> None:
    transcript, refused = conversation(run)
    assert problems(transcript) == []
    assert refused <= set(range(1, len(transcript.calls) + 2))


def test_decisions_of_driven_agents_are_as_many_as_the_page_says() -> None:
    said = equality()
    found = observed()
    assert {name: pairs["decisions"] for name, pairs in found.items()} == {
        name: said[name]["decisions"] for name in said if "decisions" in said[name] and name in found
    }
    assert {name: pairs["held"] for name, pairs in found.items()} == {name: said[name]["held"] for name in found}
    assert sum(pairs["decisions"][1] for pairs in found.values()) > 1_000


@pytest.mark.parametrize(
    ("agent", "label"),
    [
        ("codex", "codex:model_auto_compact_token_limit=33000"),
        ("opencode", "opencode:output=8000"),
        ("pi", "pi:reserve_tokens=10000"),
        ("gemini", "gemini-cli:compression_threshold=0.025"),
        ("qwen-code", "qwen-code:auto_compact_threshold=0.5"),
        ("cline", "cline:threshold_ratio=0.8"),
        ("copilot", "copilot-cli:overhead=100"),
        ("openhands", "openhands:max_tokens=36000"),
    ],
)
def test_another_threshold_decides_otherwise(agent: str, label: str) -> None:
    """The runs tell a rule from its neighbours."""
    runs = [run for run in RUNS_READ if run.agent == agent and any(step.compacted for step in run.steps)]
    changed = [msgspec.structs.replace(run, label=label) for run in runs]
    assert sum(not one.equal for run in changed for one in decided(run)) > 0


@pytest.mark.corpus
@real
def test_the_reduced_runs_are_those_of_the_recordings() -> None:
    assert list(reduced(REAL)) == RUNS_READ


@pytest.mark.corpus
def test_the_window_of_codex_is_that_of_its_transcript() -> None:
    (call,) = told(100).calls
    session = Transcript("t", Head(), (), (msgspec.structs.replace(call, window=128_000),), format="codex-rollout")
    assert _label(session) == ("codex", 128_000)


@pytest.mark.slow
@here
def test_recorded_compactions_come_where_the_page_says() -> None:
    found = [
        one
        for name in ("claude-code-compacted", "claude-code-oh-my-posh", "codex-agentv", "pi-mono")
        for one in recorded(Path(FOLDER / name))
    ]
    said = equality()
    for policy in {one.policy for one in found}:
        ours = [one for one in found if one.policy == policy]
        assert [sum(one.near for one in ours), len(ours)] == said[policy]["recorded"]
