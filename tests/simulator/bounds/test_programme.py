"""What must be paid for needs, worked by hand: all choices of a few things, and the bound where there are more."""

from __future__ import annotations

import pytest

from ctxsim.simulator.bounds import programme
from ctxsim.simulator.bounds.programme import LEVELS, Goal, Keeping, Point, Programme, cheapest_alone

SOME = [Keeping(0, ((1, 0.5), (3, 0.25))), Keeping(1, ((1, 0.25),))]
"""0 costs a half up to call 1 and a quarter more up to call 3; 1 a quarter up to call 1."""
WANTED = [Goal(1, 0.25, (0, 1)), Goal(1, 0.25, (0, 1)), Goal(3, 0.5, (0,))]
"""Two goals of call 1 that either meets, which count as one; one of call 3 that only 0 does."""


def test_levels() -> None:
    assert LEVELS == (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0)


@pytest.mark.parametrize(("survival", "least"), [
    (0.0, Point(0.0, 0.0, {})), (0.5, Point(0.25, 0.25, {1: 1})), (0.51, Point(0.75, 0.75, {0: 3})),
    (1.0, Point(0.75, 0.75, {0: 3})),
    # Shares are rounded to six digits.
    (1e-6, Point(0.0, 0.0, {})), (2.2e-6, Point(0.25, 0.25, {1: 1})),
    (0.5000009, Point(0.25, 0.25, {1: 1})), (0.5000012, Point(0.75, 0.75, {0: 3})),
])  # fmt: skip
def test_a_few_choices_are_all_tried(survival: float, least: Point) -> None:
    assert Programme(SOME, WANTED).least(survival) == least


def test_nothing_is_to_be_paid_where_nothing_is_needed() -> None:
    assert Programme([], []).least(0.5) == Programme(SOME, []).least(1.0) == Point(0.0, 0.0, {})


@pytest.mark.parametrize(("steps", "bound"), [(399, 399.0), (400, 200.0)])
def test_of_more_than_400_choices_half_a_goal_costs_half(steps: int, bound: float) -> None:
    # As many steps and none: 400 or 401 choices. All steps meet the one goal, which half of each meets by half.
    one = Programme([Keeping(0, tuple((call, 1.0) for call in range(1, steps + 1)))], [Goal(steps, 1.0, (0,))])
    least = one.least(0.5)
    assert least.bound == pytest.approx(bound, abs=1e-2) and (least.found, least.kept) == (steps, {0: steps})


def test_a_goal_is_met_by_any_of_its_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programme, "FEW", 0)
    made = Programme(SOME, WANTED)
    # The second source is the cheaper one; the first one isn't paid for.
    half = made.least(0.5)
    assert half.bound == pytest.approx(0.25, abs=1e-5) and (half.found, half.kept) == (0.25, {1: 1})
    assert made.least(1.0).bound == pytest.approx(0.75, abs=1e-5)


def test_where_no_solution_is_known_all_is_kept_and_nothing_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programme, "FEW", 0)
    # Goals weigh 1 together: nothing reaches 2.
    assert Programme(SOME, WANTED).least(2.0) == Point(0.0, 1.0, {0: 3, 1: 1})


def test_the_heaviest_goals_are_met_first_and_the_last_in_part() -> None:
    goals = [Goal(1, weight, (0,)) for weight in (0.2, 0.5, 0.3)]
    for survival, paid in ((0.0, 0.0), (0.5, 2.0), (0.65, 3.0), (1.0, 6.0)):
        assert cheapest_alone(goals, 2.0, survival).bound == pytest.approx(paid, abs=1e-4)


def test_the_relaxed_programme_pays_a_whole_step_for_a_whole_goal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programme, "FEW", 0)
    # Either source meets the goal: the cheaper one, of which half meets half of it. Its second step isn't needed.
    keepings = [Keeping(0, ((3, 6.0), (5, 1.0))), Keeping(1, ((3, 10.0),))]
    either = Programme(keepings, [Goal(3, 1.0, (0, 1))])
    assert either.least(1.0).bound == pytest.approx(6.0, abs=1e-4)
    assert either.least(1.0).kept == {0: 3} and either.least(1.0).found == 6.0
    assert either.least(0.5).bound == pytest.approx(3.0, abs=1e-4)
    # The later step needs the one before it.
    later = Programme(keepings, [Goal(5, 1.0, (0,))])
    assert (later.least(1.0).bound, later.least(1.0).kept) == (pytest.approx(7.0, abs=1e-4), {0: 5})
