"""Where a habit changed: against every place tried by hand, and in series with several changes."""

from __future__ import annotations

from statistics import fmean

import msgspec
import numpy as np
import pytest
from made_sessions import sessions

from ctxsim.answers.forecast.drift import Change, change_point, last_change, last_pace
from ctxsim.answers.forecast.sessions import Sessions


def farthest(values: list[float]) -> int:
    """The place with eight or more on either side where the means differ most, in standard errors."""
    many = len(values)

    def difference(at: int) -> float:
        return abs(fmean(values[:at]) - fmean(values[at:])) / (1 / at + 1 / (many - at)) ** 0.5

    return max(range(8, many - 7), key=difference)


@pytest.mark.parametrize("seed", range(12))
def test_the_change_is_where_means_differ_most_for_their_numbers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    at = 8 + 3 * seed
    values = [*rng.normal(0, 1, at), *rng.normal(2.2, 1, 52 - at)]
    found = change_point(values)
    assert found is not None and found[0] == farthest(values)


def test_eight_values_on_either_side_are_enough_and_seven_are_not() -> None:
    # Two of 12,870 ways to order eight and eight are as far apart: of 1,000 orders none but the values' own.
    assert change_point([0.0] * 8 + [1.0] * 8) == (8, 0.001)
    assert change_point([0.0] * 7 + [1.0] * 8) is None and change_point([0.0] * 8 + [1.0] * 7) is None
    assert change_point([1.0] * 40) is None


def test_what_ten_of_a_thousand_orders_show_is_a_change_and_what_eleven_show_is_not() -> None:
    # Both found among series of such numbers; at a level of one in a hundred.
    assert change_point([1, 3, 3, 1, 0, 2, 2, 3, 2, 2, 5, 5, 5, 5, 4, 5, 2, 2, 5, 3]) == (10, 0.01)
    assert change_point([3, 3, 3, 3, 0, 3, 3, 1, 0, 0, 5, 5, 4, 4, 5, 2, 5, 5, 2, 5]) is None


def test_the_last_of_several_changes_is_told() -> None:
    # The model changes at 12, and 18 sessions later the size; and the other way round.
    models = ["old"] * 12 + ["new"] * 47 + ["tried"]
    assert last_change(sessions([1.0] * 30 + [100.0] * 30, models=models)) == Change(30, "size", 0.001, True)
    made = dearer(sessions([1.0] * 12 + [100.0] * 48, models=["old"] * 30 + ["new"] * 29 + ["tried"]), 30)
    assert last_change(made) == Change(30, "new", 0.001, True)
    assert last_change(msgspec.structs.replace(made, started=(None, *made.started[1:]))) is None


def test_days_that_differ_are_no_change_of_size() -> None:
    sizes = [size for size in (1.0, 3.0, 2.0, 9.0, 7.0, 8.0) for _ in range(4)]
    assert last_change(sessions(sizes, per_day=1)) == Change(12, "size", 0.001, True)
    # Of 720 orders of six days, 72 have the three small ones first, or last.
    assert last_change(sessions(sizes, per_day=4)) is None
    # Of 924 ways to order twelve days, two.
    assert last_change(sessions([1.0] * 12 + [9.0] * 12, per_day=2)) == Change(12, "size", 0.002, True)


@pytest.mark.parametrize(("counts", "days"), [
    # A holiday is no pace, and the days before it count again; six days without a session may be one.
    ([3] * 40 + [0] * 21 + [3] * 2, [*range(40), 61, 62]), ([3] * 30 + [0] * 7 + [3] * 2, [*range(30), 37, 38]),
    ([3] * 30 + [0] * 6 + [3] * 3, [*range(30, 39)]),
    # A change needs days on both sides, so it may be found within the holiday.
    ([2] * 42 + [0] * 60 + [2] * 3, [*range(42), 102, 103, 104]),
    ([2] * 42 + [0] * 180 + [2] * 2, [*range(42), 222, 223]),
    # The pace before the holiday had changed too.
    ([1] * 20 + [9] * 20 + [0] * 21 + [9] * 2, [*range(20, 40), 61, 62]),
    # One session in ten days is a pace, and so are days since the holiday, if they are enough.
    ([3] * 20 + ([0] * 9 + [1]) * 5, [*range(20, 70)]), ([3] * 40 + [0] * 21 + [3] * 9, [*range(61, 70)]),
    # Without a change all days count.
    ([1, 0, 0, 0, 0, 0, 0, 0, 0, 0] * 4 + [1], [*range(41)]), ([2] * 9, [*range(9)]),
])  # fmt: skip
def test_the_days_of_the_last_pace(counts: list[int], days: list[int]) -> None:
    assert last_pace(np.array(counts)).tolist() == days


def dearer(made: Sessions, start: int) -> Sessions:
    """From a session on a token costs twice as much."""
    usd = made.amounts["usd"] * np.where(np.arange(len(made)) < start, 1.0, 2.0)
    return msgspec.structs.replace(made, amounts={**made.amounts, "usd": usd})


def test_a_model_whose_tokens_cost_what_others_cost_leaves_all_sessions_counting() -> None:
    alike = sessions([1.0] * 40, models=["old"] * 20 + ["new"] * 20)
    assert last_change(alike) == Change(20, "new", 0.001, True, cuts=False)
    assert last_change(dearer(alike, 20)) == Change(20, "new", 0.001, True, cuts=True)
    # Dearer from another place on than the model is new: not by the model.
    late = last_change(dearer(alike, 38))
    assert late is not None and not late.cuts
    unpriced = msgspec.structs.replace(alike, amounts={"tokens": alike.amounts["tokens"]})
    assert last_change(unpriced) == Change(20, "new", 0.001, True, cuts=False)
    # Of several changes of model, the last is told.
    later = sessions([1.0] * 60, models=["old"] * 20 + ["new"] * 20 + ["newest"] * 20)
    assert last_change(later) == Change(40, "newest", 0.001, True, cuts=False)
    # What cuts is told first, wherever it is.
    both = sessions([1.0] * 12 + [100.0] * 48, models=["old"] * 40 + ["new"] * 20)
    assert last_change(both) == Change(12, "size", 0.001, True)
