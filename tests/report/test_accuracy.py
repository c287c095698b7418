"""Tables of how far models and estimates are off: each value in its column, in its form."""

from __future__ import annotations

from ctxsim.answers.validation.accuracy import Accuracy, Consequence
from ctxsim.answers.validation.unseen import Unseen
from ctxsim.answers.validation.validation import Score
from ctxsim.report.accuracy import consequence_sheet, error_sheet, score_sheet, unseen_sheet
from ctxsim.report.sheet import text_rows, value_rows


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
