"""`ctxsim validate`: do our rules say what providers recorded?"""

from __future__ import annotations

import sys
from itertools import groupby
from typing import Any

import click

from ctxsim.answers.validation.validation import Compared, Score, compare, score
from ctxsim.cli import options
from ctxsim.cli import rows as rows_of
from ctxsim.cli.loudness import note
from ctxsim.cli.output import tell
from ctxsim.cli.reading import Reading
from ctxsim.cli.rows import show
from ctxsim.cli.terminal import safe
from ctxsim.errors import InputError
from ctxsim.report.recall import LEGEND, recall_lines
from ctxsim.report.sheet import Cell, Column, sheet
from ctxsim.results.recall import Predicted
from evidence.recall import predict, read_questions

COLUMNS = (
    Column("format", "format", left=True), Column("model", "model", left=True), Column("calls", "calls"),
    Column("median", "median"), Column("p95", "p95"), Column("within_5", "<5%", rank=4), Column("unseen", "unseen"),
    Column("unseen_p95", "p95", rank=5), Column("cache_calls", "cache", rank=6), Column("agreement", "agree", rank=1),
    Column("trivial", "trivial", rank=7), Column("reads", "reads", rank=3), Column("usd", "USD", rank=2),
)  # fmt: skip

NOTE = (
    "median, p95: |modelled - recorded| / recorded, fitted; unseen: predicted without that recording's usage. agree: "
    "share of cache reads within 5 % of the request, by the vendor's rules; trivial: by the guess that all of the last "
    "request is read; reads: predicted / recorded. USD: modelled / recorded."
)


@click.command("validate")
@options.some_paths
@click.option("--worst", default=5, metavar="N", help="How many that disagree most to print.")
@click.option("--recall", is_flag=True, help="Paths are graded answers of a live model: was what was kept recalled?")
@click.option("--policy", default="recorded", metavar="LABEL", help="With --recall: whose requests the model was asked "
              "after; default: those in the recording.")  # fmt: skip
@rows_of.form
def command(paths: tuple[str, ...], worst: int, recall: bool, policy: str, form: str) -> None:
    """Compare modelled input tokens, cache reads and dollars with what was recorded, per format and model.

    The size of what a log doesn't hold is fitted to each recording; `unseen` says how well a call is told from the
    first one and from other recordings alone. With --recall: tables of graded answers (CSV or JSONL with the columns
    transcript, call, question, expected, answer, correct), or folders of trials.
    """
    if recall:
        _recall(paths, policy, worst)
        return
    reading = Reading(paths)
    calls: list[Compared] = []
    for transcript in reading:
        calls += compare(transcript)
    ordered = sorted(calls, key=lambda call: (call.format, call.model, call.transcript, call.call))
    groups = groupby(ordered, key=lambda call: (call.format, call.model))
    rows = [_cells(score(list(group))) for _, group in groups]
    show("validate", [sheet("scores", "", COLUMNS, rows, notes=(NOTE,))], form)
    for call in sorted(calls, key=lambda one: -abs(one.error))[: worst if form == "table" else 0]:
        click.echo(
            f"  {call.error:+.1%}  {safe(call.transcript)} call {call.call}: modelled {call.modelled:,}, "
            f"recorded {call.recorded:,}"
        )
    if not calls:
        reading.errors.append("no call with recorded usage; validate needs recordings that hold what the provider said")
    reading.finish()


def _recall(paths: tuple[str, ...], policy: str, worst: int) -> None:
    left_out: list[str] = []
    errors: list[str] = []
    found: list[Predicted] = []
    for path in paths:
        try:
            found += [one for asked in read_questions(path, left_out) for one in predict(asked, policy)]
        except InputError as error:
            errors.append(str(error))
    for line in recall_lines(found, worst):
        click.echo(safe(line))
    if found:
        click.echo(LEGEND)
    elif not errors:
        errors.append("no graded answers there: a table, or a folder with fixtures.json and trials.jsonl")
    for line in left_out:
        note(f"left out: {line}", err=True)
    for line in errors:
        tell(line)
    sys.exit(1 if errors else 0)


def _cells(found: Score) -> tuple[Any, ...]:
    def percent(value: float | None, digits: int = 1) -> Cell:
        return Cell(value, "-" if value is None else f"{value:.{digits}%}")

    def ratio(value: float | None) -> Cell:
        return Cell(value, "-" if value is None else f"{value:.2f}")

    return (
        found.format, found.model or "?", found.calls,
        percent(found.median_error), percent(found.p95_error), percent(found.within_5, 0),
        percent(found.held_out_median), percent(found.held_out_p95),
        found.cache_calls or None, percent(found.agreement, 0), percent(found.trivial_agreement, 0),
        ratio(found.reads_ratio), ratio(found.cost_ratio),
    )  # fmt: skip
