"""The rule on arrays: which shares of the draws decide."""

from __future__ import annotations

import numpy as np
import pytest

from ctxsim.answers.advice.rule import Seen, choice, choices


def seen(costs_more: int, loses_much: int) -> Seen:
    """Doing nothing, and a policy that saves 30 %: of a hundred draws so many cost more, and so many lose 20 %."""
    saved, kept = np.full((100, 2), 0.3), np.ones((100, 2))
    saved[:, 0] = 0.0
    saved[:costs_more, 1] = -0.1
    kept[:loses_much, 1] = 0.8
    return Seen(np.array([0.0, 0.3]), np.array([1.0, 0.98]), np.zeros(2), saved, kept, 0)


@pytest.mark.parametrize(("costs_more", "taken"), [(0, 1), (4, 1), (7, 0), (50, 0)])
def test_a_saving_that_is_none_in_a_twentieth_of_the_draws_is_chance(costs_more: int, taken: int) -> None:
    assert choice(seen(costs_more, 0), 0.1) == taken


@pytest.mark.parametrize(("loses_much", "taken"), [(0, 1), (18, 1), (22, 0), (90, 0)])
def test_a_policy_may_lose_too_much_in_a_fifth_of_the_draws(loses_much: int, taken: int) -> None:
    assert choice(seen(0, loses_much), 0.1) == taken
    # What may be lost is no loss.
    assert choice(seen(0, loses_much), 0.2) == 1


@pytest.mark.parametrize(("saved", "taken"), [(0.3, 1), (0.0, 0)])
def test_what_saves_nothing_over_all_sessions_is_the_choice_in_none_of_their_draws(saved: float, taken: int) -> None:
    one = seen(0, 0)._replace(saved=np.array([0.0, saved]))
    assert choices(one, np.array([[0.0, 0.3]]), np.ones((1, 2)), 0.1).tolist() == [taken]
