"""Forecasts: horizons, drift, totals, and what is held against what came."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import numpy as np
import pytest
from made_sessions import sessions

from ctxsim.answers.forecast.backtest import backtest, score
from ctxsim.answers.forecast.forecast import Amount, come, forecast, saved, saving
from ctxsim.answers.forecast.sessions import Next, parse_next
from ctxsim.errors import CtxsimError


def lognormal(many: int, seed: int = 0, deviation: float = 0.8) -> list[float]:
    return np.exp(np.random.default_rng(seed).normal(0, deviation, many)).tolist()


def test_a_horizon_is_a_number_of_sessions_or_of_days() -> None:
    assert parse_next("20") == Next(20) and str(Next(20)) == "20 sessions"
    assert parse_next("7d") == Next(7, days=True) and str(Next(1, days=True)) == "1 day"
    for text in ("0", "d", "7w", "-3", "1.5", "", "1000000"):
        with pytest.raises(CtxsimError, match=r"no horizon: a number of sessions, .* up to 999,999"):
            parse_next(text)


@pytest.fixture
def steady(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weeks differ as their days do, and no more; a few days tell the pace."""
    for name in ("OF_PERIODS", "OF_DAYS"):
        monkeypatch.setattr(f"ctxsim.answers.forecast.forecast.{name}", 0.0)


def test_weeks_differ_more_than_their_days() -> None:
    # Two sessions each day: 14 in seven days, or exp(z√(0.35² + 1/28)) times as many, where |z| is 1.645 at most at
    # 90 %.
    days = [day for day in range(28) for _ in range(2)]
    found = come(sessions([1.0] * len(days), days=days), Next(7, days=True), np.random.default_rng(0))
    low, middle, high = np.percentile(found, (5, 50, 95))
    assert (low, middle, high) == pytest.approx((14 / np.exp(0.654), 14, 14 * np.exp(0.654)), abs=0.6)


def test_one_day_tells_little_of_the_pace() -> None:
    # Eight sessions on a Monday: 40 on the five weekdays of the next seven, or exp(z√(0.35² + 1)) times as many.
    found = come(sessions([1.0] * 8, days=[4] * 8), Next(7, days=True), np.random.default_rng(0))
    low, middle, high = np.percentile(found, (5, 50, 95))
    assert (low, middle, high) == pytest.approx((40 / np.exp(1.743), 40, 40 * np.exp(1.743)), rel=0.1)


@pytest.mark.usefixtures("steady")
def test_weekends_are_apart() -> None:
    # 1970-01-05 was a Monday: five weekdays with two sessions each, weekends with none, four weeks long.
    days = [4 + 7 * week + day for week in range(4) for day in range(5) for _ in range(2)]
    one = sessions([1.0] * len(days), days=days)
    # Nothing comes at a weekend, and nothing costs nothing.
    assert forecast(one, "", Next(2, days=True)).amounts["usd"].ranges == dict.fromkeys(("50", "80", "90"), (0.0, 0.0))
    # The last day is a Friday: of the next seven two are of a weekend.
    assert set(come(one, Next(7, days=True), np.random.default_rng(0)).tolist()) == {10}
    assert set(come(one, Next(2, days=True), np.random.default_rng(0)).tolist()) == {0}


@pytest.mark.usefixtures("steady")
def test_weekends_that_nobody_has_seen_bring_nothing() -> None:
    # Two sessions each on Monday, Tuesday and Wednesday; five of the seven days from Thursday on are no weekend. And
    # from Friday to Monday one each: Tuesday's and Wednesday's are as Friday's and Monday's.
    for days, ahead, many in (([4, 4, 5, 5, 6, 6], 7, 10), ([8, 9, 10, 11], 2, 2), ([8, 8, 9, 10, 11, 11], 1, 2)):
        found = come(sessions([1.0] * len(days), days=days), Next(ahead, days=True), np.random.default_rng(0))
        assert set(found.tolist()) == {many}
    # Saturday and Sunday alone say nothing of other days: two each on all seven.
    found = come(sessions([1.0] * 4, days=[2, 2, 3, 3]), Next(7, days=True), np.random.default_rng(0))
    assert set(found.tolist()) == {14}
    untimed = msgspec.structs.replace(sessions([1.0] * 4), started=(None, 1.0, 2.0, 3.0), untimed=7)
    assert forecast(untimed, "", Next(3)).untimed == 7
    assert set(come(untimed, Next(3), np.random.default_rng(0)).tolist()) == {3}
    with pytest.raises(CtxsimError, match="some sessions have no time"):
        come(untimed, Next(3, days=True), np.random.default_rng(0))


@pytest.mark.usefixtures("steady")
@pytest.mark.parametrize("quiet", [21, 140, 14_000])
def test_days_before_the_pace_changed_do_not_count(quiet: int) -> None:
    # One session, a quiet time, and four sessions a day in four weeks: 7 * 4 in the next one.
    days = [4] + [4 + quiet + day for day in range(28) for _ in range(4)]
    found = come(sessions([1.0] * len(days), days=days), Next(7, days=True), np.random.default_rng(0))
    assert set(found.tolist()) == {28}


@pytest.mark.parametrize(("ahead", "ends"), [(1, (0, 2)), (5, (2, 8)), (10, (10, 10))])
def test_of_a_day_with_ten_sessions_fewer_may_come(ahead: int, ends: tuple[int, int]) -> None:
    # The first five sessions of each day have two compactions each, the other five none. Of all ways to choose five,
    # 1 of 252 has none of the first and 25 have one; as many have five and four.
    one = sessions([2.0] * 100, days=[day for day in range(10) for _ in range(10)])
    compacted = msgspec.structs.replace(one, amounts={**one.amounts, "compactions": np.repeat([2.0, 0.0] * 10, 5)})
    assert forecast(compacted, "", Next(ahead)).amounts["compactions"].ranges["90"] == ends


def test_sessions_all_alike_are_forecast_exactly() -> None:
    found = forecast(sessions([2.5] * 20), "keep-all", Next(8))
    assert found.basis == "sessions" and found.amounts["usd"].ranges["90"] == pytest.approx((20.0, 20.0))
    assert found.amounts["refused"].ranges["90"] == (0.0, 0.0) and found.amounts["usd"].middle == pytest.approx(20.0)
    assert found.recorded == {"usd": 50.0, "tokens": 50.0, "calls": 50.0, "compactions": 0.0, "refused": 0.0}
    assert (found.seen, found.known, found.priced, found.change, found.since) == (20, 20, 20, None, None)
    assert found.come == Amount(8.0, {"50": (8.0, 8.0), "80": (8.0, 8.0), "90": (8.0, 8.0)})
    rows = found.frame()
    assert rows.level.tolist() == [50, 80, 90] * 6 and rows.amount.tolist()[::3] == ["sessions", *found.amounts]
    assert rows.low.tolist()[:4] == [8.0, 8.0, 8.0, pytest.approx(20.0)]
    with pytest.raises(CtxsimError, match="nothing to forecast from"):
        forecast(sessions([]), "", Next(1))


def test_the_noise_of_a_session_is_in_what_is_continuous_only() -> None:
    # Half of the sessions have one compaction: of one session that comes none or one, nothing between.
    made = sessions([1.0, 9.0] * 10, per_day=1)
    made = msgspec.structs.replace(made, amounts={**made.amounts, "compactions": np.array([0.0, 1.0] * 10)})
    amounts = forecast(made, "", Next(1)).amounts
    assert amounts["compactions"].ranges["90"] == (0.0, 1.0)
    for name in ("usd", "tokens", "calls"):
        low, high = amounts[name].ranges["90"]
        assert low < 1 and high > 9


@pytest.mark.parametrize(("seen", "ahead", "deviation"), [(4, 4, 0.789), (4, 1, 1.1715), (2, 1, 1.2738)])
def test_a_range_by_priors_is_as_wide_as_projects_differ(seen: int, ahead: int, deviation: float) -> None:
    # In logarithms: the root of 1 / seen + 1 / ahead, of sessions, and 0.35 ^ 2, of periods. Around 3 a session.
    found = forecast(sessions([2.0, 4.0] * (seen // 2)), "", Next(ahead)).amounts["usd"]
    low, high = found.ranges["90"]
    assert np.log(high / low) == pytest.approx(2 * 1.645 * deviation, rel=0.08)
    assert found.middle == pytest.approx(3 * ahead, rel=0.12)


def test_what_is_saved_of_the_next_sessions_is_as_uncertain_as_twenty_sessions_leave_it() -> None:
    # All cost half. After 20 sessions a saving may be exp(0.374 z) times as large, 0.374 ^ 2 = 0.3 ^ 2 + 1 / 20: at
    # most 1 - 0.5 ^ exp(0.374 x 1.645) and at least 0.5 x exp(-0.374 x 1.645), at 90 %.
    high, low = 1 - 0.5 ** np.exp(0.374 * 1.645), 0.5 * np.exp(-0.374 * 1.645)
    found = saving(sessions([2.0] * 20), sessions([1.0] * 20), Next(5))
    assert found.ranges["90"] == pytest.approx((low, high), rel=0.04) and found.middle == pytest.approx(0.5, rel=0.03)
    # The same where only the last twenty count, and what was before would say something else.
    now, then = sessions([7.0] * 20 + [2.0] * 20), sessions([9.0] * 20 + [1.0] * 20)
    assert saving(now, then, Next(5)) == found
    free = sessions([0.0] * 20)
    assert saving(free, free, Next(5)) == Amount(0.0, {"50": (0.0, 0.0), "80": (0.0, 0.0), "90": (0.0, 0.0)})


def test_dollars_saved_are_the_share_saved_of_the_dollars_forecast() -> None:
    share = saving(sessions([2.0] * 20), sessions([1.0] * 20), Next(5)).ranges
    # Five sessions of two dollars come. What five older ones would have saved isn't known.
    for older in (0, 5):
        billed = np.repeat([0.0, 2.0], [older, 20])
        half, nothing = saved(sessions([2.0] * (20 + older)), billed, [billed / 2, 0 * billed], Next(5))
        for level, (low, high) in half.ranges.items():
            assert (low, high) == pytest.approx((10 * share[level][0], 10 * share[level][1]), rel=1e-6)
        assert nothing.middle == pytest.approx(0, abs=0.05)


def test_a_range_this_far_ahead_is_wider_by_what_later_sessions_differ() -> None:
    # All sessions are alike, so that nothing else makes it wide: exp(0.2 z), 1.645 at 90 %.
    found = forecast(sessions([2.0] * 20), "", Next(40)).amounts
    assert found["usd"].ranges["90"] == pytest.approx((80 * np.exp(-0.329), 80 * np.exp(0.329)), rel=0.04)
    # None of twenty sessions had a compaction; of forty, half as many come as one in twenty is, on average.
    assert found["compactions"].middle == 0 < found["compactions"].ranges["90"][1]
    assert found["refused"].ranges["90"] == (0.0, 0.0)
    made = sessions([2.0] * 20)
    made.amounts["compactions"][:] = 3
    ends = forecast(made, "", Next(40)).amounts["compactions"].ranges["90"]
    assert ends == pytest.approx((120 * np.exp(-0.329), 120 * np.exp(0.329)), rel=0.05)
    assert all(end == round(end) for end in ends)


def test_more_sessions_reach_as_high_as_fewer() -> None:
    few = sessions(lognormal(11, deviation=2.0))
    ends = [forecast(few, "", Next(ahead)).amounts["usd"].ranges["90"] for ahead in (4, 5, 6, 8, 20)]
    assert ends == sorted(ends)
    # But for a hundredth, by which a thousand draws differ.
    assert all(high > 0.99 * before for (_, before), (_, high) in pairwise(ends))


def test_the_interval_score_by_hand() -> None:
    # Width 4; 3 above: at 90 % each unit outside costs 20.
    assert score(1.0, 5.0, 3.0, 0.9) == 4.0
    assert score(1.0, 5.0, 8.0, 0.9) == pytest.approx(4 + 20 * 3)
    assert score(1.0, 5.0, 0.5, 0.5) == pytest.approx(4 + 4 * 0.5)


def test_a_backtest_knows_nothing_of_what_it_forecasts() -> None:
    values = lognormal(40)
    before = list(backtest(sessions(values), (5,), most=9))
    after = list(backtest(sessions([*values[:30], *[1000.0] * 10]), (5,), most=9))
    same = [(one.low, one.high) for one in before if one.seen <= 30]
    assert same == [(one.low, one.high) for one in after if one.seen <= 30]
    assert same and {one.seen for one in before} <= set(range(8, 36)) and {one.level for one in before} == {50, 80, 90}
