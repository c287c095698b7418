"""Sessions for forecasts, each with one amount of everything."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ctxsim.answers.forecast.sessions import Sessions

DAY = 86_400.0


def sessions(
    values: Sequence[float], per_day: int = 2, models: Sequence[str] | None = None, days: Sequence[int] | None = None
) -> Sessions:
    """So many a day from Monday, 1970-01-05, on, or on the `days` given; compactions and refusals are none."""
    many = len(values)
    amounts = {name: np.array(values, dtype=float) for name in ("usd", "tokens", "calls")}
    amounts |= {"compactions": np.zeros(many), "refused": np.zeros(many)}
    on = days or [4 + n // per_day for n in range(many)]
    return Sessions(
        tuple(f"s{n}" for n in range(many)), tuple(DAY * day for day in on), ("p",) * many,
        tuple(models or ["m"] * many), amounts, many,
    )  # fmt: skip
