"""How far a sample is off its folder: `python -m evidence.samples RUN [--sample 60] [--seeds 200]`.

RUN is a finished bench of a whole folder. Samples are drawn from its rows and evaluated as by `bench --sample`, once
for each seed; nothing is replayed. The same is done with plain random sampling. A row has the policy's saving over all
transcripts; the mean error of the estimated saving in points, its root mean square and the largest; how many intervals
hold the folder's saving; and their mean width.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ctxsim.answers.advice.sampled import reach
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
    say("| drawn by | policy | saving | mean error | root mean square | largest | intervals that hold it | width |")
    say("|---|---|--:|--:|--:|--:|--:|--:|")
    for how, probabilities in (("keep-all's dollars", by_size), ("chance alone", alike)):
        for label in run.labels:
            if not is_nothing(label):
                row(how, label, run.of(label).cost_usd.to_numpy(dtype=float), usd, probabilities, asked.seeds)


def row(how: str, label: str, usd: np.ndarray, whole: np.ndarray, probabilities: np.ndarray, seeds: int) -> None:
    """Print how far the estimates of one policy are off."""
    paid, kept = np.nan_to_num(usd), np.nan_to_num(whole)
    saving = 1 - paid.sum() / kept.sum()
    errors, widths, held = [], [], 0
    for seed in range(seeds):
        drawn = draw(probabilities, seed)
        taken = probabilities[drawn]
        parts, of = paid[drawn] / taken, kept[drawn] / taken
        ratio = parts.sum() / of.sum()
        wide = reach(parts - ratio * of, float(of.sum()), taken) or 0.0
        errors.append(1 - ratio - saving)
        widths.append(2 * wide)
        held += abs(errors[-1]) <= wide
    off = 100 * np.asarray(errors)
    say(
        f"| {how} | `{label}` | {100 * saving:.1f} % | {off.mean():+.2f} | {np.sqrt((off**2).mean()):.2f} "
        f"| {np.abs(off).max():.1f} | {100 * held / seeds:.0f} % | {100 * np.mean(widths):.1f} |"
    )


if __name__ == "__main__":
    main()
