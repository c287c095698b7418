"""The rule on arrays: which shares of the draws decide."""

from __future__ import annotations

import numpy as np
import pytest

from ctxsim.answers.advice.rule import Seen, choice, choices, sound


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


def known(saved: list[float], kept: list[float], refused: list[float] | None = None, nothing: int | None = 0) -> Seen:
    """What is the same in every draw; doing nothing stands first."""
    draws = np.ones((10, 1))
    return Seen(
        np.array(saved), np.array(kept), np.array(refused or [0.0] * len(saved)), draws * saved, draws * kept, nothing
    )


@pytest.mark.parametrize(("saved", "kept", "taken"), [
    # Two per cent are worth it, and a tenth may be lost.
    ([0, 0.02], [1, 1], 1), ([0, 0.0199], [1, 1], 0), ([0, 0.5], [1, 0.9], 1), ([0, 0.5], [1, 0.8999], 0),
    # Less is lost than by the one that keeps most, whoever that is.
    ([0, 0.5, 0.1], [0.9, 0.85, 0.96], 2), ([0, 0.5, 0.1], [0.9, 0.86, 0.96], 1),
    # Of those that are up to two per cent dearer than the cheapest the one that keeps most; of equals the cheaper, then
    # the first.
    ([0, 0.3, 0.28], [1, 0.95, 0.99], 2), ([0, 0.3, 0.2799], [1, 0.95, 0.99], 1), ([0, 0.29, 0.3], [1, 0.95, 0.95], 2),
    ([0, 0.3, 0.3], [1, 0.95, 0.95], 1), ([0, -0.1, -0.2], [1, 1, 1], 0),
])  # fmt: skip
def test_the_rule_at_its_limits(saved: list[float], kept: list[float], taken: int) -> None:
    one = known(saved, kept)
    assert choice(one, 0.1) == taken
    assert choices(one, np.array([saved, saved]), np.array([kept, kept]), 0.1).tolist() == [taken, taken]
    assert sound(one, 0.1)[taken] or taken == 0


def test_which_are_sound() -> None:
    one = known([0, 0.3, 0.01, 0.5, 0.4], [1, 0.95, 0.99, 0.5, 0.9], [0, 0, 0, 0, 0.1])
    assert sound(one, 0.1).tolist() == [False, True, False, False, False]
    assert sound(one, 0.5).tolist() == [False, True, False, True, False]


@pytest.mark.parametrize(("refused", "nothing", "taken"), [
    # Where doing nothing is refused more than others nothing has to be saved; without it neither. Who is refused more
    # than the fewest is out, and then nobody may be left but the one that keeps most.
    ([0.2, 0.1, 0.1], 0, 1), ([0, 0, 0], None, 0), ([0.1, 0, 0], None, 1), ([0, 0, 0], 0, 0),
    ([0.2, 0.1, 0.2], 0, 1), ([0.1, 0.2, 0], 0, 2),
])  # fmt: skip
def test_refusals_go_before_amounts(refused: list[float], nothing: int | None, taken: int) -> None:
    assert choice(known([0, -0.1, -0.5], [0.95, 0.95, 0.99], refused, nothing), 0.1) == taken


def test_where_nobody_is_sound_the_one_that_keeps_most_of_those_that_pass() -> None:
    # Doing nothing is refused; in a quarter of the draws each of the others loses too much beside the other.
    one = known([0, 0.5, 0.4], [1, 0.9, 0.92], [0.1, 0, 0])
    kept = np.array([[1, 0.5, 1.0]] * 5 + [[1, 1.0, 0.5]] * 5)
    assert choice(one._replace(kept_next=kept), 0.1) == 2
    assert choice(one._replace(kept_next=kept, nothing=None), 0.1) == 2
    # In a resample it is the one that keeps most there.
    drawn = np.array([[1, 0.9, 0.92], [1, 0.93, 0.91]])
    assert choices(one._replace(kept_next=kept), np.array([one.saved] * 2), drawn, 0.1).tolist() == [2, 1]


def test_in_a_draw_the_lower_end_is_the_same_part_of_a_saving_and_a_loss_as_far_off() -> None:
    one = known([0, 0.3], [1, 0.95])
    # In all draws of the next sessions 0.92 are kept: 0.03 less than was seen, which is off in each way too.
    lossy = one._replace(kept_next=np.tile([1, 0.92], (10, 1)))
    ways, kept = (
        np.array([[0, 0.3], [0, 0.3], [0, 0.02], [0, 0.0199]]),
        np.array([[1, 0.93], [1, 0.929], [1, 1], [1, 1]]),
    )
    assert choices(lossy, ways, kept, 0.1).tolist() == [1, 0, 1, 0]
    # Where a saving of 30 % may be a loss, so may each that was seen; where its lower end is a half it is still one.
    for low, taken in ((-0.3, 0), (0.0, 0), (0.15, 1)):
        chance = one._replace(saved_next=np.tile([0, low], (10, 1)))
        assert choices(chance, ways[:1], kept[2:3], 0.1).tolist() == [taken] == [choice(chance, 0.1)]
