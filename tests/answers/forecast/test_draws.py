"""Draws of the next sessions, against closed forms and simulated projects."""

from __future__ import annotations

import numpy as np
import pytest

from ctxsim.answers.forecast import draws
from ctxsim.answers.forecast.draws import blocks_of, interval, next_sessions, recency, smoothed, spread

DAY = 86_400.0


def test_a_draw_has_as_many_sessions_as_come() -> None:
    blocks = np.array([0, 0, 1, 2, 3, 4, 4])
    drawn = next_sessions(blocks, np.ones(7), 20, np.random.default_rng(0))
    assert drawn.sum(axis=1) == pytest.approx(20)
    # Sessions of one block come together, and each as often as the others on average.
    assert (drawn[:, 0] == drawn[:, 1]).all() and (drawn[:, 5] == drawn[:, 6]).all()
    many = np.array([5, 10] * 500)
    assert next_sessions(np.arange(7), np.ones(7), many, np.random.default_rng(0)).sum(axis=1) == pytest.approx(many)


def test_the_mean_of_the_next_varies_by_what_is_unknown_and_by_what_comes() -> None:
    # Of n values with variance v the Bayesian bootstrap's mean has variance v / (n + 1); the mean of m drawn varies
    # by v / m, less what both share: v / (n + 1) + v / m * n / (n + 1). Here v = 0.25, n = 9, m = 3: 0.1.
    values = np.array([0.0, 1.0] * 4 + [0.5])
    v = float(values.var())
    drawn = next_sessions(np.arange(9), np.ones(9), 3, np.random.default_rng(0), 40_000)
    assert float((drawn @ values / 3).var()) == pytest.approx(v / 10 + v / 3 * 9 / 10, rel=0.03)


def test_sixty_sessions_later_one_counts_half() -> None:
    weights = recency([DAY * n for n in range(121)])
    assert (weights[120], weights[60], weights[0]) == pytest.approx((1.0, 0.5, 0.25))
    # By time, not by place; without times all count alike.
    assert recency([3.0, 1.0, 2.0]).argmax() == 0
    assert recency([1.0, None]).tolist() == [1.0, 1.0]


def test_blocks_are_days_and_projects() -> None:
    times = [0.0, 10.0, DAY, DAY + 5, 2 * DAY, 3 * DAY, 4 * DAY]
    same = ["a"] * 7
    assert blocks_of(times, same).tolist() == [0, 0, 1, 1, 2, 3, 4]
    assert blocks_of(times, ["a", "b", *same[2:]]).tolist() == [0, 1, 2, 2, 3, 4, 5]
    # Four blocks are too few, and what has no time has no day.
    assert blocks_of(times[:6], same[:6]).tolist() == list(range(6))
    assert blocks_of([None, *times[1:]], same).tolist() == list(range(7))


def test_an_interval_leaves_out_a_twentieth_at_each_end() -> None:
    assert draws.LEVEL == 0.9
    assert interval(np.arange(101.0)) == pytest.approx((5.0, 95.0))
    assert interval(np.arange(101.0), 0.5) == pytest.approx((25.0, 75.0))
    assert interval(np.array([np.nan])) is None


def test_what_is_unseen_shrinks_to_the_drift() -> None:
    # 0.2 ^ 2 + 1 / 4 and 1 / 100.
    assert spread(4) == pytest.approx(0.29**0.5) and spread(100) == pytest.approx(0.05**0.5)


def test_intervals_of_ninety_per_cent_hold_about_as_often_in_simulated_projects() -> None:
    # Sessions of a lognormal project, thirty seen and ten to come. At 80 % 76 hold, at 95 % 92.
    rng, hits = np.random.default_rng(7), []
    for _ in range(300):
        values = np.exp(rng.normal(0, 0.9, 40))
        drawn = next_sessions(np.arange(30), np.ones(30), 10, rng, 400)
        found = interval(smoothed(values[:30], drawn, rng))
        assert found is not None
        hits.append(found[0] <= values[30:].sum() <= found[1])
    assert 0.82 <= np.mean(hits) <= 0.9
