"""Long segments of a run, as shares of keep-all, with intervals over sessions.

    python -m evidence.findings.long RUN

Long is 30 calls or more, at least one request of 30,000 tokens, and a price.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

LONG_CALLS, LONG_TOKENS = 30, 30_000


def rows_of(run: Path) -> pd.DataFrame:
    """Return a run's summary: a row per transcript and policy."""
    return pd.read_csv(run / "summary.csv")


def long_ones(rows: pd.DataFrame) -> pd.DataFrame:
    """Return keep-all's rows of the long segments, by transcript; of all segments if none is long."""
    whole = rows[rows.policy == "keep-all"].set_index("transcript")
    long = whole[(whole.calls >= LONG_CALLS) & (whole.tokens_peak >= LONG_TOKENS) & whole.cost_usd.notna()]
    if len(long):
        return long
    print("no long segment with a price: all segments are taken", file=sys.stderr)
    return whole


def resampled(sessions: pd.Series, seed: int = 1) -> Callable[[pd.Series], str]:
    """Return a callback that formats the mean of transcripts' shares with its 95 % interval over whole sessions."""
    random = np.random.default_rng(seed)

    def interval(shares: pd.Series) -> str:
        groups = [group.to_numpy() for _, group in shares.groupby(sessions)]
        picks = random.integers(len(groups), size=(2000, len(groups)))
        means = [np.concatenate([groups[number] for number in pick]).mean() for pick in picks]
        return "{:.0%} ({:.0%}-{:.0%})".format(shares.mean(), *np.quantile(means, (0.025, 0.975)))

    return interval


def main(run: Path) -> None:
    """Print the long segments' totals, and a row for each policy."""
    rows = rows_of(run)
    long = long_ones(rows)
    dear = long.cost_usd.idxmax() if long.cost_usd.notna().any() else long.index[0]
    sums = (long.calls.sum(), long.tokens_sum.sum(), long.cost_usd.sum(), long.cost_usd[dear])
    print("segments, sessions, calls, tokens, USD, the largest:", len(long), long.root.nunique(), *sums)
    print("| policy | tokens | mean | USD | mean | without the largest | cheaper | kept |")
    interval = resampled(long.root)
    for policy, found in rows.groupby("policy", sort=False):
        found = found.set_index("transcript").loc[long.index]
        cells = [str(policy)]
        for column in ("tokens_sum", "cost_usd"):
            cells += [f"{found[column].sum() / long[column].sum():.0%}", interval(found[column] / long[column])]
        rest = found.cost_usd.drop(dear).sum() / long.cost_usd.drop(dear).sum()
        cheaper = (found.cost_usd < long.cost_usd).sum()
        print("|", " | ".join([*cells, f"{rest:.0%}", str(cheaper), f"{found.survival.mean():.0%}"]), "|")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
