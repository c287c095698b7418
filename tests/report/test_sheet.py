"""The forms of a table: each by its whole text."""

from __future__ import annotations

import json

from ctxsim.report.sheet import (
    FORMS,
    Cell,
    Column,
    Sheet,
    as_csv,
    as_json,
    as_latex,
    as_markdown,
    cell,
    in_backticks,
    legend,
    marked,
    sheet,
    sheet_of,
    text_of,
    value_of,
    value_rows,
)

ROWS = sheet(
    "policies", "Costs & gains",
    [Column("policy", "policy", "its label", left=True), Column("usd", "USD", "what it costs"), "note"],
    [(Cell("a", "a"), 1234, None), (Cell("b", "b (bound)"), Cell({"": 0.5, "low": None}, "50%"), "x\ny|z")],
    marks=("bad", ""), notes=("One note.",),
)  # fmt: skip


def test_cells_know_a_value_and_its_text() -> None:
    assert (cell(1_234), cell(None), cell(0.5, "{:.0%}"), cell(2, lambda n: f"<{n}>")) == (
        (1234, "1,234"), (None, "-"), (0.5, "50%"), (2, "<2>")
    )  # fmt: skip
    assert [text_of(one) for one in (Cell(1, "one"), None, True, False, 1234.5678, 0.0, 10_000, "x", ())] == [
        "one", "-", "yes", "no", "1,235", "0", "10,000", "x", "()"
    ]  # fmt: skip
    assert (value_of(Cell(1, "one")), value_of(2)) == (1, 2)


def test_there_are_four_forms() -> None:
    assert set(FORMS) == {"table", "json", "csv", "md"}


def test_columns_give_cells_of_objects() -> None:
    assert Column("real", "r").cell(3) == 3 and Column("x", "r", of="real", form="{:.1f}").cell(3) == (3, "3.0")
    assert Column("x", "r", of=lambda n: n + 1).cell(3) == 4
    made = sheet_of("s", "S", (Column("real", "r", "about"),), [1, 2], notes=("n",))
    assert made == Sheet("s", "S", (Column("real", "r", "about"),), ((1,), (2,)), (), ("n",))
    assert (Column("a", "b").left, Column("a", "b").rank) == (False, 0)


def test_a_sheet_can_be_narrowed_and_its_first_column_stays() -> None:
    found = ROWS.only(["note", "nonsense", "policy"])
    assert [one.name for one in found.columns] == ["policy", "note"] and found.rows[0] == (("a", "a"), None)
    assert (found.marks, found.notes, found.title) == (ROWS.marks, ROWS.notes, ROWS.title)
    assert [one.left for one in sheet("a", "", ["x", "y"], []).columns] == [True, False]
    assert legend(ROWS.columns) == "USD: what it costs"
    assert list(marked(ROWS)) == [(ROWS.rows[0], "bad"), (ROWS.rows[1], "")]
    assert [mark for _, mark in marked(sheet("a", "", ["x"], [(1,), (2,)]))] == ["", ""]


def test_programs_get_values_and_parts_of_values() -> None:
    assert value_rows(ROWS) == [
        {"policy": "a", "usd": 1234, "note": None}, {"policy": "b", "usd": 0.5, "usd_low": None, "note": "x\ny|z"}
    ]  # fmt: skip
    told = as_json("bench", [ROWS], goal="kept")
    assert json.loads(told) == {
        "schema": 1, "command": "bench", "goal": "kept",
        "tables": [{"name": "policies", "title": "Costs & gains", "rows": value_rows(ROWS), "notes": ["One note."],
                    "columns": {"policy": "its label", "usd": "what it costs", "note": ""}}],
    }  # fmt: skip
    assert told.startswith('{\n  "schema": 1,\n  "command": "bench",\n') and told.endswith("\n}\n")
    assert json.loads(as_json("x", [], when=b"odd"))["when"] == "b'odd'"


def test_csv_has_an_empty_line_between_tables() -> None:
    assert as_csv([ROWS, sheet("none", "", ["p", "q"], [])]) == (
        'policy,usd,note,usd_low\na,1234,,\nb,0.5,"x\ny|z",\n\np,q\n'
    )
    # Texts are no formulas, and negative numbers stay numbers.
    assert as_csv([sheet("a", "", ["project", "usd"], [("=1+1", -3)])]) == "project,usd\n'=1+1,-3\n"


HEADED = sheet("changes", "", ["figure", "A"], [("p -> q", ""), ("tokens", 5)], marks=("head", ""))


def test_markdown_quotes_labels_alone() -> None:
    assert as_markdown(ROWS) == (
        "| policy | USD | note |\n|---|--:|--:|\n| `a` | 1,234 | - |\n| `b` (bound) | 50% | x y\\|z |\n"
    )
    assert as_markdown(HEADED) == "| figure | A |\n|---|--:|\n| `p -> q` |  |\n| tokens | 5 |\n"


def test_latex_is_a_table_with_its_caption_and_notes() -> None:
    assert (
        as_latex(ROWS)
        == r"""\begin{table}
\centering
\caption{Costs \& gains}
\begin{tabular}{lrr}
\hline
policy & USD & note \\ \hline
a & 1,234 & - \\
b (bound) & 50\% & x y\textbar{}z \\
\hline
\end{tabular}

\noindent{\footnotesize One note.}
\end{table}
"""
    )
    assert r"\multicolumn{2}{l}{p -\textgreater{} q} \\" in as_latex(HEADED)
    odd = as_latex(sheet("a", "\\~^<>|&%$#_{} --x", ["a"], []))
    assert odd.splitlines()[2] == (
        r"\caption{\textbackslash{}\textasciitilde{}\textasciicircum{}\textless{}\textgreater{}\textbar{}\&\%\$\#\_\{\}"
        r" -{}-x}"
    )


def test_a_fence_is_longer_than_the_backticks_within() -> None:
    found = [in_backticks(text) for text in ("a", "a`b", "a``b`c", "`a", "a`", "a\nb")]
    assert found == ["`a`", "``a`b``", "```a``b`c```", "`` `a ``", "`` a` ``", "`a b`"]
