"""Means over transcripts and how far to trust them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

RESAMPLES = 2_000
FINE_RESAMPLES = 20_000
"""Where far tails are asked for."""

Interval = tuple[float, float, float]
"""Mean, low, high."""


def bootstrap_mean(
    values: Sequence[float] | npt.NDArray[np.float64], roots: Sequence[str] | None = None, seed: int = 0
) -> Interval | None:
    """Return the mean and its 95 % percentile-bootstrap interval, resampled by root session.

    `roots` names each value's session; without it every value is its own. None for fewer than two sessions: one says
    nothing about others.
    """
    data = np.asarray(values, dtype=float)
    session = np.unique(np.asarray(roots), return_inverse=True)[1] if roots is not None else np.arange(len(data))
    sums, counts = np.bincount(session, weights=data), np.bincount(session)
    if len(sums) < 2:
        return None
    picks = np.random.default_rng(seed).integers(0, len(sums), (RESAMPLES, len(sums)))
    means = sums[picks].sum(axis=1) / counts[picks].sum(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(data.mean()), float(low), float(high)


def survival_of(summary: Any, label: str) -> Any:
    """One policy's survival by transcript, of those that have aged needs."""
    return summary[summary.policy == label].set_index("transcript").survival.dropna()


def survival_interval(summary: Any, label: str) -> Interval | None:
    """Return one policy's mean survival and its interval; None for fewer than two sessions."""
    found = survival_of(summary, label)
    roots = summary.drop_duplicates("transcript").set_index("transcript").root
    return bootstrap_mean(found.to_numpy(), [roots[name] for name in found.index])


def refused(summary: Any) -> Any:
    """Calls of each summary row that weren't ok: over a limit, with invalid pairs, or given up."""
    return summary.overflows + summary.rate_limited + summary.invalid_pairs + summary.stopped


def paired_difference(summary: Any, label: str, other: str) -> Interval | None:
    """Return by how much more one policy keeps than another, transcript by transcript, with its interval."""
    first, second = survival_of(summary, label), survival_of(summary, other)
    roots = summary.drop_duplicates("transcript").set_index("transcript").root
    return bootstrap_mean((first - second).to_numpy(), [roots[name] for name in first.index])


def rank_ranges(summary: Any, labels: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Return each policy's best and worst possible rank by survival; empty for one session.

    Two policies are ranked against each other only if the bootstrap interval of their paired difference excludes 0, at
    a level that leaves 5 % for one wrong order among all pairs (Bonferroni).
    """
    table = {label: survival_of(summary, label) for label in labels}
    names = list(next(iter(table.values())).index) if table else []
    roots = summary.drop_duplicates("transcript").set_index("transcript").root
    session = np.unique(np.asarray([roots[name] for name in names]), return_inverse=True)[1]
    count = int(session.max()) + 1 if len(session) else 0
    if count < 2 or len(labels) < 2:
        return {}
    sums = np.stack([np.bincount(session, weights=table[label][names].to_numpy()) for label in labels], axis=1)
    drawn = np.random.default_rng(0).multinomial(count, np.full(count, 1 / count), size=FINE_RESAMPLES)
    means = (drawn @ sums) / (drawn @ np.bincount(session))[:, None]
    tail = 100 * 0.05 / 2 / (len(labels) * (len(labels) - 1) / 2)
    ranges = {}
    for n, label in enumerate(labels):
        low, high = np.percentile(means - means[:, [n]], [tail, 100 - tail], axis=0)
        ranges[label] = (int((low > 0).sum()) + 1, len(labels) - int((high < 0).sum()))
    return ranges
