"""Means over transcripts and how far to trust them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

RESAMPLES = 2_000


def bootstrap_mean(
    values: Sequence[float] | npt.NDArray[np.float64], seed: int = 0
) -> tuple[float, float, float] | None:
    """Return the mean and its 95 % percentile-bootstrap interval, resampled by transcript.

    None for fewer than two values: one transcript says nothing about others.
    """
    data = np.asarray(values, dtype=float)
    if len(data) < 2:
        return None
    rng = np.random.default_rng(seed)
    means = data[rng.integers(0, len(data), (RESAMPLES, len(data)))].mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(data.mean()), float(low), float(high)
