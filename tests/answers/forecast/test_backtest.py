"""Forecasts held against what came, with figures that can be worked out."""

from __future__ import annotations

import msgspec
import pytest
from made_sessions import sessions

from ctxsim.answers.forecast.backtest import Tried, backtest


def test_what_was_always_so_and_stays_so_scores_nothing() -> None:
    found = list(backtest(sessions([2.0] * 12), (3,)))
    # From eight sessions on, while three more come: after 8 and 9. Both ranges are 6 to 6, which is what came.
    assert [(one.seen, one.level) for one in found] == [(n, level) for n in (8, 9) for level in (50, 80, 90)]
    assert {(one.low, one.came, one.high) for one in found} == {(6.0, 6.0, 6.0)}
    assert all(one.held and one.plain_held and one.score == one.plain == 0 for one in found)


def test_a_score_is_a_share_of_what_usually_comes() -> None:
    # Ten sessions of 2, then five of 3. After ten, the last tried, the forecast is 10 to 10, and 15 come: five outside,
    # which cost 2 / (1 - level) each. Five sessions of the mean 35 / 15 usually come to 35 / 3.
    values = [2.0] * 10 + [3.0] * 5
    found = list(backtest(sessions(values), (5,)))[-3:]
    for one, level in zip(found, (50, 80, 90), strict=True):
        score = 5 * 2 / (1 - level / 100) / (35 / 3)
        assert one == Tried(
            10, 5, "usd", level, pytest.approx(10.0), pytest.approx(10.0), 15.0, False, pytest.approx(score), False,
            pytest.approx(score),
        )  # fmt: skip


def test_the_plain_bootstrap_draws_the_sessions_before() -> None:
    # Of 1 to 10 a quarter of the draws lies below 3 and a quarter above 8, a twentieth at 1 and at 10. 12 comes.
    found = {one.level: one for one in backtest(sessions([*map(float, range(1, 11)), 12.0]), (1,)) if one.seen == 10}
    usual = (55 + 12) / 11
    assert found[50].plain == pytest.approx((5 + 4 * 4) / usual) and found[90].plain == pytest.approx(49 / usual)
    assert found[90].low < found[50].low < found[50].high < found[90].high and not found[90].plain_held


def test_of_each_horizon_so_many_are_tried_from_eight_sessions_on() -> None:
    made = sessions([2.0] * 24)

    def seen(*horizons: int, most: int | None = None) -> list[int]:
        return [one.seen for one in backtest(made, horizons, most) if one.level == 50]

    assert seen(6) == list(range(8, 19)), "the last six come after 18"
    assert seen(6, most=3) == [8, 12, 16] and seen(6, most=1) == [8] and seen(6, 12, most=2) == [8, 8, 11, 14]
    assert {one.ahead for one in backtest(sessions([2.0] * 30), most=1)} == {5, 10, 20}
    # Without prices of tokens there are no dollars, and none of a free model are worth a forecast.
    for dollars in ({}, {"usd": 0 * made.amounts["usd"]}):
        bare = msgspec.structs.replace(made, amounts={"tokens": made.amounts["tokens"], **dollars})
        assert {one.amount for one in backtest(bare, (6,), 1)} == {"tokens"}
