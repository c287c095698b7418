"""Draws of the next sessions, against closed forms and simulated projects."""

from __future__ import annotations

import numpy as np
import pytest

from ctxsim.answers.forecast import ranges
from ctxsim.answers.forecast.ranges import (
    anew,
    blocks_of,
    by_odds,
    interval,
    next_sessions,
    recency,
    smoothed,
    spread,
    varied,
    worth,
)

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
    assert ranges.LEVEL == 0.9
    assert interval(np.arange(101.0)) == pytest.approx((5.0, 95.0))
    assert interval(np.arange(101.0), 0.5) == pytest.approx((25.0, 75.0))
    assert interval(np.array([np.nan, *range(101), np.inf])) == pytest.approx((5, 95))
    assert interval(np.array([np.nan])) is None


def test_what_is_unseen_shrinks_to_the_drift() -> None:
    # 0.3 ^ 2 + 1 / 4 and 1 / 100.
    assert spread(4) == pytest.approx(0.34**0.5) and spread(100) == pytest.approx(0.1**0.5)


@pytest.mark.parametrize(("parts", "sessions"), [((2, 2, 2), 3), ((5, 5, 0, 0), 2), ((3, 1), 1.6), ((0, 0, 0), 3)])
def test_an_effect_is_told_by_the_sessions_that_show_it(parts: tuple[int, ...], sessions: float) -> None:
    # 3 and 1 are worth 4 ^ 2 / 10 equal ones.
    assert worth(np.array(parts, dtype=float)) == pytest.approx(sessions)


def test_what_no_session_did_half_a_session_may_do() -> None:
    # A noise of 2 stands for 2 ^ 2 / 2 = 2 sessions beside 8: a fifth.
    assert anew(8, np.array([2.0, 0.0, -2.0])) == pytest.approx([0.2, 0.0, 0.2])
    # On average, as Beta(1/2, n): 1 of 2n + 1 sessions.
    assert anew(50, np.random.default_rng(0).normal(size=100_000)).mean() == pytest.approx(1 / 101, rel=0.03)


def test_a_policy_that_has_not_acted_may_save_or_add_a_tenth_in_such_sessions() -> None:
    same, come = np.full(8, 3.0), np.ones((3, 8))
    noise = np.array([[9.0, -9.0, 0.0], [0.0, 9.0, 9.0], [0.0, 2.0, 2.0], [0.0, 0.0, 2.0]])
    assert varied(come, same, same, noise) == pytest.approx([1.0, 0.98, 0.98 + 0.02])
    # Beside what is saved: half is left to pay, and a fifth of the sessions save a tenth of that.
    calm = np.array([[0.0], [0.0], [2.0], [0.0]])
    assert varied(np.ones((1, 8)), same / 2, same, calm) == pytest.approx([0.49])


def test_the_odds_of_a_loss_vary() -> None:
    # One of two sessions lost all: even odds. Three times as large they leave a quarter; told by one session they are
    # that with a noise of log 3 by the root of 0.3 ^ 2 + 1.
    thrice = np.log(3) / 1.09**0.5
    noise = np.array([0.0, thrice, -thrice])
    found = by_odds(np.ones((3, 2)), np.array([2.0, 0.0]), np.array([2.0, 2.0]), noise, first=0.0)
    assert found == pytest.approx([0.5, 0.25, 0.75])


def test_a_policy_that_has_lost_nothing_may_lose_a_tenth_in_such_sessions() -> None:
    # In half of the draws; as many sessions as may save or add a tenth.
    whole, noise = np.full(8, 3.0), np.array([2.0, 0.0, -2.0])
    assert by_odds(np.ones((3, 8)), whole, whole, noise) == pytest.approx([0.98, 1.0, 1.0])
    assert by_odds(np.ones((3, 8)), whole, whole, noise, first=0.0) == pytest.approx(1.0)


def test_ranges_hold_for_policies_that_seldom_act() -> None:
    # In each of 400 projects a policy saves a tenth in 3 % of sessions; 20 are seen, and 20 come.
    rng, hits = np.random.default_rng(3), []
    drawn = next_sessions(np.arange(20), np.ones(20), 20, rng, 400)
    whole = np.ones(20)
    for _ in range(400):
        seen, comes = (1 - 0.1 * (rng.random(20) < 0.03) for _ in range(2))
        found = interval(varied(drawn, seen, whole, rng.normal(size=(4, 400))))
        assert found is not None
        hits.append(found[0] <= comes.mean() <= found[1])
    assert 0.85 <= np.mean(hits) <= 0.99, np.mean(hits)


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


def test_every_session_comes_as_often_as_it_weighs_whatever_its_block() -> None:
    # Sizes 2, 1, 1, 1, 1: a block is drawn by the mean weight of its sessions. Small ones come a bit more often.
    drawn = next_sessions(np.array([0, 0, 1, 2, 3, 4]), np.ones(6), 600, np.random.default_rng(0), 4_000)
    assert drawn.mean(axis=0) == pytest.approx(np.full(6, 100.0), rel=0.12)


def test_shares_vary_as_many_observations_as_the_weights_are_worth() -> None:
    # Weights 1, 1, 1/2, 1/2 are worth 3 ^ 2 / 2.5 = 3.6 observations (Kish): shares are those of Dirichlet(1.2, 1.2,
    # 0.6, 0.6), whose first has the mean 1/3 and the variance 1/3 x 2/3 / 4.6.
    weights = np.array([1.0, 1.0, 0.5, 0.5])
    share = next_sessions(np.arange(4), weights, 100_000, np.random.default_rng(0), 20_000)[:, 0] / 100_000
    assert share.mean() == pytest.approx(1 / 3, rel=0.02) and share.var() == pytest.approx(2 / 9 / 4.6, rel=0.04)


@pytest.mark.parametrize(("sizes", "ahead", "blocks"), [((4, 4), 1, 1), ((2,) * 5, 2, 1), ((2,) * 5, 4, 2)])
def test_as_many_blocks_come_as_hold_so_many_sessions(sizes: tuple[int, ...], ahead: int, blocks: int) -> None:
    drawn = next_sessions(np.repeat(np.arange(len(sizes)), sizes), np.ones(sum(sizes)), ahead, np.random.default_rng(0))
    some = (drawn > 0).sum(axis=1) / sizes[0]
    assert some.max() == blocks and drawn.sum(axis=1) == pytest.approx(ahead)


def test_noise_is_as_wide_as_the_usual_kernel_and_averages_out() -> None:
    # Of 32 values of 1 and e ^ 2 the logarithms deviate by 1; 32 ** -1/5 = 1/2. So one that comes deviates by 1/2, four
    # of the same by half of that, and half a one by no more than one.
    values = np.array([1.0, np.e**2] * 16)
    for times, width in ((1.0, 0.5), (4.0, 0.25), (0.5, 0.5)):
        drawn = np.zeros((20_000, 32))
        drawn[:, 0] = times
        logs = np.log(smoothed(values, drawn, np.random.default_rng(0)) / times)
        assert logs.std() == pytest.approx(width, rel=0.03) and logs.mean() == pytest.approx(0, abs=0.02)
    # One amount alone has no width, and nothing has no logarithm.
    assert smoothed(np.array([2.0, 0.0]), np.array([[3.0, 1.0]]), np.random.default_rng(0)).tolist() == [6.0]
