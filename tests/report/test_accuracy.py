"""How far models and estimates are off: each value of a table, and where each line, point and box of a picture is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ctxsim.answers.validation.accuracy import Accuracy, Consequence, Observed, Point
from ctxsim.answers.validation.unseen import Unseen
from ctxsim.answers.validation.validation import Score
from ctxsim.report import accuracy
from ctxsim.report.accuracy import consequence_sheet, error_sheet, score_sheet, unseen_sheet
from ctxsim.report.sheet import text_rows, value_rows
from ctxsim.report.style import COLORS


def texts(sheet: object) -> list[list[str]]:
    return [list(row.values()) for row in text_rows(sheet)]  # type: ignore[arg-type]


def test_scores_are_in_their_columns() -> None:
    whole = Score("chat", "m", 1_200, 0.012, 0.034, 0.56, 40, 0.078, 0.091, 30, 0.87, 0.65, 1.234, 20, 0.987)
    bare = Score("chat", "", 3, 0.1, 0.2, 0.3, 0, None, None, 0, None, None, None, 0, None)
    found = score_sheet([whole, bare])
    assert texts(found) == [
        ["chat", "m", "1,200", "1.2%", "3.4%", "56%", "7.8%", "9.1%", "30", "87%", "65%", "1.23", "0.99"],
        ["chat", "?", "3", "10.0%", "20.0%", "30%", "-", "-", "-", "-", "-", "-", "-"],
    ]
    assert {one.name: one.rank for one in found.columns if one.rank} == {
        "within_5": 4, "unseen_p95": 5, "cache_calls": 6, "agreement": 1, "trivial": 7, "reads": 3, "usd": 2
    }  # fmt: skip
    assert [one.name for one in found.columns if one.left] == ["format", "model"]


def test_predictions_that_had_not_seen_the_usage() -> None:
    found = unseen_sheet([Unseen("later calls", 1_500, 0.0123, 0.25, -0.031)])  # type: ignore[arg-type]
    assert texts(found) == [["later calls", "1,500", "1.2%", "25.0%", "-3.1%"]] and len(found.notes) == 1
    assert found.columns[0].left and unseen_sheet([]).notes == ()


def test_errors_of_texts_are_of_all_kinds_together() -> None:
    def one(scope: str, kind: str) -> Accuracy:
        return Accuracy("chars", "o200k_base", scope, kind, 12, -0.05, 0.1, 0.08, 0.3, 0.4, -0.55, 0.0)

    found = error_sheet([one("text", "all"), one("text", "json"), one("request", "x"), one("usage", "x")])
    figures = ["12", "-5.0%", "10.0%", "8.0%", "30.0%", "40.0%", "-55%"]
    assert texts(found) == [["chars", "o200k_base", what, *figures] for what in ("texts: all", "requests",
                                                                               "recorded usage")]  # fmt: skip
    assert value_rows(found)[0]["worst"] == -0.55
    assert {one.name: one.rank for one in found.columns if one.rank} == {"against": 4, "p50": 3, "p99": 1, "worst": 2}
    assert [one.name for one in found.columns if one.left] == ["estimator", "against", "of"]


def test_what_wrong_estimates_do_to_a_threshold() -> None:
    values = dict.fromkeys(Consequence.__struct_fields__, 0) | {
        "estimator": "chars", "tokenizer": "o200k_base", "late": 3, "early": 2, "only_truth": 1, "extra_overflows": 4,
        "median_displacement_calls": 2.0, "median_tokens_late": 1_500.4, "median_tokens_early": None,
        "false_safe_calls": 5, "false_alarm_calls": 1, "calls": 40,
    }  # fmt: skip
    found = consequence_sheet([Consequence(**values)], 70_000)
    # 5 of 40 calls are 12.5 %, 1 of 40 is 2.5 %.
    assert texts(found) == [["chars", "3", "2", "1", "4", "+2", "1,500", "-", "12.5%", "2.5%"]]
    assert "over 70,000 tokens first acts" in found.title and found.title.endswith("with o200k_base")
    assert "over 70 % of" in consequence_sheet([Consequence(**values)], None).title
    assert {one.name: one.rank for one in found.columns if one.rank} == {
        "calls": 1, "tokens_late": 3, "tokens_early": 4, "false_alarm": 2
    }  # fmt: skip


def point(tokens: int, *estimates: int) -> Point:
    return Point("", "request", tokens, None, estimates)


def lines(axes: Any) -> list[tuple[Any, ...]]:
    return [(list(line.get_xdata()), list(line.get_ydata()), line.get_color()) for line in axes.lines]


def test_errors_are_of_requests_that_have_tokens(drawn: list[Any]) -> None:
    requests = [point(50, 40, 55), point(100, 90, 100), point(0, 7, 7)]
    seen = Observed([Point("", "json", 100, None, (90, 100))], requests, [requests], [])
    paths = accuracy.plot_accuracy(["a", "b"], seen, "t", Path("out"))
    assert [path.name for path in paths] == ["error-distribution.png", "error-by-kind.png"]
    [axes] = drawn[0].axes
    # a: 40 / 50 is -20 %, 90 / 100 is -10 %, 15 % off on average; b: +10 % and 0, 5 %.
    assert [text.get_text() for text in axes.get_yticklabels()] == ["b", "a"]
    assert axes.get_xlabel() == "error of whole requests against t, %\n(box: middle half, whiskers: 5 to 95 %)"
    medians = [line.get_xdata()[0] for line in axes.lines if line.get_color() == COLORS[1]]
    assert medians == pytest.approx([5, -15])
    # A box is the middle half: of 0 and 10 it is 2.5 to 7.5.
    edges = {round(float(x), 6) for line in axes.lines for x in line.get_xdata()}
    assert {2.5, 7.5, -17.5, -12.5} <= edges
    # A band of 20 % on either side, and a line at none.
    assert (axes.patches[-1].get_x(), axes.patches[-1].get_width()) == (-20, 40) and lines(axes)[-1][0] == [0, 0]
    assert drawn[0].get_size_inches().tolist() == pytest.approx([9, 2.4 + 2 * 0.34])
    assert [" ".join(text.get_text().split()) for text in drawn[0].texts] == [
        "b is nearest: off by 5.0 % on average",
        "left of 0: too low, requests may be refused; right: too high, context is cut early; band: ±20 %",
    ]
    accuracy._spread(["a"], [point(0, 7)], "t", Path("x.png"))
    assert drawn[2].texts[0].get_text().endswith("inf % on average")


def test_what_rounds_to_nothing_is_not_less_than_it(drawn: list[Any]) -> None:
    texts = [Point("json", "text", 1_000, None, (996, 1_004, 990))]
    accuracy._heat_map(["a", "b", "c"], texts, "t", Path("x.png"))
    assert [text.get_text() for text in drawn[0].axes[0].texts] == ["+0", "+0", "-1"]


def test_errors_by_kind_are_of_all_texts_of_a_kind_together(drawn: list[Any]) -> None:
    # json: (60 + 60) / (100 + 100) - 1 is -40 %, and (90 + 120) / 200 - 1 is +5 %; prose: +10 % and nothing.
    sizes = (("prose", 50, (55, 50)), ("json", 100, (60, 90)), ("json", 100, (60, 120)))
    texts = [Point("", kind, tokens, None, estimates) for kind, tokens, estimates in sizes]
    accuracy._heat_map(["chars", "words"], texts, "o200k_base", Path("x.png"))
    [axes] = drawn[0].axes
    assert [text.get_text() for text in axes.texts] == ["-40", "+10", "+5", "+0"]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["json", "prose"]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["chars", "words"]
    image = axes.images[0]
    assert image.get_array().tolist() == [pytest.approx([-40, 10]), pytest.approx([5, 0])]
    assert (image.get_clim(), image.get_cmap().name) == ((-60, 60), "RdBu")
    # Four kinds are as narrow as can be; rows are 0.36 inches high.
    assert drawn[0].get_size_inches().tolist() == pytest.approx([7, 2.3 + 2 * 0.36])
    told = [" ".join(text.get_text().split()) for text in drawn[0].texts]
    assert told == ["An estimator's error depends on what it counts", "error in % of all tokens of a kind, against "
                    "o200k_base; red: too low; blue: too high"]  # fmt: skip
    five = [Point("", kind, 10, None, (10,)) for kind in "abcde"]
    accuracy._heat_map(["x"], five, "t", Path("x.png"))
    accuracy._heat_map(["x"], [], "t", Path("x.png"))
    assert [one.get_size_inches()[0] for one in drawn[1:]] == [8, 7]
    assert drawn[2].axes[0].images[0].get_array().shape == (1, 1)


def test_a_calibration_says_what_its_points_are(drawn: list[Any]) -> None:
    accuracy.plot_calibration([(1_000, 20, "x"), (9_000, 30, "y")], 3.456, Path("c.png"))
    accuracy.plot_calibration([(1_000, 2, "x")], 3.5, Path("c.png"))
    left, right = drawn[0].axes
    assert (left.get_xlabel(), left.get_ylabel()) == ("characters", "tokens")
    assert [text.get_text() for text in left.get_legend().get_texts()] == [
        "characters / 3.46, fitted",
        "characters / 4",
    ]
    assert not left.get_legend().get_frame_on() and drawn[0].get_size_inches().tolist() == [12.5, 5.5]
    assert left.xaxis.get_major_formatter()(2_000) == left.yaxis.get_major_formatter()(2_000) == "2K"
    assert right.get_xlabel() == "characters per token (box: middle half, whiskers: 5 to 95 %)"
    assert right.lines[-1].get_linestyle() == ":"
    assert [" ".join(text.get_text().split()) for text in drawn[0].texts] == [
        "3.46 characters a token fit these 2 points",
        "left: a line estimates the points above it too low; right: the ratio depends on the content; "
        "largest groups, texts of 20 tokens and more; dotted: 4",
    ]
    accuracy.plot_calibration([(1, 20, "x"), (2, 0, "y")], 3.5, Path("c.png"))
    assert lines(drawn[2].axes[0])[0][:2] == ([1], [20])
    # Of fewer than 20 tokens there is no box.
    assert len(drawn[1].axes[1].lines) == 1


def test_a_calibration_is_a_cloud_two_lines_and_a_box_for_each_group(drawn: list[Any]) -> None:
    cloud = [(80, 20, "x"), (400, 100, "x"), (90, 30, "y"), (19, 19, "z"), (0, 50, "n"), (50, 0, "n"), (19, 1, "z")]
    more = [(40, 20, f"g{n:02}") for n in range(12)]
    accuracy.plot_calibration([*cloud, *more], 3.5, Path("c.png"))
    left, right = drawn[0].axes
    points, fitted, plain = lines(left)
    assert points[0][:4] == [80, 400, 90, 19] and points[1][:5] == [20, 100, 30, 19, 1] and len(points[0]) == 17
    assert points[2] == COLORS[0]
    # From the least to the most characters: 19 / 3.5 to 400 / 3.5, and by 4.
    assert fitted[:2] == ([19, 400], pytest.approx([19 / 3.5, 400 / 3.5])) and fitted[2] == COLORS[1]
    assert plain[:2] == ([19, 400], pytest.approx([4.75, 100]))
    assert (left.get_xscale(), left.get_yscale()) == ("log", "log")
    names = [text.get_text() for text in right.get_yticklabels()]
    # At most 12 groups, the largest at the top; 19 tokens say nothing of a ratio, 20 do.
    assert len(names) == 12 and names[-1] == "x (2)" and names[-2] == "y (1)" and "z (1)" not in names
    medians = [line.get_xdata()[0] for line in right.lines if line.get_color() == COLORS[1]]
    assert medians[-2:] == [3, 4] and medians[0] == 2 and lines(right)[-1][0] == [4, 4]
