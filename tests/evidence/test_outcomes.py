"""What recordings say of published outcomes: the sums against the replay, and nothing of a model in its own fit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ctxsim.policies import open_policy
from ctxsim.readers.assembly import Assembly, Part
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.replay import replay
from evidence.outcomes.__main__ import ratios, read_outcomes, result_tokens, turn_bands
from evidence.outcomes.predicted import Known, Run, fitted_without, mean_of_others, prompt_ratio
from evidence.outcomes.shape import MASKING, PLACEHOLDER_TOKENS, RAW, SUMMARY, SUMMARY_TOKENS, shape


def test_sums_of_masking_are_what_the_replay_sends_and_reads() -> None:
    assembly = Assembly("six calls")
    assembly.user("go")
    for number, words in enumerate((30, 10, 70, 20, 5), 1):
        assembly.response([Part("tool_call", "{}", "read", f"c{number}")])
        assembly.result("a b" * words, f"c{number}")
    assembly.response([Part("assistant", "{}read")])
    transcript = assembly.transcript()
    provider = Provider(cache="openai")
    counter = provider.counter()
    results = result_tokens(transcript)
    found = shape(results, 6, keep=2)
    sizes = {item.kind: counter.item(item) for item in transcript.items}
    for label, name in (("keep-all", RAW), ("mask:keep=2", MASKING)):
        sent = list(replay(transcript, open_policy(label), provider, counter))
        mean = np.mean([sum(counter.item(item) for item in one.view) for one in sent])
        masks = [item for one in sent for item in one.view if item.text.startswith("Old environment output")]
        placeholders = sum(map(counter.item, masks)) / len(sent)
        assert found.sent[name].fixed == PLACEHOLDER_TOKENS * len(masks) / len(sent)
        assert mean == pytest.approx(
            sizes["user"] + sizes["tool_call"] * found.sent[name].turns + found.sent[name].results + placeholders
        )


def test_summaries_by_hand() -> None:
    # Keep 2, every 3: call 5 has five turns behind it, so that three become a summary; call 8 the next three.
    found = shape(np.array([10.0]), 8, keep=2, every=3)
    # Turns of the agent in the eight requests: 0 1 2 3 4, 2 3 4.
    assert found.sent[SUMMARY] == (19 / 8, 190 / 8, SUMMARY_TOKENS * 3 / 8)
    assert (found.summaries, found.seen) == (1, 30.0)
    # Read of the request before: 0 0 1 2 3, none, 2 3; the cut itself reads nothing.
    assert found.cached[SUMMARY] == (11 / 8, 110 / 8, SUMMARY_TOKENS * 2 / 8)
    # Masking at keep 2 moves from call 4 on: up to the result masked there.
    assert found.cached[MASKING].turns == (0 + 0 + 1 + 1 + 2 + 3 + 4 + 5) / 8


def published(head: float, longer: float) -> Known:
    rng = np.random.default_rng(3)
    runs = {
        model: [
            Run(calls, 1_000.0, completion, shape(rng.integers(50, 900, calls).astype(float), calls))
            for calls in (8, 30, 60)
        ]
        for model, completion in (("a", 40), ("b", 100), ("c", 20))
    }
    known = Known(runs, {}, {})
    cells = [(strategy, model) for strategy in (MASKING, SUMMARY) for model in runs]
    prompts = {cell: prompt_ratio(known, cell, head, longer) for cell in cells}
    return Known(runs, prompts, prompts)


def test_what_is_fitted_is_found_again_and_a_model_has_no_part_in_its_own_fit() -> None:
    known = published(3_000, 2.5)
    assert fitted_without(known, "a")[:2] == (3_000, 2.5)
    off = {cell: 9.0 if cell[1] == "a" else value for cell, value in known.prompts.items()}
    assert fitted_without(known._replace(prompts=off), "a") == fitted_without(known, "a")
    assert fitted_without(known._replace(prompts=off), "b") != fitted_without(known, "b")
    assert mean_of_others(off)[MASKING, "a"] == mean_of_others(known.prompts)[MASKING, "a"]


def test_a_band_is_of_the_other_models() -> None:
    turns = {(strategy, model): 1.0 for strategy in (MASKING, SUMMARY) for model in "abcde"} | {(MASKING, "a"): 5.0}
    bands = turn_bands(turns)
    assert bands["a"] == (1.0, 1.0)
    assert bands["b"][0] < 1 < bands["b"][1]


def test_models_are_called_as_their_experiments_and_cells_that_nobody_ran_are_left_out(tmp_path: Path) -> None:
    ran = [("local-Qwen3-32B_thinking-baseline_raw-x", RAW, 4.0), ("local-Qwen3-32B_thinking-t_0.8-x", SUMMARY, 3.0),
           ("new_model-agent-t_0.8-baseline_raw", RAW, 2.0), ("combined-agent", RAW, 9.0)]  # fmt: skip
    rows = [f"{experiment},{strategy},i,{cost}" for experiment, strategy, cost in ran]
    (tmp_path / "t.csv").write_text("\n".join(["experiment,strategy,instance_id,cost", *rows]))
    table = read_outcomes(str(tmp_path / "t.csv"))
    assert [*table.model] == ["qwen3-32b_thinking", "qwen3-32b_thinking", "new_model"]
    assert ratios(table, "cost", {"i"}) == {(SUMMARY, "qwen3-32b_thinking"): 0.75}
