"""The tables of recorded compactions, and of what policies beside them keep: every cell of a row."""

from __future__ import annotations

from typing import Any

import pytest

from ctxsim.report.compactions import (
    BESIDE,
    COLUMNS,
    again_lines,
    agent_lines,
    beside_sheet,
    compaction_sheet,
    kind_lines,
)
from ctxsim.report.sheet import text_rows, value_rows
from ctxsim.results.compactions import BesideRow, CompactionKindRow, CompactionRow

TEXTS = {"transcript", "root", "agent", "model", "started_by"}


def row(root: str = "s", **values: Any) -> CompactionRow:
    """A compaction of which everything is 0 or empty, but what is given."""
    plain = {name: "" if name in TEXTS else 0 for name in CompactionRow.__struct_fields__}
    return CompactionRow(**{**plain, "transcript": root, "root": root, "agent": "a", **values})


def test_a_row_says_all_of_a_compaction() -> None:
    whole = row(
        "session-of-exactly-26-chars", compaction=2, started_by="auto", call=1_234, share=0.753, tokens_before=167_000,
        tokens_after=23_456, tokens_summary=1_500, needed_strict=4, kept_strict=1, needed_loose=3, kept_loose=0,
        needed_carried=9, kept_carried=8, reread_calls=3, control_reread_calls=1.25, cost_summary_usd=1.5,
        cost_cache_usd=0.256, payback_calls=12.34, calls_after=1_500,
    )  # fmt: skip
    bare = row(
        "s", share=None, tokens_before=None, tokens_after=None, tokens_summary=None, needed_strict=2, kept_strict=None,
        control_reread_calls=None, cost_summary_usd=None, cost_cache_usd=1.0, payback_calls=None,
    )  # fmt: skip
    found = compaction_sheet([whole, bare, row(cost_summary_usd=1.0, cost_cache_usd=None)])
    # The name and the number have 29 characters: 25 of them, and a sign that there are more.
    assert [list(one.values()) for one in text_rows(found)] == [
        ["…ion-of-exactly-26-chars 2", "a", "auto", "1234", "75%", "167.0K", "23.5K", "1,500", "1/4", "0/3", "8/9",
         "3 (1.2)", "1.76", "12.3", "1500"],
        ["s 0", "a", "?", "0", "-", "-", "-", "-", "?/2", "-", "-", "0 (-)", "-", "-", "0"],
        ["s 0", "a", "?", "0", "0%", "0", "0", "0", "-", "-", "-", "0 (0.0)", "1.00", "0.0", "0"],
    ]  # fmt: skip
    assert [row["session"] for row in value_rows(found)] == ["session-of-exactly-26-chars 2", "s 0", "s 0"]


@pytest.mark.parametrize(("length", "shown"), [(24, "x" * 24 + " 0"), (25, "…" + "x" * 23 + " 0")])
def test_a_name_of_26_characters_is_whole(length: int, shown: str) -> None:
    assert compaction_sheet([row("x" * length)]).rows[0][0].text == shown and len(shown) == 26


def test_columns_have_their_sides_and_leave_in_this_order() -> None:
    assert [one.name for one in COLUMNS if one.left] == ["session", "agent", "by"]
    assert {one.name: one.rank for one in COLUMNS if one.rank} == {
        "agent": 6, "by": 5, "filled": 4, "summary": 3, "loose": 7, "carried": 8, "payback": 2, "calls": 1
    }  # fmt: skip
    assert [one.name for one in BESIDE if one.left] == ["policy", "at"]
    assert {one.name: one.rank for one in BESIDE if one.rank} == {"tokens_left": 2, "over": 1, "carried": 3, "all": 4}


def test_each_agent_has_its_means_over_sessions() -> None:
    rows = [
        row("s1", agent="b", calls_after=12, reread_calls=4, control_reread_calls=1.5, needed_strict_soon=5,
            control_needed_strict=2.0, identifiers_before=1_000, identifiers_kept=100),
        row("s2", agent="b", calls_after=10, reread_calls=2, control_reread_calls=0.5, needed_strict_soon=3,
            control_needed_strict=0.0, identifiers_before=1_000, identifiers_kept=300),
        row("s3", agent="b", calls_after=10, reread_calls=99, control_reread_calls=None, identifiers_kept=None),
        row("s4", agent="a", calls_after=9, control_reread_calls=1.0, used_again=8, used_again_kept=2),
        row("s4", agent="a", calls_after=9, control_reread_calls=1.0, needed_loose=5, kept_loose=4,
            needed_carried=10, kept_carried=1),
    ]  # fmt: skip
    # Of two sessions there is no interval, as of one.
    assert list(agent_lines(rows)) == [
        "a: 2 compactions in 1 session",
        "  kept of quotations that later calls used: 80.0%, mean of 1; 4 of 5 in all",
        "  kept of identifiers that later calls used, with those that the agent had repeated: 10.0%, mean of 1; 1 of "
        "10 in all",
        "  kept of identifiers that the agent fetched again before it used them: 25.0%, mean of 1; 2 of 8 in all",
        "b: 3 compactions in 3 sessions",
        "  kept of all identifiers of the last request before it: 20.0%, mean of 2; 400 of 2,000 in all",
        "  repeated tool calls within ten calls: 3.00, mean of 2; without a compaction 1.00; difference 2.00",
        "  old identifiers used within ten calls: 4.00, mean of 2; without a compaction 1.00",
    ]
    # Of six there is one. All six alike have a deviation of 0.
    six = [row(f"s{n}", agent="b", calls_after=9, needed_loose=5, kept_loose=4) for n in range(6)]
    assert list(agent_lines(six))[1:] == [
        "  kept of quotations that later calls used: 80.0% (80.0%..80.0%), mean of 6; 24 of 30 in all"
    ]


def test_what_is_unknown_of_controls_counts_as_nothing() -> None:
    lines = list(agent_lines([row(calls_after=10, reread_calls=2, control_reread_calls=0.0, needed_strict_soon=4,
                                  control_needed_strict=None)]))  # fmt: skip
    assert lines[1:] == [
        "  repeated tool calls within ten calls: 2.00, mean of 1; without a compaction 0.00; difference 2.00",
        "  old identifiers used within ten calls: 4.00, mean of 1; without a compaction 0.00",
    ]


def test_shares_of_kinds_are_of_all_compactions() -> None:
    rows = [CompactionKindRow("t", 1, kind, before, kept) for kind, before, kept in
            (("path", 1_500, 500), ("id", 4, 1), ("id", 4, 0), ("name", 0, 0), ("path", 500, None))]  # fmt: skip
    assert list(kind_lines(rows)) == ["identifiers kept by kind: id 12.5% of 8, path 33.3% of 1,500"]
    assert list(kind_lines(rows[3:])) == []


def test_what_came_again_of_one_session_has_no_interval() -> None:
    counts = {"lost_used": 400, "lost_fetched": 100, "lost_shown": 300, "kept_used": None, "kept_fetched": None,
              "kept_shown": None}  # fmt: skip
    found = list(again_lines([row("s", **counts)] * 10))
    assert found[0] == "Identifiers used after 10 compactions: 4,000 lost, 0 kept."
    assert found[3].split() == ["same", "call", "or", "file", "fetched", "again", "-", "-", "-"] and len(found) == 5


def test_what_came_again_is_told_beside_its_control_and_below_ten_compactions_as_a_prior() -> None:
    counts = {"lost_used": 4, "lost_fetched": 1, "lost_shown": 4, "kept_used": 2, "kept_fetched": 1, "kept_shown": 0}
    rows = [row(f"s{n}", **counts) for n in range(10)]
    # Every session shows the same: no spread. Around all or none ten sessions leave 1 - .05^(1/10), 26 %.
    assert list(again_lines([*rows, row("unreadable", lost_used=None)])) == [
        "Identifiers used after 10 compactions: 40 lost, 20 kept.",
        "Share of these that had come again before they were used (90 % intervals, by session):",
        "                                          lost  kept: control            excess",
        "same call or file fetched again 25% (25%..25%) 50% (50%..50%) -25% (-25%..-25%)",
        "any later result shows it       100% (74%..100%)   0% (0%..26%) +100% (+100%..+100%)",
    ]
    assert list(again_lines([*rows[:9], row("unreadable", lost_used=None)])) == [
        "In other recordings, of identifiers that compactions lost and later calls used, 20% had first been fetched "
        "again by the same call, 85% shown again by some result. Measuring yours needs 10 compactions with readable "
        "history and summary; you have 9."
    ]


def beside(name: str, at: str, root: str = "s", **values: Any) -> BesideRow:
    plain: dict[str, Any] = dict.fromkeys(BesideRow.__struct_fields__, 0)
    texts = {"transcript": root, "root": root, "at": at, "name": name, "policy": f"{name}:n=1"}
    return BesideRow(**{**plain, **texts, **values})


def test_what_policies_beside_a_compaction_keep() -> None:
    rows = [
        beside("mask", "control", tokens_left=5, tokens_allowed=5, needed_strict=2, kept_strict=1),
        beside("recorded", "compaction", tokens_left=30_000, tokens_allowed=20_000, needed_strict=4, kept_strict=1,
               needed_carried=4, kept_carried=4, identifiers_before=10, identifiers_kept=1),
        beside("recorded", "compaction", "r", tokens_left=10_000, tokens_allowed=10_000, needed_strict=4, kept_strict=3,
               needed_carried=4, kept_carried=2, identifiers_before=10, identifiers_kept=3),
    ]  # fmt: skip
    found = beside_sheet(rows)
    assert [list(one.values()) for one in text_rows(found)] == [
        ["recorded", "compaction", "30,000", "50%", "50.0%", "75.0%", "20.0%"],
        ["mask", "control", "5", "0%", "50.0%", "-", "-"],
    ]
    assert found.name == "beside" and len(found.notes) == 1
