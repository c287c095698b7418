"""Sums that know what is missing, and percentiles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def total(values: Iterable[float | None]) -> float | None:
    """Return the sum, or None as soon as one is unknown."""
    found = list(values)
    known = [value for value in found if value is not None]
    return round(sum(known, 0.0), 10) if len(known) == len(found) else None


def nearest_rank(ordered: Sequence[float], percent: int) -> float:
    """Return the nearest-rank percentile of ascending values, of which there is at least one."""
    return ordered[-(-percent * len(ordered) // 100) - 1]
