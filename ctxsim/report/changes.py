"""What changed between two runs, as a table."""

from collections.abc import Callable, Sequence

from ctxsim.answers.advice.comparison import Change
from ctxsim.report.sheet import Cell, Column, Sheet, cell, sheet


def change_sheet(changes: Sequence[Change], broken: Sequence[Change], shown: Callable[[str], str]) -> Sheet:
    """Return what isn't the same as a table, means over the transcripts that both have."""
    moved = [change for change in changes if change.verdict != "same"]
    rows, marks = [], []
    for change in moved:
        fails, interval = change in broken, change.interval
        between = None if interval is None else {"low": interval[0], "high": interval[1]}
        rows.append((
            Cell(change.policy, shown(change.policy)), change.column, change.before, change.after,
            cell(change.difference, "{:+,.4g}"), cell(change.percent, "{:+.1f}%"),
            Cell(between, "-" if interval is None else f"{interval[0]:+,.3g} .. {interval[1]:+,.3g}"),
            change.transcripts, Cell("fails" if fails else change.verdict, "FAILS" if fails else change.verdict),
        ))  # fmt: skip
        marks.append("bad" if fails else "")
    columns = [
        Column("policy", "policy", left=True), Column("column", "column", left=True),
        Column("a", "A", "mean per transcript", rank=2), Column("b", "B", rank=1), Column("difference", "B - A"),
        Column("percent", "%"), Column("interval", "interval", "95 % of the paired difference, by session", rank=3),
        Column("transcripts", "n", "transcripts of which both are known", rank=2), Column("verdict", "", left=True),
    ]  # fmt: skip
    count = max(change.transcripts for change in changes)
    note = f"{len(changes)} figures of {count:,} transcripts; {len(changes) - len(moved)} are the same"
    return sheet("changes", "", columns, rows, marks=tuple(marks), notes=(note,))
