"""Held-out errors and risks of a sample made by hand, with figures that can be added up."""

from __future__ import annotations

import pytest
from made_samples import sample

from ctxsim.answers.calibration.calibration import by_project, cross_validate
from ctxsim.answers.calibration.risk import unsafe, votes
from ctxsim.recorded.sample import Sample, Sized

ODD = [0.25] * 4 + [0.5]


@pytest.mark.parametrize("made", [
    sample(ODD), sample(ODD, (0,) * 5), sample([0.25] * 8 + [0.5] * 2, (0, 0, 1, 1, 2, 2, 3, 3, 4, 4)),
])  # fmt: skip
def test_whole_projects_or_transcripts_are_held_out(made: Sample) -> None:
    # A quarter of a token a character is right four times and half as much as the fifth has. Fitted to the others it is
    # 500 / 1,600 for the four, a quarter too many, and 400 / 1,600 for the fifth: (4 x 0.25 + 0.5) / 5.
    found = cross_validate(made, None, False)
    assert list(found.items())[:3] == [("chars/4, held-out MAPE", 0.1), ("one ratio, held-out MAPE", 0.3),
                                       ("character classes, held-out MAPE", 0.3)]  # fmt: skip
    # From the first request's usage: 200 + 400 / 4 of 400, for the fifth alone.
    usage = cross_validate(made, None, True)
    assert usage["chars/4, held-out MAPE"] == 0.05


def test_five_are_enough_to_hold_some_out() -> None:
    assert not any(cross_validate(sample([0.25] * 4), None, False).values())
    # One token each of 400 characters, of which a quarter is 100.
    least = cross_validate(sample([1 / 400] * 5), None, False)
    assert least["chars/4, held-out MAPE"] == 99.0
    assert by_project(sample(ODD)) and not by_project(sample(ODD, (0, 1, 2, 3, 3)))
    empty = Sample([], [], [], 5, (0, 1, 2, 3, 4))
    assert list(cross_validate(empty, None, False).values()) == [None] * 5
    assert list(cross_validate(empty, None, True).values()) == [None] * 3


def test_a_divisor_is_judged_by_requests_of_half_the_largest_and_more() -> None:
    prompts = [Sized(0, 400, 100.0, ()), Sized(0, 160, 50.0, ()), Sized(0, 1, 49.9, ()), Sized(1, 30, 10.0, ()),
               Sized(2, 5, 0.0, ()), Sized(3, 5, 0.5, ())]  # fmt: skip
    # 400 / 4 is all of 100; 160 / 4 and 30 / 4 are less than 50 and 10; 5 / 4 is more than a half.
    assert votes(prompts, 4.0) == [(0, False), (0, True), (1, True), (3, False)]
    assert unsafe([(0, False), (0, True), (1, True), (2, False)]) == (0.5, 0.6667) and unsafe([]) == (None, None)
