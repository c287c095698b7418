"""Rates of what sessions show together: intervals cover what they say, on clusters whose rate is known."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log, sqrt

import numpy as np
import numpy.typing as npt
import pytest

from ctxsim.answers.compactions import excess, share
from ctxsim.answers.compactions.rates import Rate

DATA_SETS = 1_000
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
    z = 1.6448536269514722
    t = z + (z**3 + z) / 8 + (5 * z**5 + 16 * z**3 + 3 * z) / 384
    found = share([1, 3], [4, 4], ["a", "b"])
    assert found == pytest.approx((0.5, 1 / (1 + exp(t * sqrt(1 / 16) * 4)), 1 / (1 + exp(-t))))
    assert log(found[2] / (1 - found[2])) == pytest.approx(t)


def test_one_session_says_nothing_of_others() -> None:
    assert share([1, 2], [3, 3], ["a", "a"]) is None
    assert excess([1, 2], [3, 3], [1, 0], [2, 0], ["a", "b"]) is None
