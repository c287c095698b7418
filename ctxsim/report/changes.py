"""What changed between two runs, as a table."""

from collections import Counter as Frequencies
from collections.abc import Callable, Sequence
from itertools import groupby

from ctxsim.answers.advice.comparison import Change
from ctxsim.answers.bill.unpaired import FIGURES, SHARE, Difference
from ctxsim.errors import many
from ctxsim.report.sheet import Cell, Column, Sheet, sheet, sheet_of
from ctxsim.report.style import compact
from ctxsim.results import Run

UNITS = (
    "A, B: means per transcript; tokens_sum, tokens_peak: tokens; cost_usd, cost_refetch_usd: USD; survival, "
    "survival_loose, cache_hit_ratio: shares, 1 is all (survival with summaries: if they kept nothing); compactions, "
    "refused: how many"
)


def change_sheet(changes: Sequence[Change], broken: Sequence[Change], shown: Callable[[str], str]) -> Sheet:
    """Return the figures that changed or break a rule, as a table for programs with the policies in each row."""
    policy = Column("policy", "policy", left=True, of=lambda change: Cell(change.policy, shown(change.policy)))
    return sheet_of("changes", "", [policy, *_columns(broken)], _moved(changes, broken))


def read_sheet(changes: Sequence[Change], broken: Sequence[Change], before: Run, after: Run) -> Sheet:
    """Return the same table for people: a row above the figures names their policies; with one pair, the title does."""
    moved = _moved(changes, broken)
    one = len({change.pair for change in changes}) == 1
    columns = _columns(broken)
    rows: list[tuple[object, ...]] = []
    marks = []
    for pair, own in groupby(moved, key=lambda change: change.pair):
        if not one:
            rows.append((_named(pair, before, after), *[""] * (len(columns) - 1)))
            marks.append("head")
        for change in own:
            rows.append(tuple(column.cell(change) for column in columns))
            marks.append("bad" if change in broken else "")
    sides = [f"{run.shown(label)} in {run.folder}" if one else str(run.folder)
             for run, label in zip((before, after), changes[0].pair, strict=True)]  # fmt: skip
    title = f"A: {sides[0]}\nB: {sides[1]}"
    return sheet("changes", title, columns, rows, marks=tuple(marks), notes=(f"{UNITS}.",) if rows else ())


def said(changes: Sequence[Change], broken: Sequence[Change]) -> str:
    """Return the result of a comparison in one line."""
    counts = Frequencies(change.verdict for change in changes)
    words = {"changed": "changed", "noise": "within noise", "same": "equal"}
    found = ", ".join(f"{counts[verdict]} {word}" for verdict, word in words.items() if counts[verdict])
    of = many(max(change.transcripts for change in changes), "transcript(s)")
    fails = f" Breaking a rule: {len(broken)}." if broken else ""
    return f"{many(len(changes), 'figure(s)')}: {found} ({of}).{fails}"


def _moved(changes: Sequence[Change], broken: Sequence[Change]) -> list[Change]:
    return [change for change in changes if change.verdict != "same" or change in broken]


def _named(pair: tuple[str, str], before: Run, after: Run) -> str:
    names = before.shown(pair[0]), after.shown(pair[1])
    return " -> ".join(dict.fromkeys(names if names[0] != names[1] or pair[0] == pair[1] else pair))


def _columns(broken: Sequence[Change]) -> tuple[Column, ...]:
    return (
        Column("column", "figure", left=True), Column("a", "A", of=lambda change: _figure(change.before)),
        Column("b", "B", of=lambda change: _figure(change.after)),
        Column("difference", "B - A", of=lambda change: _figure(change.difference, "+")),
        Column("percent", "%", "B - A as a share of A", rank=2, form="{:+,.1f}%"),
        Column("interval", "95 % interval", "of B - A, paired, by session; fewer than 6 sessions have none "
               "and no p: their B - A is exact, but says nothing about other sessions", of=_interval),
        Column("transcripts", "n", "transcripts with both A and B known", rank=3),
        Column("chance", "p", "of a sign-flip permutation test by session; above .05 if fewer than 6 sessions differ",
               form=lambda chance: f"<{LEAST_CHANCE}" if chance < LEAST_CHANCE else f"{chance:.2g}"),
        Column("verdict", "", left=True, of=lambda change: _verdict(change in broken, change.verdict)),
    )  # fmt: skip


def _interval(change: Change) -> Cell:
    if change.interval is None:
        return Cell(None, "-")
    low, high = change.interval
    return Cell({"low": low, "high": high}, "..".join(_figure(end, "+", 2).text for end in (low, high)))


def _verdict(fails: bool, verdict: str) -> Cell:
    return Cell("fails", "FAILS") if fails else Cell(verdict, verdict)


LEAST_CHANCE = 0.001
"""P-values below this are written as less than this."""


def unpaired_sheet(
    found: Sequence[Difference], broken: Sequence[Difference], alike: bool = True, left_out: tuple[int, int] = (0, 0)
) -> Sheet:
    """Return the figures of two sets of sessions as a table, with how often a change would be found in such sets.

    `alike` and `left_out` are as in `ctxsim.api.bill.Unpaired`.
    """
    marks = tuple("bad" if one in broken else "" for one in found)
    columns = (
        Column("figure", "figure", left=True), Column("a", "median A", rank=2, of=lambda one: _figure(one.before)),
        Column("b", "median B", rank=2, of=lambda one: _figure(one.after)),
        Column("effect", "change", "median over pairs, one session of A and one of B"
               f"{', of one project and model' if alike else ''}; the medians of A and B may differ by another amount",
               of=lambda one: Cell(one.effect, f"{one.effect:+,.1f}{_unit(one)}")),
        Column("interval", "95 % interval", "of the change", rank=1, of=lambda one: Cell(
            {"low": one.low, "high": one.high}, f"{one.low:+,.1f}..{one.high:+,.1f}{_unit(one)}")),
        Column("chance", "p", "chance of a difference this large if nothing changed", form="{:.3f}"),
        Column("power", f"finds +{SHARE:.0%}", "how often a change of this size would be found in sets like these; "
               "larger ones are found more often", rank=3, form="{:.0%}"),
        Column("verdict", "", left=True, of=lambda one: _verdict(one in broken, "changed" if one.changed else "noise")),
    )  # fmt: skip
    first, second = (max((one.sessions[side] for one in found), default=0) for side in (0, 1))
    title = f"{first:,} sessions before, {second:,} after"
    missing = [name for name in FIGURES if name not in {one.figure for one in found}]
    notes = [f"Not compared, as too few sessions have them: {', '.join(missing)}."] if missing else []
    if any(left_out):
        notes.append(
            f"Left out: {left_out[0]:,} and {left_out[1]:,} sessions whose project and model only one set has."
        )
    if not alike:
        notes.append("The sets have too few sessions of the same projects and models. All are compared, so a change "
                     "may be a difference between projects or models.")  # fmt: skip
    return sheet_of("unpaired", title, columns, found, marks=marks, notes=tuple(notes))


def _unit(one: Difference) -> str:
    return "%" if one.ratio else ""


def _figure(value: float, sign: str = "", digits: int = 3) -> Cell:
    """A figure with `digits` significant digits: 4 from 100 on, and from 1,000 on as `compact` writes it."""
    plus = sign if value >= 0 else "-"
    text = compact(abs(value)) if abs(value) >= 1_000 else f"{abs(value):.{4 if abs(value) >= 100 else digits}g}"
    return Cell(value, f"{plus}{text}")
