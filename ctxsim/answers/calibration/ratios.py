"""Characters per token with their spread over transcripts."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ctxsim.counting.estimators.calibrated import Ratio
from ctxsim.recorded.heads import RESAMPLES


def ratio_of(pairs: Sequence[tuple[int, float, float]], seed: int = 0) -> Ratio:
    """Return characters per token of (transcript, chars, tokens), pooled, with an interval over transcripts."""
    chars, tokens = sum(p[1] for p in pairs), sum(p[2] for p in pairs)
    numbers = sorted({p[0] for p in pairs})
    position = {n: i for i, n in enumerate(numbers)}
    sums = np.zeros((len(numbers), 2))
    for transcript, c, t in pairs:
        sums[position[transcript]] += (c, t)
    low = high = None
    if len(numbers) > 1:
        rng = np.random.default_rng(seed)
        drawn = sums[rng.integers(0, len(numbers), (RESAMPLES, len(numbers)))].sum(axis=1)
        usable = drawn[drawn[:, 1] > 0]
        low, high = (round(float(v), 4) for v in np.percentile(usable[:, 0] / usable[:, 1], [2.5, 97.5]))
    return Ratio(
        chars_per_token=round(chars / tokens, 4) if tokens else math.inf,
        low=low,
        high=high,
        texts=len(pairs),
        transcripts=len(numbers),
        chars=int(chars),
        tokens=round(tokens),
    )
