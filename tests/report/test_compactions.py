"""Recorded compactions as text: shares with intervals by session, and what isn't known."""

from __future__ import annotations

from ctxsim.report.compactions import COLUMNS, again_lines, agent_lines, compaction_sheet, kind_lines, shares
from ctxsim.report.sheet import text_rows
from ctxsim.results.compactions import CompactionKindRow, CompactionRow

TEXTS = {"transcript", "root", "agent", "model", "started_by"}
COUNTS = {
    "calls_after", "call", "compaction", "controls", "identifiers_before", "needed_strict", "needed_strict_soon",
    "needed_loose", "needed_loose_soon", "needed_carried", "used_again", "reread_calls", "reread_exact",
}  # fmt: skip


def row(root: str, **values: object) -> CompactionRow:
    """A compaction of which everything is 0, unknown or empty, but what is given."""
    names = CompactionRow.__struct_fields__
    plain = {name: "" if name in TEXTS else 0 if name in COUNTS else None for name in names}
    return CompactionRow(**{**plain, "transcript": root, "root": root, "agent": "a", **values})  # type: ignore[arg-type]


def test_a_share_needs_both_numbers() -> None:
    rows = [
        row("s1", needed_strict=4, kept_strict=1),
        row("s2", needed_strict=0, kept_strict=0),
        row("s3", needed_strict=3),
    ]
    # Nothing needed is no share, and neither is a summary that nobody can read.
    assert [(one.root, share) for one, share in shares(rows, "kept_strict", "needed_strict")] == [("s1", 0.25)]


def test_means_have_intervals_by_session_and_one_session_has_none() -> None:
    rows = [row("s1", needed_strict=4, kept_strict=1), row("s2", needed_strict=4, kept_strict=3)]
    lines = list(agent_lines(rows))
    assert lines[0] == "a: 2 compactions in 2 sessions"
    # Resampled, both may be the one or the other: 25 to 75 %. Pooled: 4 of 8.
    assert "  kept of identifiers that later calls used: 50.0% (25.0%..75.0%), mean of 2; 4 of 8 in all" in lines
    one = list(agent_lines(rows[:1]))
    assert "  kept of identifiers that later calls used: 25.0%, mean of 1; 1 of 4 in all" in one


def test_repeats_are_compared_where_ten_calls_followed() -> None:
    rows = [
        row("s1", calls_after=10, reread_calls=3, control_reread_calls=1.0, control_needed_strict=0.0),
        row("s2", calls_after=9, reread_calls=0, control_reread_calls=1.0, control_needed_strict=0.0),
    ]
    line = next(line for line in agent_lines(rows) if "repeated" in line)
    assert line == "  repeated tool calls within ten calls: 3.00; without a compaction 1.00; difference 2.00"


def test_what_is_not_known_is_shown_so() -> None:
    (cells,) = text_rows(compaction_sheet([row("s1", needed_strict=2, tokens_before=150_000, share=0.75)]))
    assert (cells["strict"], cells["filled"], cells["before"]) == ("?/2", "75%", "150.0K")
    assert cells["session"].startswith("s1")


def test_kinds_are_added_up() -> None:
    found = {"s1": (10, 1), "s2": (30, 3), "s3": (5, None)}
    rows = [CompactionKindRow(name, 1, "path", *counts) for name, counts in found.items()]
    assert list(kind_lines(rows)) == ["identifiers kept by kind: path 10.0% of 40"]


def test_what_came_again_is_told_beside_its_control_and_below_ten_compactions_as_a_prior() -> None:
    counts = {"lost_used": 4, "lost_fetched": 1, "lost_shown": 4, "kept_used": 2, "kept_fetched": 1, "kept_shown": 0}
    rows = [row(f"s{n}", **counts) for n in range(10)]
    # Every session shows the same: no spread. Around all or none ten sessions leave 1 - .05^(1/10), 26 %.
    assert list(again_lines([*rows, row("unreadable")])) == [
        "Identifiers used after 10 compactions: 40 lost, 20 kept.",
        "Share of these that had come again before they were used (90 % intervals, by session):",
        "                                          lost  kept: control            excess",
        "same call or file fetched again 25% (25%..25%) 50% (50%..50%) -25% (-25%..-25%)",
        "any later result shows it       100% (74%..100%)   0% (0%..26%) +100% (+100%..+100%)",
    ]
    few = " ".join(again_lines(rows[:9]))
    assert few.startswith("In other recordings, 20% to 85% of what was lost")
    assert few.endswith("Your own 9 compactions can't tell: it takes 10.")


def test_columns_leave_a_narrow_terminal_one_by_one() -> None:
    ranks = [column.rank for column in COLUMNS if column.rank]
    assert len(set(ranks)) == len(ranks) > 5
