"""Intervals and ranks resample sessions."""

from __future__ import annotations

import numpy as np
import pandas
import pytest

from ctxsim.answers.advice.intervals import Interval, bootstrap_mean, rank_ranges


def survival_interval(part: pandas.DataFrame) -> Interval | None:
    """One policy's mean survival and its interval, given its summary rows."""
    known = part[part.survival.notna()]
    return bootstrap_mean(known.survival.to_numpy(), known.root.to_numpy())


def test_intervals_resample_sessions_not_transcripts() -> None:
    # Two sessions, one of them with three equal sub-agents: four values, but only two sessions to draw from.
    apart = bootstrap_mean([0.0, 1.0, 1.0, 1.0])
    together = bootstrap_mean([0.0, 1.0, 1.0, 1.0], ["a", "b", "b", "b"])
    assert apart is not None and together is not None
    assert together[0] == apart[0] == 0.75 and together[1:] == (0.0, 1.0) and apart[1] > 0
    assert bootstrap_mean([1.0, 0.0], ["a", "a"]) is None


def test_of_many_sessions_the_normal_interval_and_ranks_are_the_resampled_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    roots = [f"s{n // 3}" for n in range(900)]
    parts = {
        name: pandas.DataFrame({"transcript": range(900), "root": roots, "survival": rng.random(900) * top})
        for name, top in (("a", 1.0), ("b", 1.0), ("c", 0.8))
    }
    resampled, ranks = survival_interval(parts["a"]), rank_ranges(parts)
    monkeypatch.setattr("ctxsim.answers.advice.intervals.MANY_SESSIONS", 100)
    normal = survival_interval(parts["a"])
    assert resampled is not None and normal is not None and normal == pytest.approx(resampled, rel=0.01)
    assert rank_ranges(parts) == ranks == {"a": (1, 2), "b": (1, 2), "c": (3, 3)}
