"""`ctxsim accuracy`: how wrong are the estimates, and what does that do."""

from __future__ import annotations

import csv
from pathlib import Path

import click
import msgspec

from ctxsim.answers.validation.accuracy import Accuracy, Consequence, consequence, observe, table
from ctxsim.cli import options
from ctxsim.cli import rows as rows_of
from ctxsim.cli.output import tell_written
from ctxsim.cli.reading import Reading
from ctxsim.cli.rows import show
from ctxsim.counting.estimators import estimator_label, judged_estimators, open_estimator
from ctxsim.counting.tokenizers import DEFAULT, open_tokenizer
from ctxsim.errors import CtxsimError
from ctxsim.report.sheet import Cell, Column, Sheet, sheet
from ctxsim.results.files import replacing
from ctxsim.transcript import Transcript


@click.command("accuracy")
@options.some_paths
@click.option("--tokenizer", "tokenizers", multiple=True, metavar="NAME", help="What is true; may be repeated.")
@click.option("--estimator", "labels", multiple=True, metavar="LABEL", help="What to judge; default: all "
              "families. See: ctxsim estimators")  # fmt: skip
@click.option("--threshold", type=click.IntRange(min=1), metavar="N", help="Tokens over which a policy acts; default: "
              "70 % of each segment's largest request.")  # fmt: skip
@click.option("--by-kind", is_flag=True, help="Print texts by kind of content, not only requests.")
@click.option("--out", type=options.PATH, default=Path("results/accuracy"), metavar="DIR", help="Folder.")
@rows_of.form
def command(
    paths: tuple[str, ...],
    tokenizers: tuple[str, ...],
    labels: tuple[str, ...],
    threshold: int | None,
    by_kind: bool,
    out: Path,
    form: str,
) -> None:
    """Compare estimates with real counts and with recorded usage on your transcripts.

    Errors per text and per whole request; and for a policy with a threshold: how late or early it would fire, calls it
    believes safe that are not, and alarms that are false. Writes accuracy.csv, consequences.csv and pictures.
    """
    estimators = [open_estimator(label) for label in labels or judged_estimators()]
    reading = Reading(paths)
    transcripts: list[Transcript] = list(reading)
    rows: list[Accuracy] = []
    consequences: list[Consequence] = []
    pictures: list[Path] = []
    for name in tokenizers or (DEFAULT,):
        observed = observe(transcripts, open_tokenizer(name), estimators)
        if not observed.requests:
            raise CtxsimError("no call in these transcripts")
        rows += table(observed, name, estimators)
        consequences += [
            consequence(observed, number, estimator_label(estimator), name, threshold)
            for number, estimator in enumerate(estimators)
        ]
        if not pictures:
            from ctxsim.report.accuracy_plots import plot_accuracy

            out.mkdir(parents=True, exist_ok=True)
            shown = [estimator_label(estimator) for estimator in estimators]
            points = [(p.tokens, p.estimates) for p in observed.requests]
            texts = [(p.kind, p.tokens, p.estimates) for p in observed.texts]
            longest = max(observed.runs, key=lambda run: run[-1].tokens)
            pictures = plot_accuracy(shown, points, texts, [(p.tokens, p.estimates) for p in longest], name, out)
    _write(out / "accuracy.csv", rows)
    _write(out / "consequences.csv", consequences)
    show("accuracy", [_errors(rows, by_kind), _consequences(consequences, threshold)], form)
    if form == "table":
        tell_written([out / "accuracy.csv", out / "consequences.csv", *pictures])
    reading.finish()


def _write(path: Path, rows: list[Accuracy] | list[Consequence]) -> None:
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(rows[0].__struct_fields__)
        writer.writerows(msgspec.structs.astuple(row) for row in rows)


def _errors(rows: list[Accuracy], by_kind: bool) -> Sheet:
    """Return the errors as a table; of texts all together, unless by kind."""
    found = []
    for row in rows:
        if row.scope == "text" and row.kind != "all" and not by_kind:
            continue
        what = {"text": f"texts: {row.kind}", "request": "requests", "usage": "recorded usage"}[row.scope]
        errors = [Cell(value, f"{value:.1%}") for value in (row.mape, row.p50, row.p95, row.p99)]
        bias, worst = Cell(row.bias, f"{row.bias:+.1%}"), Cell(row.worst_under, f"{row.worst_under:+.0%}")
        found.append((row.estimator, row.tokenizer, what, row.n, bias, *errors, worst))
    columns = [
        Column("estimator", "estimator", left=True), Column("against", "against", left=True, rank=4),
        Column("of", "of", left=True), Column("n", "n"), Column("bias", "bias"), Column("mape", "MAPE"),
        Column("p50", "p50", rank=3), Column("p95", "p95"), Column("p99", "p99", rank=1),
        Column("worst", "worst", rank=2),
    ]  # fmt: skip
    note = "Errors: (estimate - tokens) / tokens; p50, p95, p99: absolute; worst: deepest under-estimate"
    usage = (
        "recorded usage: of whole requests where the log holds the head, else of what they grew by; not told of "
        "estimators that go by reported usage"
    )
    return sheet("errors", "", columns, found, notes=(note, usage))


def _consequences(rows: list[Consequence], threshold: int | None) -> Sheet:
    """Return what wrong estimates do to a policy with a threshold, as a table."""
    limit = f"{threshold:,} tokens" if threshold else "70 % of each segment's largest request"
    found = []
    for row in rows:
        late, early = (
            Cell(value, "-" if value is None else f"{value:,.0f}")
            for value in (row.median_tokens_late, row.median_tokens_early)
        )
        moved = row.median_displacement_calls
        shares = [row.false_safe_calls / row.calls, row.false_alarm_calls / row.calls]
        found.append(
            (
                row.estimator, row.late, row.early, row.only_truth, row.extra_overflows,
                Cell(moved, "-" if moved is None else f"{moved:+.0f}"), late, early,
                *(Cell(share, f"{share:.1%}") for share in shares),
            )
        )  # fmt: skip
    columns = [
        Column("estimator", "estimator", left=True), Column("late", "late"), Column("early", "early"),
        Column("never", "never"), Column("overflows", "overflows"), Column("calls", "calls", rank=1),
        Column("tokens_late", "tokens\nlate", rank=3), Column("tokens_early", "tokens\nearly", rank=4),
        Column("false_safe", "false-\nsafe"), Column("false_alarm", "false\nalarm", rank=2),
    ]  # fmt: skip
    note = (
        "late: fires after the tokenizer would; early: before it (context lost too soon); never: the estimate does "
        "not reach the threshold at all; overflows: transcripts with a request over the window, 9/7 of the threshold, "
        "before it fires; calls, tokens: medians; shares are of all calls."
    )
    title = f"A policy that acts over {limit}: first trigger by estimate against by {rows[0].tokenizer}"
    return sheet("consequences", title, columns, found, notes=(note,))
