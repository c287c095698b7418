"""What the requests of a run hold under each strategy, given the lengths of its results: sums, no replay.

A recording is extended to the number of calls of another agent's run by repeating its results.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

KEEP, EVERY = 10, 21
"""Masking leaves the newest 10 results. Summaries replace 21 turns at a time, and leave the newest 10."""

RAW, MASKING, SUMMARY = "Raw Agent", "Observation Masking", "LLM-Summary"

SUMMARY_TOKENS, PLACEHOLDER_TOKENS = 500, 12
"""The default sizes of our own summaries and masks."""

Floats = npt.NDArray[np.float64]


class Requests(NamedTuple):
    """Means over the calls of a run: turns of the agent and tokens of results in its requests, and other tokens."""

    turns: float
    results: float
    fixed: float = 0.0


class Shape(NamedTuple):
    """What the requests of one run hold under each strategy, and which part is unchanged from the request before."""

    sent: Mapping[str, Requests]
    cached: Mapping[str, Requests]
    summaries: int
    seen: float
    """The tokens of results that one summary reads."""


def shape(results: Floats, calls: int, keep: int = KEEP, every: int = EVERY) -> Shape:
    """Return the shape of a run of `calls` calls whose results have these lengths, repeated."""
    sums = np.concatenate([[0.0], np.cumsum(results[np.arange(max(0, calls - 1)) % len(results)])])
    call = np.arange(calls)
    before, masked = np.maximum(0, call - 1), np.maximum(0, call - keep)
    was_masked = np.maximum(0, before - keep)
    start = np.zeros(calls, int)
    for number in call[1:]:
        start[number] = number - keep if number - start[number - 1] >= every + keep else start[number - 1]
    same = np.concatenate([[False], start[1:] == start[:-1]])
    moved = masked > was_masked
    sent = {
        RAW: Requests(call.mean(), sums.mean()),
        MASKING: Requests(call.mean(), (sums - sums[masked]).mean(), PLACEHOLDER_TOKENS * masked.mean()),
        SUMMARY: Requests((call - start).mean(), (sums - sums[start]).mean(), SUMMARY_TOKENS * (start > 0).mean()),
    }
    cached = {
        RAW: Requests(before.mean(), sums[before].mean()),
        # A request equals the one before up to the result that is newly masked.
        MASKING: Requests(
            np.where(moved, was_masked + 1, before).mean(),
            np.where(moved, 0, sums[before]).mean(),
            PLACEHOLDER_TOKENS * np.where(moved, was_masked, 0).mean(),
        ),
        SUMMARY: Requests(
            np.where(same, before - start, 0).mean(),
            np.where(same, sums[before] - sums[start], 0).mean(),
            SUMMARY_TOKENS * (same & (start > 0)).mean(),
        ),
    }
    return Shape(sent, cached, int(np.count_nonzero(np.diff(start))), every * float(sums[-1]) / max(1, calls - 1))
