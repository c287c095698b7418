"""How far a sample is off its folder: `python -m evidence.samples RUN [--sample 60] [--seeds 200]`.

RUN is a finished bench of a whole folder. Samples are drawn from its rows and evaluated as by `bench --sample`, once
for each seed; nothing is replayed. The same is done with plain random sampling. A row has the share of keep-all's
dollars that the policy costs, or the mean that it kept, over all transcripts; the mean error of the estimate in points,
its root mean square and the largest; how many intervals hold the folder's figure; and their mean width.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ctxsim.answers.advice.sampled import ends
from ctxsim.results import read_run
from ctxsim.results.run_info import is_nothing
from ctxsim.runs.sizes import draw, inclusion
from evidence.speed import say

Draw = Callable[[int], tuple[np.ndarray, np.ndarray]]


def main() -> None:
    """Print the table."""
    parser = ArgumentParser()
    parser.add_argument("run", type=Path)
    parser.add_argument("--sample", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=200)
    asked = parser.parse_args()
    run = read_run(asked.run)
    whole = run.of(next(filter(is_nothing, run.labels)))
    usd = whole.cost_usd.to_numpy(dtype=float)
    tokens = whole.tokens_sum.to_numpy(dtype=float)
    priced = ~np.isnan(usd)
    sizes = np.where(priced, usd, tokens * np.nansum(usd) / tokens[priced].sum())
    by_size = inclusion(sizes, asked.sample)
    alike = np.full(len(sizes), asked.sample / len(sizes))
    say(f"{len(sizes)} transcripts, {asked.sample} drawn, {asked.seeds} seeds\n")
    say(
        "| drawn by | policy | figure | true | mean error | root mean square | largest | intervals that hold it | width |"
    )
    say("|---|---|---|--:|--:|--:|--:|--:|--:|")
    for how, probabilities in (("keep-all's dollars", by_size), ("chance alone", alike)):
        for label in filter(lambda one: not is_nothing(one), run.labels):
            rows = run.of(label)
            paid, kept = rows.cost_usd.to_numpy(dtype=float), rows.survival.to_numpy(dtype=float)
            row(f"| {how} | `{label}` | dollars", paid, usd, probabilities, asked.seeds)
            row(
                f"| {how} | `{label}` | kept",
                kept,
                np.where(np.isnan(kept), np.nan, 1.0),
                probabilities,
                asked.seeds,
                within=True,
            )


def row(
    name: str, parts: np.ndarray, whole: np.ndarray, probabilities: np.ndarray, seeds: int, within: bool = False
) -> None:
    """Print how far the estimates of one figure are off."""
    own, of = np.nan_to_num(parts), np.nan_to_num(whole)
    true = own.sum() / of.sum()
    errors, widths, held = [], [], 0
    for seed in range(seeds):
        drawn = draw(probabilities, seed)
        taken = probabilities[drawn]
        low, high = ends(own[drawn] / taken, of[drawn] / taken, taken, within) or (0.0, np.inf)
        errors.append((own[drawn] / taken).sum() / (of[drawn] / taken).sum() - true)
        widths.append(high - low)
        held += low - 1e-9 <= true <= high + 1e-9
    off = 100 * np.asarray(errors)
    say(
        f"{name} | {100 * true:.1f} % | {off.mean():+.2f} | {np.sqrt((off**2).mean()):.2f} "
        f"| {np.abs(off).max():.1f} | {100 * held / seeds:.0f} % | {100 * np.mean(widths):.1f} |"
    )


if __name__ == "__main__":
    main()
