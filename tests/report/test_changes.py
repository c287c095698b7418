"""What changed between two runs, and between two sets of sessions: each figure of a row by hand."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from ctxsim.answers.advice.comparison import Change
from ctxsim.answers.bill.unpaired import Difference
from ctxsim.report.changes import _figure, change_sheet, read_sheet, said, unpaired_sheet
from ctxsim.report.sheet import as_latex, as_markdown, text_rows, value_rows
from ctxsim.report.tables import print_sheet

MORE = Change(("p", "p"), "tokens_sum", 20_000.0, 25_000.0, (4_000.0, 6_500.0), 3, 0.0004)
NOISE = Change(("p", "p"), "cost_usd", 2.0, 1.5, (-1.25, 0.5), 3, 0.25)
SAME = Change(("p", "p"), "survival", 0.5, 0.5, (0.0, 0.0), 3, 1.0)
FROM_NOTHING = Change(("p", "q"), "refused", 0.0, 2.0, None, 1)


@pytest.mark.parametrize(
    ("value", "sign", "digits", "text"),
    [(0.0, "", 3, "0"), (0.12345, "", 3, "0.123"), (0.12345, "+", 2, "+0.12"), (-0.5, "+", 3, "-0.5"),
     (99.96, "", 3, "100"), (100.04, "", 3, "100"), (100.06, "", 3, "100.1"), (999.94, "+", 3, "+999.9"),
     (1_000.0, "", 3, "1,000"), (-10_000.0, "", 3, "-10.0K"), (1_310_000.0, "+", 3, "+1.31M")],
)  # fmt: skip
def test_a_figure_has_the_digits_that_count(value: float, sign: str, digits: int, text: str) -> None:
    assert _figure(value, sign, digits) == (value, text)


def test_a_row_has_both_means_their_difference_and_how_sure_it_is() -> None:
    found = change_sheet([MORE, NOISE, SAME, FROM_NOTHING], [MORE], str.upper)
    # 25,000 - 20,000 = 5,000, a quarter of 20,000. -0.5 is a quarter of 2. Of 0 nothing is a share.
    assert [list(row.values()) for row in text_rows(found)] == [
        ["P", "tokens_sum", "20.0K", "25.0K", "+5,000", "+25.0%", "+4,000..+6,500", "3", "<0.001", "FAILS"],
        ["P", "cost_usd", "2", "1.5", "-0.5", "-25.0%", "-1.2..+0.5", "3", "0.25", "noise"],
        ["P -> Q", "refused", "0", "2", "+2", "-", "-", "1", "-", "changed"],
    ]
    first, _, last = value_rows(found)
    assert first == {
        "policy": "p", "column": "tokens_sum", "a": 20_000.0, "b": 25_000.0, "difference": 5_000.0, "percent": 25.0,
        "interval_low": 4_000.0, "interval_high": 6_500.0, "transcripts": 3, "chance": 0.0004, "verdict": "fails",
    }  # fmt: skip
    assert (last["percent"], last["interval"], last["chance"], last["verdict"]) == (None, None, None, "changed")
    assert [(one.name, one.rank, one.left) for one in found.columns] == [
        ("policy", 0, True), ("column", 0, True), ("a", 0, False), ("b", 0, False), ("difference", 0, False),
        ("percent", 2, False), ("interval", 0, False), ("transcripts", 3, False), ("chance", 0, False),
        ("verdict", 0, True),
    ]  # fmt: skip


def test_a_chance_of_one_in_a_thousand_is_told_as_it_is() -> None:
    row = Change(("p", "p"), "cost_usd", 1.0, 2.0, (0.5, 1.5), 9, 0.001)
    assert text_rows(change_sheet([row], [], str))[0]["p"] == "0.001"


def test_a_figure_of_a_row_has_three_digits_and_an_end_of_its_interval_two() -> None:
    row = Change(("p", "p"), "cost_usd", 1.23456, 12.3456, (10.1234, 12.3456), 9, 0.0123)
    assert list(text_rows(change_sheet([row], [], str))[0].values())[2:] == [
        "1.23", "12.3", "+11.1", "+900.0%", "+10..+12", "9", "0.012", "changed"
    ]  # fmt: skip


@pytest.fixture
def runs() -> Any:
    return [SimpleNamespace(shown=lambda label, end=end: f"{label}{end}", folder=f"/f{end}") for end in "12"]


def test_one_pair_is_in_the_title_and_several_have_rows_of_their_own(runs: Any) -> None:
    one = read_sheet([MORE, SAME], [MORE], *runs)
    assert (one.title, one.marks, len(one.rows)) == ("A: p1 in /f1\nB: p2 in /f2", ("bad",), 1)
    both = read_sheet([MORE, NOISE, FROM_NOTHING], [FROM_NOTHING], *runs)
    assert both.title == "A: /f1\nB: /f2" and both.marks == ("head", "", "", "head", "bad")
    assert [text_rows(both)[n]["figure"] for n in range(5)] == ["p1 -> p2", "tokens_sum", "cost_usd", "p1 -> q2",
                                                                "refused"]  # fmt: skip
    assert all(len(row) == 9 for row in both.rows) and both.notes
    nothing = read_sheet([SAME], [], *runs)
    assert (nothing.rows, nothing.notes) == ((), ())


@pytest.mark.parametrize("length", [2, 9])
def test_a_label_above_its_figures_can_be_copied(runs: Any, length: int) -> None:
    label = "as-set:given=" + ";".join(f"agent/key_{n}=150000" for n in range(length))
    changes = [Change((label, label), "tokens_sum", 1.0, 2.0, None, 1), MORE]
    sheet = read_sheet(changes, [], runs[0], runs[0])
    out = Console(width=80, file=io.StringIO(), color_system=None)
    print_sheet(sheet, out.print, 80)
    lines = out.file.getvalue().splitlines()  # type: ignore[attr-defined]
    # On a line of its own, which the terminal wraps, above figures that stand below one another.
    assert f" {label}1" in lines and " p1" in lines
    one, two = (line for line in lines if line.startswith(" tokens_sum "))
    assert one.index("+1 ") + 1 == two.index("+5,000") + 5 and max(map(len, (one, two))) <= 80
    assert f"| `{label}1` |  |" in as_markdown(sheet)
    assert f"{{l}}{{{label}1}} ".replace("_", "\\_") in as_latex(sheet).replace("{9}", "")


def test_two_labels_that_are_shown_alike_are_told_whole() -> None:
    same: Any = SimpleNamespace(shown=lambda label: "short", folder="/f")
    both = read_sheet([MORE, FROM_NOTHING], [], same, same)
    # Two labels that are one are shown as one; two different ones, which would look alike, as they are.
    assert [both.rows[0][0], both.rows[2][0]] == ["short", "p -> q"]


@pytest.mark.parametrize(
    ("changes", "broken", "line"),
    [
        ([SAME], [], "1 figure: 1 equal (3 transcripts)."),
        ([SAME], [SAME], "1 figure: 1 equal (3 transcripts). Breaking a rule: 1."),
        ([SAME, SAME], [SAME], "2 figures: 2 equal (3 transcripts). Breaking a rule: 1."),
        ([MORE], [], "1 figure: 1 changed (3 transcripts)."),
        ([FROM_NOTHING], [], "1 figure: 1 changed (1 transcript)."),
        ([MORE, NOISE, SAME], [MORE],
         "3 figures: 1 changed, 1 within noise, 1 equal (3 transcripts). Breaking a rule: 1."),
        ([MORE, FROM_NOTHING, NOISE, NOISE, SAME, SAME], [MORE, FROM_NOTHING],
         "6 figures: 2 changed, 2 within noise, 2 equal (3 transcripts). Breaking a rule: 2."),
    ],
)  # fmt: skip
def test_a_line_says_what_it_comes_to(changes: list[Change], broken: list[Change], line: str) -> None:
    assert said(changes, broken) == line


def test_two_sets_of_sessions_are_a_row_for_each_figure() -> None:
    cost = Difference("cost", 2.0, 3.0, 50.0, 10.5, 90.0, 0.01, True, (5, 7), 0.42)
    many = Difference("compactions", 1.0, 1.0, 0.0, -1.0, 1.0, 0.9, False, (4, 9), None)
    tokens = Difference("tokens", 1_000.0, 2_000.0, 100.0, 50.0, 150.0, 0.05, True, (5, 7), 1.0)
    found = unpaired_sheet([cost, many, tokens], [cost], left_out=(0, 3))
    assert [list(row.values()) for row in text_rows(found)] == [
        ["cost", "2", "3", "+50.0%", "+10.5..+90.0%", "0.010", "42%", "FAILS"],
        ["compactions", "1", "1", "+0.0", "-1.0..+1.0", "0.900", "-", "noise"],
        ["tokens", "1,000", "2,000", "+100.0%", "+50.0..+150.0%", "0.050", "100%", "changed"],
    ]
    assert [row["verdict"] for row in value_rows(found)] == ["fails", "noise", "changed"]
    assert found.marks == ("bad", "", "") and found.title == "5 sessions before, 9 after"
    assert [one.name for one in found.columns if one.left] == ["figure", "verdict"]
    assert [(one.name, one.rank) for one in found.columns if one.rank] == [("a", 2), ("b", 2), ("interval", 1),
                                                                         ("power", 3)]  # fmt: skip
    missing, left = found.notes
    assert missing.endswith("have them: cost_per_call, tokens_per_call, head, calls.") and "0 and 3 sessions" in left
    assert "of one project and model" in found.columns[3].about
    apart = unpaired_sheet([cost], [], alike=False)
    assert "of one project" not in apart.columns[3].about and len(apart.notes) == 2
    assert unpaired_sheet([], []).title == "0 sessions before, 0 after"
