"""What changed between two runs, as a table."""

from collections.abc import Callable, Sequence

from ctxsim.answers.advice.comparison import Change
from ctxsim.answers.bill.unpaired import FIGURES, SHARE, Difference
from ctxsim.report.sheet import Cell, Column, Sheet, cell, sheet


def change_sheet(changes: Sequence[Change], broken: Sequence[Change], shown: Callable[[str], str]) -> Sheet:
    """Return what isn't the same as a table, means over the transcripts that both have."""
    moved = [change for change in changes if change.verdict != "same"]
    rows, marks = [], []
    for change in moved:
        fails, interval = change in broken, change.interval
        between = None if interval is None else {"low": interval[0], "high": interval[1]}
        rows.append((
            Cell(change.policy, shown(change.policy)), change.column, _figure(change.before), _figure(change.after),
            _figure(change.difference, "+"), cell(change.percent, "{:+.1f}%"),
            Cell(between, "-" if interval is None else " .. ".join(_figure(end, "+").text for end in interval)),
            change.transcripts, cell(change.chance, "{:.2g}"),
            Cell("fails" if fails else change.verdict, "FAILS" if fails else change.verdict),
        ))  # fmt: skip
        marks.append("bad" if fails else "")
    columns = [
        Column("policy", "policy", left=True), Column("column", "column", left=True),
        Column("a", "A", "mean per transcript", rank=2), Column("b", "B", rank=1), Column("difference", "B - A"),
        Column("percent", "%"), Column("interval", "interval", "95 % of the paired difference, by session", rank=3),
        Column("transcripts", "n", "transcripts of which both are known", rank=2),
        Column("chance", "p", "of a sign-flip permutation test by session", rank=4), Column("verdict", "", left=True),
    ]  # fmt: skip
    count = max(change.transcripts for change in changes)
    note = f"{len(changes)} figures of {count:,} transcripts; {len(changes) - len(moved)} are the same."
    return sheet("changes", "", columns, rows, marks=tuple(marks), notes=(note,))


def unpaired_sheet(found: Sequence[Difference], broken: Sequence[Difference]) -> Sheet:
    """Return the figures of two sets of sessions as a table, and how often a change would be found in such sets."""
    rows, marks = [], []
    for one in found:
        unit = "%" if one.ratio else ""
        verdict = "FAILS" if one in broken else "changed" if one.changed else "noise"
        rows.append((
            one.figure, _plain(one.before), _plain(one.after), cell(one.effect, f"{{:+,.1f}}{unit}"),
            Cell({"low": one.low, "high": one.high}, f"{one.low:+,.1f} .. {one.high:+,.1f}"),
            cell(one.chance, "{:.3f}"), cell(one.power, "{:.0%}"), Cell(verdict.lower(), verdict),
        ))  # fmt: skip
        marks.append("bad" if one in broken else "")
    columns = [
        Column("figure", "figure", left=True), Column("a", "A", "median session", rank=2), Column("b", "B", rank=2),
        Column("effect", "B - A", "of sessions of one project and model"),
        Column("interval", "interval", "95 %", rank=3),
        Column("chance", "p", "chance of such a difference where nothing changed"),
        Column("power", "found", f"how often +{SHARE:.0%} would be, in sets like these", rank=1),
        Column("verdict", "", left=True),
    ]  # fmt: skip
    first, second = max((one.sessions for one in found), default=(0, 0))
    title = f"{first:,} sessions before, {second:,} after"
    missing = [name for name in FIGURES if name not in {one.figure for one in found}]
    notes = (f"Not compared, in too few sessions: {', '.join(missing)}.",) if missing else ()
    return sheet("unpaired", title, columns, rows, marks=tuple(marks), notes=notes)


def _figure(value: float, sign: str = "") -> Cell:
    """A figure in full from 1,000 on, else with four digits that count."""
    return cell(value, f"{{:{sign},.{'0f' if abs(value) >= 1_000 else '4g'}}}")


def _plain(value: float) -> Cell:
    return cell(value, "{:,.0f}" if value >= 100 else "{:,.3g}")
