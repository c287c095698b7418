"""Sums that know what is missing, and percentiles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def total(values: Iterable[float | None]) -> float | None:
    """Return the sum, or None as soon as one is unknown."""
    found = list(values)
    return None if any(value is None for value in found) else round(sum((value or 0.0 for value in found), 0.0), 10)


def nearest_rank(ordered: Sequence[float], percent: int) -> float:
    """Return the nearest-rank percentile of ascending values, of which there is at least one."""
    return ordered[-(-percent * len(ordered) // 100) - 1]
