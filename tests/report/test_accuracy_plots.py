"""Pictures of accuracy: where each line, point and box is, in which colour."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ctxsim.answers.validation.accuracy import Observed, Point
from ctxsim.report import accuracy_plots
from ctxsim.report.style import COLORS, LIMIT_COLOR, OTHER_COLOR


def point(tokens: int, *estimates: int) -> Point:
    return Point("", "request", tokens, None, estimates)


def lines(axes: Any) -> list[tuple[Any, ...]]:
    return [(list(line.get_xdata()), list(line.get_ydata()), line.get_color()) for line in axes.lines]


def test_the_longest_run_is_drawn_with_estimates_that_are_far_off_in_colour(drawn: list[Any]) -> None:
    # At the last call of 100 tokens: 79 is 21 % too low, 80 is not yet, 120 neither, 121 is too high.
    long = [point(50, 40, 45, 50, 60), point(100, 79, 80, 120, 121)]
    seen = Observed([Point("", "json", 100, None, (90, 100, 110, 120))], [*long, point(0, 1, 1, 1, 1)],
                    [[point(20, 1, 1, 1, 1)], long], [])  # fmt: skip
    paths = accuracy_plots.plot_accuracy(list("abcd"), seen, "o200k_base", Path("out"))
    assert [path.name for path in paths] == ["estimates-per-call.png", "error-distribution.png", "error-by-kind.png"]
    [axes] = drawn[0].axes
    assert lines(axes) == [
        ([1, 2], [40, 79], LIMIT_COLOR), ([1, 2], [45, 80], OTHER_COLOR), ([1, 2], [50, 120], OTHER_COLOR),
        ([1, 2], [60, 121], COLORS[0]), ([1, 2], [50, 100], "black"),
    ]  # fmt: skip
    # The highest end is 121, and 5 % more.
    assert axes.get_xlim() == (1, 2) and axes.get_ylim() == pytest.approx((0, 127.05))
    assert drawn[0].texts[0].get_text().startswith("2 of 4 estimators are off by more than 20%")


def test_errors_are_of_requests_that_have_tokens(drawn: list[Any]) -> None:
    requests = [point(50, 40, 55), point(100, 90, 100), point(0, 7, 7)]
    accuracy_plots._spread(["a", "b"], requests, "t", Path("x.png"))
    left, right = drawn[0].axes
    # a: 40 / 50 is -20 %, 90 / 100 is -10 %, 15 % off on average; b: +10 % and 0, 5 %.
    xs, errors, color = lines(right)[-1]
    assert (xs, errors, color) == ([50, 100], pytest.approx([-20, -10]), COLORS[0])
    assert lines(right)[0][1] == [0, 0] and lines(left)[-1][0] == [0, 0] and right.get_xscale() == "log"
    assert [text.get_text() for text in left.get_yticklabels()] == ["b", "a"]
    assert right.xaxis.get_major_formatter()(20_000) == "20K" and "against t, %\n(box:" in left.get_xlabel()
    medians = [line.get_xdata()[0] for line in left.lines if line.get_color() == COLORS[1]]
    assert medians == pytest.approx([5, -15])
    # A box is the middle half: of 0 and 10 it is 2.5 to 7.5.
    edges = {round(float(x), 6) for line in left.lines for x in line.get_xdata()}
    assert {2.5, 7.5, -17.5, -12.5} <= edges
    assert drawn[0].texts[0].get_text() == "b is nearest: off by 5.0 % on average"
    accuracy_plots._spread(["a"], [point(0, 7)], "t", Path("x.png"))
    assert drawn[1].texts[0].get_text().endswith("inf % on average")


def test_what_rounds_to_nothing_is_not_less_than_it(drawn: list[Any]) -> None:
    texts = [Point("json", "text", 1_000, None, (996, 1_004, 990))]
    accuracy_plots._heat_map(["a", "b", "c"], texts, "t", Path("x.png"))
    assert [text.get_text() for text in drawn[0].axes[0].texts] == ["+0", "+0", "-1"]


def test_a_run_of_one_call_without_tokens_has_axes(drawn: list[Any]) -> None:
    accuracy_plots._per_call(["a"], [point(0, 0)], "t", Path("x.png"))
    [axes] = drawn[0].axes
    assert (axes.get_xlim(), axes.get_ylim()) == ((1, 2), (0, 1)) and lines(axes)[0][2] == OTHER_COLOR


def test_a_calibration_is_a_cloud_two_lines_and_a_box_for_each_group(drawn: list[Any]) -> None:
    cloud = [(80, 20, "x"), (400, 100, "x"), (90, 30, "y"), (19, 19, "z"), (0, 50, "n"), (50, 0, "n")]
    more = [(40, 20, f"g{n:02}") for n in range(12)]
    accuracy_plots.plot_calibration([*cloud, *more], 3.5, Path("c.png"))
    left, right = drawn[0].axes
    points, fitted, plain = lines(left)
    assert points[0][:4] == [80, 400, 90, 19] and points[1][:4] == [20, 100, 30, 19] and len(points[0]) == 16
    # From the least to the most characters: 19 / 3.5 to 400 / 3.5, and by 4.
    assert fitted[:2] == ([19, 400], pytest.approx([19 / 3.5, 400 / 3.5])) and fitted[2] == COLORS[1]
    assert plain[:2] == ([19, 400], pytest.approx([4.75, 100]))
    assert (left.get_xscale(), left.get_yscale()) == ("log", "log")
    names = [text.get_text() for text in right.get_yticklabels()]
    # At most 12 groups, the largest at the top; 19 tokens say nothing of a ratio, 20 do.
    assert len(names) == 12 and names[-1] == "x (2)" and names[-2] == "y (1)" and "z (1)" not in names
    medians = [line.get_xdata()[0] for line in right.lines if line.get_color() == COLORS[1]]
    assert medians[-2:] == [3, 4] and medians[0] == 2 and lines(right)[-1][0] == [4, 4]
