"""Rates of what sessions show together: intervals cover what they say, on clusters whose rate is known."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log, sqrt

import numpy as np
import numpy.typing as npt
import pytest

from ctxsim.answers.compactions.rates import Rate, excess, share

DATA_SETS = 500
Drawn = npt.NDArray[np.int64]


def covered(interval: Callable[[list[Drawn], list[str]], Rate | None], truth: float, seed: list[int],
            sessions: int, rates: tuple[float, float]) -> float:  # fmt: skip
    """The share of data sets whose interval holds the truth. Rates of sessions are beta, their sizes lognormal; the
    control is four fifths as frequent.
    """
    rng, held = np.random.default_rng(seed), 0
    for _ in range(DATA_SETS):
        rate = rng.beta(*rates, sessions)
        sizes = [np.maximum(1, rng.lognormal(mean, 0.8, sessions)).astype(int) for mean in (3, 2)]
        hits = [rng.binomial(size, rate * of) for size, of in zip(sizes, (1, 0.8), strict=True)]
        found = interval([hits[0], sizes[0], hits[1], sizes[1]], [f"s{n}" for n in range(sessions)])
        assert found is not None
        held += found[1] <= truth <= found[2]
    return held / DATA_SETS


@pytest.mark.parametrize("sessions", [10, 20, 40])
@pytest.mark.parametrize(("mean", "alike"), [(0.25, 0.15), (0.25, 0.4), (0.85, 0.15), (0.7, 0.3), (0.5, 0.05)])
def test_ninety_percent_intervals_cover_86_to_94_percent_of_clusters(sessions: int, mean: float, alike: float) -> None:
    # A beta whose variance is `alike` of a coin's: what two counts of one session have in common.
    rates = mean * (1 / alike - 1), (1 - mean) * (1 / alike - 1)
    seed = [sessions, int(100 * mean)]
    assert 0.86 <= covered(lambda of, roots: share(of[0], of[1], roots), mean, seed, sessions, rates) <= 0.94
    assert 0.86 <= covered(lambda of, roots: excess(*of, roots), mean / 5, seed, sessions, rates) <= 0.94


def test_counts_of_one_session_are_one_cluster() -> None:
    hits, of = [1, 2, 6, 3], [4, 4, 8, 8]
    apart, together = share(hits, of, ["a", "b", "c", "d"]), share(hits, of, ["a", "b", "c", "c"])
    assert apart and together and apart[0] == together[0] == 12 / 24
    assert together == share([1, 2, 9], [4, 4, 16], ["a", "b", "c"])


def test_an_interval_by_hand() -> None:
    # Two sessions, 1 of 4 and 3 of 4: 4 of 8. Without the first 3/4, without the second 1/4: both a quarter off, so the
    # error is sqrt(1/2 * 2 / 16) = 1/4. Two of one size: 2 - 1 < 2 degrees, so 2 are taken; on log odds 1/4 is 1.
    # Student's t of two is 2.9200 by the tables, and by its expansion:
    t = 2.9117814138
    found = share([1, 3], [4, 4], ["a", "b"])
    assert found == pytest.approx((0.5, 1 / (1 + exp(t * sqrt(1 / 16) * 4)), 1 / (1 + exp(-t))))
    assert log(found[2] / (1 - found[2])) == pytest.approx(t)


def test_one_session_says_nothing_of_others() -> None:
    assert share([1, 2], [3, 3], ["a", "a"]) is None
    assert excess([1, 2], [3, 3], [1, 0], [2, 0], ["a", "b"]) is None


FOUR = [4, 4, 4]
THREE = ["a", "b", "c"]


def test_an_interval_of_three_sessions_by_hand() -> None:
    # 6 of 12. Without each session 4, 5 and 3 of 8: off by 0, 1/8 and -1/8, so the jackknife deviates by
    # sqrt(2/3 x 2/64) = 0.14434. Of three alike two are free: t = 2.9118, by its expansion. On log odds, by 1/4.
    reach = 0.144338 * 2.91178
    odds = reach / 0.25
    assert share([2, 1, 3], FOUR, THREE) == pytest.approx((0.5, 1 / (1 + exp(odds)), 1 / (1 + exp(-odds))), abs=1e-5)
    # 3 of 12 less, in each session as much.
    found = excess([2, 1, 3], FOUR, [1, 1, 1], FOUR, THREE)
    assert found == pytest.approx((0.25, 0.25 - reach, 0.25 + reach), abs=1e-5)
    # Counts of one session belong together, and who has none says nothing.
    parts = share([1, 1, 1, 3, 0], [2, 2, 4, 4, 0], ["a", "a", "b", "c", "d"])
    assert parts == pytest.approx(share([2, 1, 3], FOUR, THREE))


@pytest.mark.parametrize(("sessions", "student"), [(6, 2.0150), (11, 1.8125), (41, 1.6839)])
def test_intervals_reach_as_far_as_students_t(sessions: int, student: float) -> None:
    hits = [4 + (-1) ** n * (n < sessions - sessions % 2) for n in range(sessions)]
    found = share(hits, [8] * sessions, [str(n) for n in range(sessions)])
    assert found is not None and found[0] == 0.5
    errors = [(0.5 * sessions * 8 - one) / (8 * (sessions - 1)) - 0.5 for one in hits]
    deviation = sqrt((sessions - 1) / sessions * sum(error**2 for error in errors))
    assert log(found[2] / (1 - found[2])) * 0.25 / deviation == pytest.approx(student, rel=0.005)


def test_all_or_none_reaches_as_far_as_so_many_sessions_say_and_one_session_has_no_rate() -> None:
    # Of three alike: (1 - p)^3 is .05, a twentieth on one side, at p = .6316. Of 1 and 3 it is as of 16 / 10.
    reach = 1 - 0.05 ** (1 / 3)
    assert share([0] * 3, FOUR, THREE) == pytest.approx((0, 0, reach))
    assert share(FOUR, FOUR, THREE) == pytest.approx((1, 1 - reach, 1))
    assert share([0, 0], [1, 3], ["a", "b"]) == pytest.approx((0, 0, 1 - 0.05 ** (1 / 1.6)))
    assert share([1, 0], [3, 4], ["a", "a"]) is None and share([1, 0], [3, 0], ["a", "b"]) is None
    two = excess([1, 2], [4, 4], [1, 1], [4, 4], ["a", "b"])
    assert two is not None and two[0] == 3 / 8 - 2 / 8
    assert excess([1, 2], [4, 4], [1, 0], [4, 0], ["a", "b"]) is None
    # A session without any of one share counts with its other.
    three = excess([1, 2, 0], [4, 4, 0], [1, 1, 3], [4, 4, 4], THREE)
    assert three is not None and three[0] == 3 / 8 - 5 / 12
