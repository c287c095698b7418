"""What `bench` and `sweep` print of a run: the answer, one table, and what its columns mean."""

from collections.abc import Sequence

from ctxsim.answers.advice.advice import Advice
from ctxsim.answers.advice.pooled import Pooled, figures_of
from ctxsim.errors import many
from ctxsim.report.cells import policy_sheet
from ctxsim.report.losses import basis, needle_rows
from ctxsim.report.rounds import in_rounds, kind_rows, round_rows
from ctxsim.report.sheet import Cell, Column, Sheet, sheet, text_rows
from ctxsim.report.tradeoff import dominated, points
from ctxsim.results import Run

REFUSED = "Refused calls count as if they had been answered, so that all policies' totals can be compared."


def policy_rows(run: Run) -> list[dict[str, str]]:
    """Return the table that bench prints as texts by heading."""
    found = figures_of(run)
    return text_rows(policy_sheet(run, found, found.labels))


def bench_sheet(run: Run, pooled: Pooled, advice: Advice | None, names: Sequence[str] | None = None) -> Sheet:
    """Return the table of a bench, with what is to be said under it."""
    one = policy_sheet(run, pooled, pooled.labels, names, advice.take.policy if advice else None)
    return _noted(one, run, pooled)


def sweep_sheet(run: Run, pooled: Pooled, advice: Advice | None, names: Sequence[str] | None = None) -> Sheet:
    """Return each setting of a sweep, those worth having first, by amount."""
    dollars = pooled.by_dollars
    worse = dominated(points(pooled, dollars))
    amount = {label: pooled.value(label, "usd" if dollars else "tokens") or 0.0 for label in pooled.labels}
    labels = sorted(pooled.labels, key=lambda label: (not pooled.all[label].bound, label in worse, amount[label]))
    one = policy_sheet(run, pooled, labels, names, advice.take.policy if advice else None)
    worth = [Cell(None, "") if pooled.all[label].bound else Cell(label not in worse, "no" if label in worse else "yes")
             for label in labels]  # fmt: skip
    about = "yes: no other row is at least as good in cost, kept and refusals, and better in one of them"
    columns = [*one.columns, Column("worth", "worth it", about)]
    rows = [(*row, mark) for row, mark in zip(one.rows, worth, strict=True)]
    return _noted(sheet("settings", one.title, columns, rows, marks=one.marks), run, pooled)


def _noted(one: Sheet, run: Run, pooled: Pooled) -> Sheet:
    """The sheet with what its figures stand on."""
    transcripts = pooled.transcripts
    title = f"{run.info.title} ({many(transcripts, 'transcript(s)')})"
    scope = "Figures are totals over all transcripts"
    if pooled.by_dollars and pooled.priced < transcripts:
        scope += f", USD of the {pooled.priced:,} with known prices"
    intervals = f"; ranges: {pooled.ranges}" if pooled.ranges else ""
    if pooled.sample is not None:
        title = f"{run.info.title} ({transcripts:,} of {pooled.sample.transcripts:,} transcripts, sampled)"
        scope = "USD, tokens, kept, refused calls and shares of keep-all are estimates for this folder"
        intervals = "; ranges: 95 %, sampling error; all other columns are of the sampled transcripts"
    counted = any(pooled.all[label].refused for label in pooled.labels)
    notes = (f"{scope}{intervals}.", *[REFUSED] * counted, f"{basis(run)}.")
    return Sheet(one.name, title, one.columns, one.rows, one.marks, notes)


def needle_sheets(run: Run) -> list[Sheet]:
    """Return the tables of planted facts: by age, or round after round where all are looked for again and again."""
    needles = in_rounds(run)
    if needles is not None:
        title = "Planted facts that were still in view, round after round"
        about = "told: once all facts were told; rd N: after N rounds; last columns: as told, by when the fact was told"
        last = "Planted facts that were still in view after the last round, by kind"
        by_kind = _of_texts("kinds", last, kind_rows(run, needles))
        return [_of_texts("rounds", title, round_rows(run, needles), about), by_kind]
    about = "head, middle, tail: the fact's place in its result; age: calls between first request and use"
    title = "Planted facts and rules that were still in view when used"
    return [_of_texts("needles", title, rows, about)] if (rows := needle_rows(run)) else []


def _of_texts(name: str, title: str, rows: list[dict[str, str]], *notes: str) -> Sheet:
    return sheet(name, title, list(rows[0]), [tuple(row.values()) for row in rows], notes=notes)
