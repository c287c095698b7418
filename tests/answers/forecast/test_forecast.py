"""Forecasts: horizons, drift, totals, and what is held against what came."""

from __future__ import annotations

import numpy as np
import pytest

from ctxsim.answers.forecast.backtest import backtest, score
from ctxsim.answers.forecast.drift import change_point, last_change
from ctxsim.answers.forecast.forecast import forecast
from ctxsim.answers.forecast.known import Held, Told, error_range, held
from ctxsim.answers.forecast.sessions import Next, Sessions, come, parse_next
from ctxsim.errors import CtxsimError

DAY = 86_400.0


def sessions(values: list[float], per_day: int = 2, models: list[str] | None = None) -> Sessions:
    many = len(values)
    amounts = {name: np.array(values) for name in ("usd", "tokens", "calls")}
    amounts |= {"compactions": np.zeros(many), "refused": np.zeros(many)}
    return Sessions(
        tuple(f"s{n}" for n in range(many)), tuple(DAY * (4 + n // per_day) for n in range(many)), ("p",) * many,
        tuple(models or ["m"] * many), ("1",) * many, amounts, many,
    )  # fmt: skip


def lognormal(many: int, seed: int = 0, deviation: float = 0.8) -> list[float]:
    return np.exp(np.random.default_rng(seed).normal(0, deviation, many)).tolist()


def test_a_horizon_is_a_number_of_sessions_or_of_days() -> None:
    assert parse_next("20") == Next(20) and str(Next(20)) == "20 sessions"
    assert parse_next("7d") == Next(7, days=True) and str(Next(1, days=True)) == "1 day"
    for text in ("0", "d", "7w", "-3", "1.5", "", "1000000"):
        with pytest.raises(CtxsimError, match=r"no horizon: a number of sessions, .* up to 999,999"):
            parse_next(text)


def test_days_bring_as_many_sessions_as_days_did() -> None:
    # Two sessions on each of fourteen days, weekends too: seven days bring fourteen.
    many = come(sessions([1.0] * 28), Next(7, days=True), np.random.default_rng(0))
    assert set(many.tolist()) == {14}


def test_weekends_are_apart() -> None:
    # 1970-01-05 was a Monday: five weekdays with two sessions each, weekends with none, four weeks long.
    days = [4 + 7 * week + day for week in range(4) for day in range(5) for _ in range(2)]
    one = sessions([1.0] * len(days))
    one = Sessions(one.names, tuple(DAY * day for day in days), one.projects, one.models, one.versions, one.amounts, 40)
    # The last day is a Friday: of the next seven two are of a weekend.
    assert set(come(one, Next(7, days=True), np.random.default_rng(0)).tolist()) == {10}
    assert set(come(one, Next(2, days=True), np.random.default_rng(0)).tolist()) == {0}


def test_sessions_all_alike_are_forecast_exactly() -> None:
    found = forecast(sessions([2.5] * 20), "keep-all", Next(8))
    assert found.basis == "sessions" and found.amounts["usd"].ranges["90"] == pytest.approx((20.0, 20.0))
    assert found.amounts["refused"].ranges["90"] == (0.0, 0.0)


def test_too_few_sessions_or_too_many_to_come_have_no_interval() -> None:
    assert forecast(sessions(lognormal(7)), "", Next(2)).basis == "priors"
    assert forecast(sessions(lognormal(20)), "", Next(10)).basis == "sessions"
    far = forecast(sessions(lognormal(20)), "", Next(11))
    near = forecast(sessions(lognormal(20)), "", Next(10))
    assert far.basis == "priors"
    widths = [one.amounts["usd"].ranges["90"][1] / one.amounts["usd"].ranges["90"][0] for one in (near, far)]
    assert widths[1] > widths[0]


def test_more_sessions_reach_as_high_as_fewer() -> None:
    few = sessions(lognormal(11, deviation=2.0))
    ends = [forecast(few, "", Next(ahead)).amounts["usd"].ranges["90"] for ahead in (4, 5, 6, 8, 20)]
    assert ends == sorted(ends) and [high for _, high in ends] == sorted(high for _, high in ends)


def test_a_change_of_size_is_found_and_noise_is_not() -> None:
    rng = np.random.default_rng(3)
    steady = rng.normal(0, 1, 40)
    found = change_point(np.concatenate([steady[:25], steady[25:] + 3]))
    assert found is not None and abs(found[0] - 25) <= 1 and found[1] <= 0.01
    # Of a hundred series of noise about one seems to change at 1 %.
    assert sum(change_point(rng.normal(0, 1, 30)) is not None for _ in range(100)) <= 4
    assert change_point([0.0] * 7 + [9.0] * 7) is None


def test_after_a_new_model_only_its_sessions_count() -> None:
    found = forecast(sessions(lognormal(40), models=["old"] * 20 + ["new"] * 20), "", Next(5))
    assert found.change is not None and (found.change.at, found.change.what) == (20, "new")
    assert (found.seen, found.known) == (20, 40)
    assert last_change(sessions(lognormal(40))) is None


def test_the_interval_score_by_hand() -> None:
    # Width 4; 3 above: at 90 % each unit outside costs 20.
    assert score(1.0, 5.0, 3.0, 0.9) == 4.0
    assert score(1.0, 5.0, 8.0, 0.9) == pytest.approx(4 + 20 * 3)
    assert score(1.0, 5.0, 0.5, 0.5) == pytest.approx(4 + 4 * 0.5)


def test_a_backtest_knows_nothing_of_what_it_forecasts() -> None:
    values = lognormal(40)
    before = list(backtest(sessions(values), (5,)))
    after = list(backtest(sessions([*values[:30], *[1000.0] * 10]), (5,)))
    same = [(one.low, one.high) for one in before if one.seen <= 30]
    assert same == [(one.low, one.high) for one in after if one.seen <= 30]
    assert same and {one.seen for one in before} <= set(range(10, 36)) and {one.level for one in before} == {50, 80, 90}


def test_simulated_projects_are_held_as_often_as_the_level_says() -> None:
    tried = [one for seed in range(6) for one in backtest(sessions(lognormal(50, seed)), (10,), most=10)]
    held = {level: np.mean([one.held for one in tried if one.level == level]) for level in (50, 80, 90)}
    assert 0.35 <= held[50] <= 0.7 and 0.65 <= held[80] <= 0.95 and 0.78 <= held[90] <= 1


def test_errors_of_earlier_sessions_bound_the_next_one() -> None:
    # Of nineteen errors a twentieth lies below the first and above the last: split conformal at 90 %.
    errors = [1 + n / 100 for n in range(19)]
    assert error_range(errors) == pytest.approx((1.0, 1.18))
    # Of thirty-nine it is the second on either side.
    assert error_range([1 + n / 100 for n in range(39)]) == pytest.approx((1.01, 1.37))
    assert error_range(errors[:7]) is None


def test_after_a_miss_a_wider_range_is_asked_for() -> None:
    ratios = [*range(1, 9), 100, 100, 5]
    found = held([Told(str(n), n, 1.0, came, None, None, None, False) for n, came in enumerate(ratios)], 0.5)
    # Of the first eight the second and the seventh bound the ninth: 2 to 7, a miss. Then 0.525 are asked for of nine,
    # 2 to 8, a miss too, and 0.55 of ten, 2 to 100, which holds 5. The widths are 3.5, 4 and 50.
    assert found == [Held("tokens", 3, pytest.approx(1 / 3), pytest.approx(4))]
