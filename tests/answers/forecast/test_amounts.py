"""Forecasts whose numbers can be worked out, and the constants that they rest on."""

from __future__ import annotations

import numpy as np
import pytest
from made_sessions import DAY, sessions

from ctxsim.answers.forecast import backtest as backtests
from ctxsim.answers.forecast import drift, forecast, known_texts, ranges
from ctxsim.answers.forecast.drift import last_change
from ctxsim.answers.forecast.forecast import Amount, by_priors, come, drawn_totals, saving
from ctxsim.answers.forecast.ranges import next_sessions, stretched
from ctxsim.answers.forecast.sessions import Next


def test_published_numbers() -> None:
    """As the modules and docs/forecast.md state them."""
    assert (ranges.DRAWS, ranges.HALF, ranges.FEW_BLOCKS, ranges.LEAST, ranges.DAY) == (1_000, 60, 5, 8, 86_400)
    assert (ranges.DRIFT, ranges.SCARCE, ranges.LEVEL) == (0.3, 1.0, 0.9)
    assert (drift.CHANCE, drift.SHUFFLES) == (0.01, 999)
    assert (forecast.LEVELS, forecast.FARTHEST) == ((0.5, 0.8, 0.9), 0.5)
    assert (forecast.OF_SESSIONS, forecast.OF_PERIODS, forecast.OF_DAYS) == (1.0, 0.35, 1.0)
    assert (backtests.HORIZONS, backtests.PLAIN) == ((5, 10, 20), 2_000)
    assert (known_texts.RECENT, known_texts.FEW, known_texts.STEP, known_texts.MOST) == (7, 3, 0.05, 0.99)


def test_draws_are_a_thousand_unless_others_are_asked_for() -> None:
    rng = np.random.default_rng(0)
    assert next_sessions(np.arange(3), np.ones(3), 4, rng).shape == (1_000, 3)
    assert next_sessions(np.arange(3), np.ones(3), 4, rng, 7).shape == (7, 3)
    assert come(sessions([1.0] * 3), Next(5), rng).tolist() == [5] * 1_000


@pytest.mark.parametrize(
    ("left", "unseen", "found"),
    # What is saved grows in logarithms; what shrinks, and what costs more, goes in a straight line.
    [(0.5, 2.0, 0.25), (0.5, 0.5, 0.75), (1.5, 2.0, 2.0), (1.5, 0.5, 1.25), (0.5, 1.0, 0.5), (1.0, 3.0, 1.0)],
)
def test_a_share_is_stretched(left: float, unseen: float, found: float) -> None:
    assert stretched(np.array([left]), np.array([unseen])).tolist() == pytest.approx([found])


def test_totals_are_drawn_of_each_amount() -> None:
    one = sessions([2.0] * 10)
    many = np.array([0, 3] * 500)
    drawn = drawn_totals(one, many, np.random.default_rng(0))
    assert list(drawn) == ["usd", "tokens", "calls", "compactions", "refused"]
    assert drawn["usd"][:2].tolist() == pytest.approx([0.0, 6.0]) and not drawn["refused"].any()


def test_priors_are_around_the_mean_of_those_seen() -> None:
    many = np.array([4] * 20_000)
    found = by_priors(sessions([2.0, 4.0]), many, np.random.default_rng(0))["usd"]
    # Twelve in the middle, and in logarithms the root of 1 / 2 + 1 / 4 + 0.35 ** 2.
    assert np.median(found) == pytest.approx(12, rel=0.03)
    assert np.log(found).std() == pytest.approx((0.75 + 0.35**2) ** 0.5, rel=0.03)
    # Counts are whole. Half a compaction is taken to have been seen besides: (3 + 1 / 2) / 2 x 4 = 7, times the mean
    # of a log-normal factor.
    one = sessions([2.0, 4.0])
    one.amounts["compactions"][1] = 3
    counted = by_priors(one, many, np.random.default_rng(0))
    assert not (counted["compactions"] % 1).any() and not counted["refused"].any()
    assert counted["compactions"].mean() == pytest.approx(7 * np.exp((1 / 4 + 0.35**2) / 2), rel=0.05)
    assert 0 < np.count_nonzero(by_priors(sessions([2.0] * 8), many, np.random.default_rng(0))["compactions"]) < 8_000
    none = by_priors(sessions([2.0]), np.zeros(5, dtype=np.int64), np.random.default_rng(0))
    assert not any(values.any() for values in none.values())


@pytest.mark.parametrize(("seen", "ahead", "basis"), [(8, 4, "sessions"), (8, 5, "far"), (7, 1, "priors"),
                                                      (20, 10, "sessions"), (20, 11, "far")])  # fmt: skip
def test_intervals_reach_half_as_far_as_was_seen(seen: int, ahead: int, basis: str) -> None:
    found = forecast.forecast(sessions([2.0] * seen), "p", Next(ahead))
    assert (found.policy, found.ahead, found.basis, found.come.middle) == ("p", Next(ahead), basis, ahead)
    low, high = found.amounts["usd"].ranges["90"]
    if basis == "sessions":
        assert (low, high) == pytest.approx((2 * ahead, 2 * ahead))
    else:
        assert low < 2 * ahead < high


def test_the_middle_of_what_is_saved_is_the_share_that_sessions_save() -> None:
    # Where nothing comes one session is drawn all the same.
    weekend = [4 + 7 * week + day for week in range(6) for day in range(5)]
    both = sessions([4.0] * 30, days=weekend), sessions([3.0] * 30, days=weekend)
    assert saving(*both, Next(1, days=True)).middle == pytest.approx(0.25, abs=0.01)
    dearer = saving(sessions([3.0] * 30), sessions([4.0] * 30), Next(5))
    assert dearer.middle == pytest.approx(-1 / 3, abs=0.02) and isinstance(dearer, Amount)


def test_what_was_before_a_change_counts_for_nothing() -> None:
    models = ["old"] * 20 + ["new"] * 20
    found = forecast.forecast(sessions([9.0] * 20 + [2.0] * 20, models=models), "", Next(10))
    assert (found.seen, found.known, found.since) == (20, 40, (4 + 10) * DAY) and found.change is not None
    assert found.amounts["usd"].ranges["90"] == pytest.approx((20, 20)) and found.recorded["usd"] == 220
    assert found.frame().to_dict("list")["level"] == [50, 80, 90] * 6
    assert list(found.frame().columns) == ["amount", "level", "low", "middle", "high"]


def test_a_change_is_told_with_how_seldom_it_is_by_chance() -> None:
    # Among the orders of ten and ten is the reverse, which is as far apart: two in a thousand.
    found = last_change(sessions([1.0] * 10 + [9.0] * 10, per_day=1))
    assert found is not None and (found.at, found.what, found.share) == (10, "size", 0.002)
    # Of two that are as seldom the one that comes first: then the later one is looked for behind it.
    models = ["a"] * 9 + ["b"] * 21
    both = last_change(sessions([1.0] * 20 + [9.0] * 10, models=models))
    assert both is not None and (both.at, both.what) == (20, "size")
    # What changed is told; where one takes another's place, the new one. Nobody says what "" is.
    for before, after, told in (
        (["a"] * 10, ["b"] * 6 + ["c"] * 4, (10, "a", False)), (["b"] * 10, ["a"] * 10, (10, "a", True)),
        ([""] * 10, ["a"] * 10, (10, "a", True)),
    ):  # fmt: skip
        only = last_change(sessions([1.0] * len([*before, *after]), models=[*before, *after]))
        assert only is not None and (only.at, only.what, only.more) == told
