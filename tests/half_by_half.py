"""First half, second half: sizes of later calls from earlier ones, told without the package's fit.

A segment is given as rows (tokens counted in texts, framing, tokens recorded); the answer is the relative error of each
row of its second half.
"""

from __future__ import annotations

import numpy as np

Row = tuple[int, int, int]


def errors(rows: list[Row], prior: float) -> list[float]:
    """What the first half says of the second, less what was recorded, as a share of it."""
    half = len(rows) // 2
    text, framing, recorded = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    grew, by = np.diff(text[:half]), np.diff((recorded - framing)[:half])
    usual = (grew > 0) & (by >= 0.6 * grew) & (by <= 3.5 * grew)
    # As if 5,000 tokens had grown at the prior rate before.
    factor = (by[usual].sum() + 5_000 * prior) / (grew[usual].sum() + 5_000)
    told = recorded[half - 1] + factor * (text[half:] - text[half - 1]) + framing[half:] - framing[half - 1]
    return ((told - recorded[half:]) / recorded[half:]).tolist()  # type: ignore[no-any-return]
