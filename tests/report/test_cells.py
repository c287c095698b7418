"""Cells of a policy's row: each from figures written by hand."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import pandas
import pytest

from ctxsim.answers.advice.figures import Figures, Share
from ctxsim.errors import UnknownName
from ctxsim.report import cells
from ctxsim.report.cells import BY_DOLLARS, EVERY, Row, chosen_columns, policy_sheet, shared
from ctxsim.results import Run


def figures(**given: Any) -> Figures:
    usual = dict.fromkeys(Figures.__struct_fields__) | {
        "policy": "p", "bound": False, "refused": 0, "tokens": 12_345, "tokens_share": Share(0.5), "peak": 2_000
    }  # fmt: skip
    return Figures(**{**usual, **given})


def text(
    name: str, part: dict[str, list[Any]] | None = None, ranks: Any = None, rate: float = 0.0, **given: Any
) -> Any:
    """The cell of a column."""
    run: Any = SimpleNamespace(shown=str.upper, rate=rate)
    run.spent = partial(Run.spent, run)
    [one] = [one for one in EVERY if one.name == name]
    return one.cell(Row(figures(**given), pandas.DataFrame(part or {}), run, ranks or {}))


def test_a_share_has_its_interval_where_that_is_wider_than_a_point() -> None:
    assert shared(None) == ({"": None, "low": None, "high": None}, "-")
    assert shared(Share(0.94, 0.91, 0.96)) == ({"": 0.94, "low": 0.91, "high": 0.96}, "94% (91-96)")
    assert shared(Share(0.5, 0.498, 0.502)).text == "50%" and shared(Share(0.5, 0.4, None)).text == "50%"
    assert shared(Share(0.9, 0.9, 0.902)).text == "90%" and shared(Share(0.9, None, 0.95)).text == "90%"
    assert shared(Share(0.123456789)).value[""] == 0.12345679


def test_plain_figures() -> None:
    assert text("policy") == ({"": "p", "bound": False}, "P")
    assert text("usd", usd=4.5) == (4.5, "4.50") and text("usd") == (None, "-")
    assert text("tokens") == (12_345, "12.3K") and text("peak") == (2_000, "2,000")
    assert text("tokens_share") == (0.5, "50%") and text("usd_share", usd_share=Share(0.25)).text == "25%"
    # Fetching again for 1 dollar of 4 is a quarter.
    assert text("refetch", usd=4.0, usd_again=1.0) == (0.25, "+25%")
    assert text("refetch", usd=0.0, usd_again=1.0) == text("refetch", usd=4.0) == (None, "-")
    # Of 5 dollars in which half of 2 is contained, the other half is a fifth.
    assert text("refetch", rate=0.5, usd=5.0, usd_again=2.0) == (0.2, "+20%")


def test_what_is_kept_lies_between_summaries_that_keep_nothing_and_all() -> None:
    assert text("kept").text == "none"
    assert text("kept", kept=Share(0.5), kept_low=0.4, kept_high=0.7) == (
        {"": 0.5, "low": None, "high": None, "if_nothing": 0.4, "if_all": 0.7}, "40..70%"
    )  # fmt: skip
    assert text("kept", kept=Share(0.5), kept_low=0.4, kept_high=0.404).text == "50%"
    assert text("kept", kept=Share(0.9), kept_low=0.899, kept_high=0.912).text == "90..91%"
    assert text("kept", kept=Share(0.9), kept_low=0.5, kept_high=0.95).text == "50..95%"
    assert text("kept", kept=Share(0.5), kept_low=0.4).text == "50%"


def test_refusals_are_a_call_of_one_transcript_or_a_number_of_several() -> None:
    none = {"first_failure": [None, None], "calls_until_first_failure": [9, 9]}
    assert text("refused", none) == ({"calls": 0, "transcripts": 0, "why": ""}, "-")
    one = {"first_failure": ["overflow"], "calls_until_first_failure": [4]}
    assert text("refused", one, refused=3) == ({"calls": 3, "transcripts": 1, "why": "window"}, "call 5: window")
    two = {"first_failure": ["stopped", "overflow", None, "overflow"], "calls_until_first_failure": [1, 2, 3, 4]}
    assert text("refused", two).text == "3: window, gave up"


def test_means_totals_and_ratios_are_of_what_is_known() -> None:
    assert text("compactions", {"compactions": [1, 2]}) == (1.5, "1.5")
    assert text("payback", {"payback_calls": [None, None]}) == (None, "-")
    assert text("estimate", {"estimate_bias": [0.1, -0.02]}) == (0.04, "+4.0%")
    assert text("rewritten", {"tokens_rewritten": [10_000, 345]}) == (10_345, "10.3K")
    assert text("tokens_summary", {"tokens_summary": [0, 0]}) == (0, "-")
    assert text("usd_read", {"cost_read_usd": [1.0, None, 2.5]}) == (3.5, "3.50")
    assert text("usd_write", {"cost_write_usd": [None]}) == (None, "-")
    # Ratios count transcripts alike: 1 / 2 and 3 / 3 are 75 %; one without tokens has none.
    both = {"tokens_sum": [1, 3, 5], "tokens_full_sum": [2, 3, 0], "tokens_refetch": [1, None, 5]}
    assert text("tokens_ratio", both) == (0.75, "75%")
    # Half of what is fetched again: 1.5 / 2 and 3 / 3.
    assert text("tokens_ratio", both, rate=0.5) == (0.875, "88%")
    again = {"tokens_refetch": [0, 0]}
    assert text("tokens_ratio", {"tokens_sum": [1, 3], "tokens_full_sum": [1, 2], **again}) == (1.25, "125%")
    # 2 dollars are half of keep-all's and 3 a third; 1 and 3 more make three quarters and two thirds at the rate 1.
    usd = {"cost_usd": [2.0, 3.0, None], "cost_vs_keep_all": [0.5, 1 / 3, None], "cost_refetch_usd": [1.0, 3.0, None]}
    assert text("usd_ratio", usd) == (pytest.approx(5 / 12), "42%")
    assert text("usd_ratio", usd, rate=1.0) == (pytest.approx(17 / 24), "71%")
    assert text("usd_refetch", usd) == (0.0, "-") and text("usd_refetch", usd, rate=0.5) == (2.0, "2.00")
    assert text("usd_refetch", {"cost_refetch_usd": [None]}) == (None, "-")
    assert text("kept_loose", {"survival_loose": [float("nan")]}) == (None, "-")
    # The least is pooled: 30 + 10 of 100 + 100, without the transcript that has none.
    least = {"tokens_frontier": [30, 10, None], "tokens_full_sum": [100, 100, 50]}
    assert text("least_tokens_any", least) == (0.2, "20%")
    assert text("least_tokens_any", {"tokens_frontier": [0], "tokens_full_sum": [0]}) == (None, "-")


def test_hits_quota_and_edited_results() -> None:
    # 90 % of 100 and 20 % of 300 were read: 150 of 400. The third has no cache.
    assert text("hit", {"cache_hit_ratio": [0.9, 0.2, None], "tokens_sum": [100, 300, 999]}) == (0.375, "38%")
    assert text("quota", {"smallest_quota": [5_000, 20_000]}) == (20_000, "20.0K")
    # Of a transcript without recorded usage, or of a version that didn't look for any, nothing is known.
    recorded = {"calls_recorded": [2, 0, None], "tokens_recorded_sum": [12_345, 0, None]}
    assert text("tokens_recorded", recorded) == (12_345, "12.3K")
    assert text("tokens_recorded", {name: its[1:] for name, its in recorded.items()}) == (None, "-")
    missed = {"results_missed": [1, 2], "results_edited": [4, 5]}
    assert text("missed", missed) == ({"missed": 3, "edited": 9}, "3/9")
    assert text("missed", {"results_missed": [0], "results_edited": [0]}).text == "-"


def test_ranks_are_ranges() -> None:
    assert text("rank", ranks={"p": (2, 4)}) == ({"low": 2, "high": 4}, "2-4")
    assert text("rank", ranks={"p": (1, 1)}).text == "1"
    assert text("rank") == ({"low": None, "high": None}, "-")


def test_columns_leave_a_narrow_terminal_in_this_order() -> None:
    assert {one.name: one.rank for one in EVERY if one.rank} == {
        "usd": 2, "usd_share": 1, "tokens_share": 4, "peak": 3, "tokens": 5
    }  # fmt: skip
    assert [one.name for one in EVERY if one.left] == ["policy", "refused"]


def test_columns_are_chosen_by_name() -> None:
    assert chosen_columns(" usd, ,kept") == ("usd", "kept")
    for wrong in ("", "usd,nonsense"):
        with pytest.raises(UnknownName):
            chosen_columns(wrong)
    with pytest.raises(UnknownName, match="kept"):
        chosen_columns("kep")


def test_a_sheet_has_the_columns_in_the_order_asked_for_and_marks_its_rows() -> None:
    rows = {"first_failure": [None], "calls_until_first_failure": [1]}
    run: Any = SimpleNamespace(
        of=lambda label: pandas.DataFrame(rows), shown=str, knows=lambda name: False, labels=["a", "b", "c", "d"],
        info=SimpleNamespace(title="T", bounds=("b",)),
    )  # fmt: skip
    every = {"a": figures(policy="a"), "b": figures(policy="b", bound=True), "c": figures(policy="c", refused=2),
             "d": figures(policy="d")}  # fmt: skip
    pooled: Any = SimpleNamespace(all=every, by_dollars=True)
    found = policy_sheet(run, pooled, list("abcd"), chosen="a")
    assert [one.name for one in found.columns] == list(BY_DOLLARS) and found.title == "T"
    assert found.marks == ("chosen", "dim", "bad", "")
    asked = policy_sheet(run, pooled, ["d"], ("tokens", "policy", "usd"))
    assert [one.name for one in asked.columns] == ["policy", "tokens", "usd"] and len(asked.rows) == 1
    pooled.by_dollars = False
    assert [one.name for one in policy_sheet(run, pooled, ["d"]).columns][1] == "tokens"


@pytest.mark.parametrize(("names", "knows", "ranked"), [(("rank",), True, True), (("rank",), False, False),
                                                        (("usd",), True, False), (("*",), True, True)])  # fmt: skip
def test_ranks_are_made_where_they_are_shown_of_all_but_bounds(
    names: tuple[str, ...], knows: bool, ranked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(cells, "rank_ranges", lambda rows: asked.append(rows) or {"a": (1, 2)})
    monkeypatch.setattr(cells, "EVERY", [one for one in EVERY if one.name in ("policy", "rank", "usd")])
    rows = pandas.DataFrame({"transcript": ["t"], "root": ["r"], "survival": [0.5], "more": [1]})
    run: Any = SimpleNamespace(of=lambda label: rows, shown=str, knows=lambda name: knows and name == "survival",
                               labels=["a", "b"], info=SimpleNamespace(title="T", bounds=("b",)))  # fmt: skip
    pooled: Any = SimpleNamespace(all={"a": figures(policy="a")}, by_dollars=True)
    found = policy_sheet(run, pooled, ["a"], names)
    assert [list(one) for one in asked] == [["a"]] * ranked
    if ranked:
        assert list(asked[0]["a"].columns) == ["transcript", "root", "survival"]
    assert ("rank" in [one.name for one in found.columns]) == (names != ("usd",))
    assert "1-2" in [getattr(cell, "text", "") for cell in found.rows[0]] or not ranked
