"""Prompts, costs and turns of published runs under a policy, predicted from recordings of another agent.

    python -m evidence.outcomes CSV RECORDINGS

CSV: one row per model, strategy and instance, as `complexity-trap/sweagent.csv.gz`. RECORDINGS: another agent's runs on
some of its instances; only those count for prompts and costs. A model's prediction uses its raw runs (turns, mean
prompt and completion); the rest is fitted on the other models. It is printed beside the mean of the other models and
the ceiling: how well one half of the instances predicts the other half.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from itertools import product
from math import exp, log
from statistics import fmean, median, stdev

import numpy as np
import pandas

from ctxsim.readers import read
from ctxsim.simulator.provider import Provider
from ctxsim.transcript import Transcript
from evidence.outcomes.predicted import (
    Cell,
    Fitted,
    Known,
    Run,
    cost_ratio,
    fitted_without,
    mean_of_others,
    prompt_ratio,
)
from evidence.outcomes.shape import MASKING, RAW, SUMMARY, Floats, shape

TWICE = "combined"
"""Experiments with this in their name use both strategies at once, and are left out."""

HALVES = 200
STUDENT = 1.895
"""Student's t of 7 degrees of freedom, two-sided 90 %: a band of turns is from eight cells of other models."""

Ratios = dict[Cell, float]


def result_tokens(transcript: Transcript) -> Floats:
    """Return the tokens that joined after each response but the last."""
    counter = Provider().counter()
    starts = [call.start for call in transcript.calls[1:]]
    return np.array([
        float(sum(counter.item(item) for item in transcript.items[call.end : start]))
        for call, start in zip(transcript.calls, starts, strict=False)
    ] or [0.0])  # fmt: skip


def read_outcomes(path: str) -> pandas.DataFrame:
    """Return the table with a column `model`, the common beginning of the names of one model's experiments."""
    table = pandas.read_csv(path)
    table = table[~table.experiment.str.contains(TWICE)].copy()
    table["model"] = table.experiment.str.lower().str.extract(
        r"^(?:local-)?(.+?)-(?:agent|baseline|turn-summaries|t_)"
    )[0]
    return table


def ratios(table: pandas.DataFrame, column: str, instances: set[str]) -> Ratios:
    """Return by cell the mean of a column relative to that of the raw runs, over the instances that both have."""
    found = {}
    by = {key: part.set_index("instance_id")[column] for key, part in table.groupby(["strategy", "model"])}
    for strategy, model in product((MASKING, SUMMARY), table.model.unique()):
        if (strategy, model) in by and (RAW, model) in by:
            ran, raw = by[strategy, model], by[RAW, model]
            both = sorted(set(ran.index) & set(raw.index) & instances)
            found[strategy, model] = float(ran[both].mean() / raw[both].mean())
    return found


def known_of(table: pandas.DataFrame, results: Mapping[str, Floats]) -> Known:
    """Return the input of predictions: each model's raw runs on recorded instances, and the published ratios."""
    raw = table[(table.strategy == RAW) & table.instance_id.isin(results)]
    runs = {
        model: [
            Run(one.turn_count, one.mean_prompt_tokens, one.mean_completion_tokens,
                shape(results[one.instance_id], max(1, int(one.turn_count))))
            for one in part.itertuples()
        ]
        for model, part in raw.groupby("model")
    }  # fmt: skip
    return Known(runs, *(ratios(table, column, set(results)) for column in ("mean_prompt_tokens", "cost")))


def ranks_agree(one: Sequence[float], other: Sequence[float]) -> float:
    """Return Spearman's rank correlation."""
    return float(np.corrcoef(pandas.Series(one).rank(), pandas.Series(other).rank())[0, 1])


def agreement(truth: Ratios, said: Ratios) -> tuple[float, float]:
    """Return the median error over cells, and the rank correlation."""
    cells = list(truth)
    error = median(abs(truth[cell] - said[cell]) for cell in cells)
    return error, ranks_agree([truth[cell] for cell in cells], [said[cell] for cell in cells])


def ceiling(table: pandas.DataFrame, column: str, instances: set[str]) -> tuple[float, float]:
    """Return the mean agreement of one half of the instances with the other."""
    rng, every = np.random.default_rng(0), sorted(instances)
    found = []
    for _ in range(HALVES):
        half = set(rng.choice(every, len(every) // 2, replace=False))
        found.append(agreement(ratios(table, column, half), ratios(table, column, instances - half)))
    return fmean(error for error, _ in found), fmean(rank for _, rank in found)


def cost_error_of_halves(
    table: pandas.DataFrame, results: Mapping[str, Floats], fitted: Mapping[str, Fitted]
) -> Floats:
    """Return the median errors of the cost on random halves of the instances, which show how much of one is chance."""
    rng, every, found = np.random.default_rng(0), sorted(results), []
    for _ in range(HALVES // 8):
        known = known_of(table, {name: results[name] for name in rng.choice(every, len(every) // 2, replace=False)})
        said = {cell: cost_ratio(known, cell, *fitted[cell[1]]) for cell in known.costs}
        found.append(agreement(known.costs, said)[0])
    return np.array(found)


def turn_bands(turns: Ratios) -> dict[str, tuple[float, float]]:
    """Return by model the band of turns relative to raw that should hold 90 % of cells, from other models' cells."""
    found = {}
    for model in {model for _, model in turns}:
        others = [log(value) for (_, other), value in turns.items() if other != model]
        reach = STUDENT * stdev(others) * (1 + 1 / len(others)) ** 0.5
        found[model] = exp(fmean(others) - reach), exp(fmean(others) + reach)
    return found


def main() -> None:
    """Print the tables."""
    table = read_outcomes(sys.argv[1])
    results = {one.name.rpartition("/")[2].partition(".")[0]: result_tokens(one) for one in read(sys.argv[2])}
    known = known_of(table, results)
    fitted = {model: fitted_without(known, model) for model in known.runs}
    every = set(table.instance_id)
    turns = ratios(table, "turn_count", every)
    print_cells(known, fitted, turns)
    print_agreement(table, known, fitted, set(results))
    halves = cost_error_of_halves(table, results, fitted)
    print(
        f"\nCost, model left out, halves of the instances: {halves.mean():.3f}, {halves.min():.3f} to {halves.max():.3f}."
    )
    bands = turn_bands(turns)
    held = sum(bands[model][0] <= value <= bands[model][1] for (_, model), value in turns.items())
    error = median(abs(value - 1) for value in turns.values())
    trivial = agreement(turns, mean_of_others(turns))[0]
    print(f"\nTurns: 1.0 is off by {error:.3f} (median), the mean of the other models by {trivial:.3f}.")
    print(f"A band of the other models' turns holds {held} of {len(turns)} cells: {verdict(held >= 9)} (aim: 9).")


def print_cells(known: Known, fitted: Mapping[str, Fitted], turns: Ratios) -> None:
    """Print a line per cell: what was published and what was predicted."""
    print("| strategy | model | prompt | predicted | cost | predicted | turns | band of the others |")
    print("|---|---|--:|--:|--:|--:|--:|--:|")
    bands = turn_bands(turns)
    for cell in known.prompts:
        of, (low, high) = fitted[cell[1]], bands[cell[1]]
        print(
            f"| {cell[0]} | {cell[1]} | {known.prompts[cell]:.3f} | {prompt_ratio(known, cell, *of[:2]):.3f} "
            f"| {known.costs[cell]:.3f} | {cost_ratio(known, cell, *of):.3f} "
            f"| {turns[cell]:.2f} | {low:.2f} to {high:.2f} |"
        )


def print_agreement(table: pandas.DataFrame, known: Known, fitted: Mapping[str, Fitted], instances: set[str]) -> None:
    """Print how far predictions are off, beside the trivial prediction and the ceiling."""
    print("\n| to raw | median error | rank correlation | aim | |")
    print("|---|--:|--:|---|---|")
    prompts = {cell: prompt_ratio(known, cell, *fitted[cell[1]][:2]) for cell in known.prompts}
    costs = {cell: cost_ratio(known, cell, *fitted[cell[1]]) for cell in known.costs}
    for name, truth, said, column, most, least in (
        ("mean prompt", known.prompts, prompts, "mean_prompt_tokens", 0.05, 0.8),
        ("cost", known.costs, costs, "cost", 0.08, None),
    ):
        error, rank = agreement(truth, said)
        aim = f"<= {most}" + (f", >= {least}" if least else "")
        held = verdict(error <= most and (least is None or rank >= least))
        print(f"| {name}, model left out | {error:.3f} | {rank:.2f} | {aim} | {held} |")
        for other, (error, rank) in (
            ("mean of the other models", agreement(truth, mean_of_others(truth))),
            ("ceiling: half of the instances", ceiling(table, column, instances)),
        ):
            print(f"| {name}, {other} | {error:.3f} | {rank:.2f} | | |")


def verdict(held: bool) -> str:
    """Return in words whether a figure meets its aim."""
    return "holds" if held else "**fails**"


if __name__ == "__main__":
    main()
