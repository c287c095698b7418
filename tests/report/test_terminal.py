"""Tables on terminals of several widths, by all that is printed."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from ctxsim.report.sheet import Column, Sheet, sheet
from ctxsim.report.tables import blocks, fitting, print_sheet


def printed(one: Sheet, width: int, wide: bool = False, rest: str = "", styled: bool = False) -> str:
    out = Console(width=width, file=io.StringIO(), color_system="standard" if styled else None, force_terminal=styled)
    if wide or rest:
        print_sheet(one, out.print, width, wide, rest)
    else:
        print_sheet(one, out.print, width)
    return "\n".join(line.rstrip() for line in out.file.getvalue().splitlines())  # type: ignore[attr-defined]


LEAVING = sheet(
    "t", "A table",
    [Column("name", "name", "whose row", left=True), Column("one", "one", "the first", rank=1),
     Column("two_long", "two\nlong", rank=2), Column("last", "last")],
    [("ab:c=1,d=2", 1, 22, 333), ("b", 1, 2, 3)], notes=("A note.",),
)  # fmt: skip


def test_a_terminal_shows_what_fits_and_says_what_left() -> None:
    whole = """
A table

                   two
 name        one  long  last
 ───────────────────────────
 ab:c=1,d=2    1    22   333
 b             1     2     3

A note.
one: the first"""
    # Ten characters of names, three of `one`, four each of the others, two beside each and one at the edge: 30.
    assert printed(LEAVING, 80) == printed(LEAVING, 30, rest="--columns a") == whole
    assert (
        printed(LEAVING, 29, rest="--columns a")
        == """
A table

 name        one  last
 ─────────────────────
 ab:c=1,d=2    1   333
 b             1     3

A note.
one: the first
Left out at this width:
two_long (--columns a)."""
    )
    assert (
        printed(LEAVING, 23, rest="--wide shows all")
        == """
A table

 name        last
 ────────────────
 ab:c=1,d=2   333
 b              3

A note.
Left out at this width:
two long, one (--wide
shows all)."""
    )
    assert printed(LEAVING, 23).endswith("\nLeft out at this width:\ntwo long, one.")


@pytest.mark.parametrize(
    ("width", "left"),
    [(30, []), (29, ["two_long"]), (24, ["two_long"]), (23, ["two_long", "one"]), (1, ["two_long", "one"])],
)
def test_columns_leave_by_rank_where_it_gets_narrow(width: int, left: list[str]) -> None:
    found, gone = fitting(LEAVING, width)
    assert [one.name for one in gone] == left
    assert [one.name for one in found.columns] == [one.name for one in LEAVING.columns if one.name not in left]


@pytest.mark.parametrize(
    ("width", "parts"),
    # 13 for names, 5 for `one`, 6 for each of the others.
    [(30, [["one", "two_long", "last"]]), (29, [["one", "two_long"], ["last"]]), (24, [["one", "two_long"], ["last"]]),
     (23, [["one"], ["two_long"], ["last"]]), (5, [["one"], ["two_long"], ["last"]])],
)  # fmt: skip
def test_a_wide_table_stands_below_itself(width: int, parts: list[list[str]]) -> None:
    assert [[one.name for one in part.columns] for part in blocks(LEAVING, width)] == [["name", *one] for one in parts]


def test_a_name_keeps_twenty_characters_before_another_column_leaves() -> None:
    # 36 of the texts, 1 of the number, two beside each of three and one at the edge are 44.
    assert [len(fitting(TEXTS, width)[1]) for width in (64, 63)] == [0, 1]
    assert [len(blocks(TEXTS, width)) for width in (64, 63)] == [1, 2]
    assert printed(LEAVING, 23).count("name") == 1, "narrow unless told"


def test_a_line_wraps_unless_a_word_is_longer_than_it() -> None:
    def titles(width: int) -> list[str]:
        return printed(sheet("t", f"a {'c' * 20}", ["x"], [(1,)]), width).splitlines()[1:3]

    assert titles(20) == ["a", "c" * 20] and titles(19) == [f"a {'c' * 20}", ""]


def test_all_blocks_are_printed() -> None:
    assert (
        printed(LEAVING, 24, wide=True)
        == """
A table

                   two
 name        one  long
 ─────────────────────
 ab:c=1,d=2    1    22
 b             1     2


 name        last
 ────────────────
 ab:c=1,d=2   333
 b              3

A note.
one: the first"""
    )
    assert printed(sheet("e", "", ["a", "b"], [], notes=("Nothing.",)), 30) == "Nothing."


TEXTS = sheet(
    "t", "",
    [Column("policy", "policy", left=True), Column("text", "why", left=True), Column("n", "n", rank=1)],
    [("token-budget:budget=40000,retain=500", "a few words that go on and on beyond thirty-six characters", 1),
     ("x" * 50, "short", 2)],
    marks=("chosen", "dim"),
)  # fmt: skip


def test_texts_wrap_and_names_break_where_they_can() -> None:
    # 80 less 36 of the texts, 1 of the number, two beside each and one at the edge are 36 for names.
    assert (
        printed(TEXTS, 80)
        == """
 policy                                why                                    n
 ──────────────────────────────────────────────────────────────────────────────
 token-budget:budget=40000,retain=500  a few words that go on and on beyond   1
                                       thirty-six characters
 xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx  short                                  2
 xxxxxxxxxxxxxx

"""
    )
    assert (
        printed(TEXTS, 60)
        == """
 policy               why
 ──────────────────────────────────────────────────────────
 token-budget:        a few words that go on and on beyond
   budget=40000,      thirty-six characters
   retain=500
 xxxxxxxxxxxxxxxxxxx  short
 xxxxxxxxxxxxxxxxxxx
 xxxxxxxxxxxx


Left out at this width: n."""
    )
    # A name has twelve characters at least. A number stays whole.
    found = [line[:13].rstrip() for line in printed(TEXTS, 40).splitlines()[3:9]]
    assert found == [" token-", "   budget:", "   budget=", "   40000,", "   retain=500", " xxxxxxxxxxxx"]


HEADED = sheet(
    "c", "Changes", [Column("f", "figure", left=True), "A", Column("v", "verdict", left=True, rank=3)],
    [("before", 1, "x"), ("keep-all -> mask:keep=1", "", ""), ("tokens_sum", 5, "noise"), ("p:" + "k" * 40, "", ""),
     ("usd", 12_345, "changed")],
    marks=("", "head", "bad", "head", ""),
)  # fmt: skip


def test_rows_stand_below_their_heads_in_the_same_columns() -> None:
    assert (
        printed(HEADED, 80)
        == """
Changes

 figure           A  verdict
 ───────────────────────────
 before           1  x

 keep-all -> mask:keep=1
 tokens_sum       5  noise
 p:kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk
 usd         12,345  changed
"""
    )
    # A head that is longer than the terminal stays one word, to be copied.
    assert " p:kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk" in printed(HEADED, 25).splitlines()
    assert printed(HEADED, 25).splitlines()[3:6] == [
        " figure           A",
        " ──────────────────",
        " before           1",
    ]


def test_looks_say_what_matters() -> None:
    assert "\x1b[1mChanges\x1b[0m" in printed(HEADED, 80, styled=True)
    assert "\x1b[1m keep-all -> mask:keep=1\x1b[0m" in printed(HEADED, 80, styled=True)
    assert "\x1b[31mtokens_sum\x1b[0m" in printed(HEADED, 80, styled=True)
    found = printed(TEXTS, 80, styled=True)
    assert "\x1b[1;32mtoken-budget:budget=40000" in found and f"\x1b[2m{'x' * 36}" in found
    assert "\x1b[2mA note.\x1b[0m" in printed(LEAVING, 80, styled=True)
