"""What changed between two runs, as a table."""

from collections import Counter as Frequencies
from collections.abc import Callable, Sequence

from ctxsim.answers.advice.comparison import Change
from ctxsim.answers.bill.unpaired import FIGURES, SHARE, Difference
from ctxsim.errors import many
from ctxsim.report.sheet import Cell, Column, Sheet, cell, sheet
from ctxsim.report.style import compact
from ctxsim.results import Run

UNITS = (
    "A, B: means per transcript; tokens_sum, tokens_peak: tokens; cost_usd, cost_refetch_usd: USD; survival, "
    "survival_loose, cache_hit_ratio: shares, 1 is all; compactions, refused: how many"
)


def change_sheet(changes: Sequence[Change], broken: Sequence[Change], shown: Callable[[str], str]) -> Sheet:
    """Return what isn't the same as a table for programs, with the policies in each row."""
    rows = [(Cell(change.policy, shown(change.policy)), *_cells(change, broken)) for change in _moved(changes)]
    return sheet("changes", "", [Column("policy", "policy", left=True), *COLUMNS], rows)


def read_sheet(changes: Sequence[Change], broken: Sequence[Change], before: Run, after: Run) -> Sheet:
    """Return the same for people: figures below their policy, which a row of its own names; of one pair the title."""
    moved = _moved(changes)
    pairs = list(dict.fromkeys(change.pair for change in moved))
    one = len({change.pair for change in changes}) == 1
    rows: list[tuple[object, ...]] = []
    marks = []
    for pair in pairs:
        if not one:
            rows.append((_named(pair, before, after), *[""] * (len(COLUMNS) - 1)))
            marks.append("head")
        for change in moved:
            if change.pair == pair:
                rows.append(_cells(change, broken))
                marks.append("bad" if change in broken else "")
    sides = [f"{run.shown(label)} in {run.folder}" if one else str(run.folder)
             for run, label in zip((before, after), changes[0].pair, strict=True)]  # fmt: skip
    title = f"A: {sides[0]}\nB: {sides[1]}"
    return sheet("changes", title, COLUMNS, rows, marks=tuple(marks), notes=(f"{UNITS}.",) if rows else ())


def said(changes: Sequence[Change], broken: Sequence[Change]) -> str:
    """Return what a comparison comes to, in a line."""
    counts = Frequencies(change.verdict for change in changes)
    transcripts = max(change.transcripts for change in changes)
    of = f"({many(transcripts, 'transcript(s)')})"
    if counts["same"] == len(changes):
        return f"All {len(changes)} figures are the same {of}." if len(changes) > 1 else f"The figure is the same {of}."
    fails = f" {len(broken)} of them {'breaks' if len(broken) == 1 else 'break'} a rule." if broken else ""
    rest = "".join(
        f", {counts[verdict]} {'is' if counts[verdict] == 1 else 'are'} {word}"
        for verdict, word in (("noise", "noise"), ("same", "the same"))
        if counts[verdict]
    )
    return f"{counts['changed']} of {len(changes)} figures changed{rest} {of}.{fails}"


def _moved(changes: Sequence[Change]) -> list[Change]:
    return [change for change in changes if change.verdict != "same"]


def _named(pair: tuple[str, str], before: Run, after: Run) -> str:
    names = before.shown(pair[0]), after.shown(pair[1])
    return " -> ".join(dict.fromkeys(names if names[0] != names[1] or pair[0] == pair[1] else pair))


def _cells(change: Change, broken: Sequence[Change]) -> tuple[object, ...]:
    fails, interval = change in broken, change.interval
    between = None if interval is None else {"low": interval[0], "high": interval[1]}
    few = change.chance is not None and change.chance < LEAST_CHANCE
    return (
        change.column, _figure(change.before), _figure(change.after), _figure(change.difference, "+"),
        cell(change.percent, "{:+,.1f}%"),
        Cell(between, "-" if interval is None else "..".join(_figure(end, "+", 2).text for end in interval)),
        change.transcripts,
        Cell(change.chance, f"<{LEAST_CHANCE}") if few else cell(change.chance, "{:.2g}"),
        Cell("fails" if fails else change.verdict, "FAILS" if fails else change.verdict),
    )  # fmt: skip


COLUMNS = (
    Column("column", "figure", left=True), Column("a", "A"), Column("b", "B"), Column("difference", "B - A"),
    Column("percent", "%", "B - A as a share of A", rank=2),
    Column("interval", "95 % interval", "of B - A, paired, by session"),
    Column("transcripts", "n", "transcripts with both A and B known", rank=3),
    Column("chance", "p", "of a sign-flip permutation test by session; none where fewer than 6 sessions differ"),
    Column("verdict", "", left=True),
)  # fmt: skip

LEAST_CHANCE = 0.001
"""Chances below it are told as such."""


def unpaired_sheet(
    found: Sequence[Difference], broken: Sequence[Difference], alike: bool = True, left_out: tuple[int, int] = (0, 0)
) -> Sheet:
    """Return the figures of two sets of sessions as a table, and how often a change would be found in such sets.

    `alike` and `left_out` are as in `ctxsim.api.bill.Unpaired`.
    """
    rows, marks = [], []
    for one in found:
        unit = "%" if one.ratio else ""
        verdict = "FAILS" if one in broken else "changed" if one.changed else "noise"
        rows.append((
            one.figure, _figure(one.before), _figure(one.after), cell(one.effect, f"{{:+,.1f}}{unit}"),
            Cell({"low": one.low, "high": one.high}, f"{one.low:+,.1f}..{one.high:+,.1f}{unit}"),
            cell(one.chance, "{:.3f}"), cell(one.power, "{:.0%}"), Cell(verdict.lower(), verdict),
        ))  # fmt: skip
        marks.append("bad" if one in broken else "")
    columns = [
        Column("figure", "figure", left=True), Column("a", "median A", rank=2), Column("b", "median B", rank=2),
        Column("effect", "change", "median over pairs, one session of A and one of B"
               f"{', of one project and model' if alike else ''}; the medians of A and B may differ by another amount"),
        Column("interval", "95 % interval", "of the change", rank=1),
        Column("chance", "p", "chance of a difference this large if nothing changed"),
        Column("power", f"finds +{SHARE:.0%}", "how often a change of this size would be found in sets like these; "
               "larger ones are found more often", rank=3),
        Column("verdict", "", left=True),
    ]  # fmt: skip
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
    return sheet("unpaired", title, columns, rows, marks=tuple(marks), notes=tuple(notes))


def _figure(value: float, sign: str = "", digits: int = 3) -> Cell:
    """A figure with as many digits that count, and from 10,000 on in thousands or millions."""
    plus = sign if value >= 0 else "-"
    text = compact(abs(value)) if abs(value) >= 1_000 else f"{abs(value):.{4 if abs(value) >= 100 else digits}g}"
    return Cell(value, f"{plus}{text}")
