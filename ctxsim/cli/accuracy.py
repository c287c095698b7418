"""`ctxsim accuracy`: how wrong are the estimates, and what does that do."""

from __future__ import annotations

import csv
from pathlib import Path

import click
import msgspec

from ctxsim.cli import options
from ctxsim.cli.output import tell_written
from ctxsim.cli.reading import Reading
from ctxsim.errors import CtxsimError
from ctxsim.estimators import estimator_label, judged_estimators, open_estimator
from ctxsim.results.files import replacing
from ctxsim.studies.accuracy import Accuracy, Consequence, consequence, observe, table
from ctxsim.tokenizers import DEFAULT, open_tokenizer
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
def command(
    paths: tuple[str, ...],
    tokenizers: tuple[str, ...],
    labels: tuple[str, ...],
    threshold: int | None,
    by_kind: bool,
    out: Path,
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
    _print(rows, by_kind)
    _print_consequences(consequences, threshold)
    tell_written([out / "accuracy.csv", out / "consequences.csv", *pictures])
    reading.finish()


def _write(path: Path, rows: list[Accuracy] | list[Consequence]) -> None:
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(rows[0].__struct_fields__)
        writer.writerows(msgspec.structs.astuple(row) for row in rows)


def _print(rows: list[Accuracy], by_kind: bool) -> None:
    click.echo("Errors: (estimate - tokens) / tokens; p50, p95, p99: absolute; worst: deepest under-estimate")
    names = ("bias", "MAPE", "p50", "p95", "p99", "worst")
    click.echo(f"{'estimator':<26} {'against':<16} {'of':<20} {'n':>6} " + " ".join(f"{name:>7}" for name in names))
    for row in rows:
        if row.scope == "text" and row.kind != "all" and not by_kind:
            continue
        what = {"text": f"texts: {row.kind}", "request": "requests", "usage": "requests, recorded"}[row.scope]
        errors = (row.mape, row.p50, row.p95, row.p99)
        shown = [f"{row.bias:>+7.1%}", *(f"{error:>7.1%}" for error in errors), f"{row.worst_under:>+7.0%}"]
        click.echo(f"{row.estimator[:26]:<26} {row.tokenizer[:16]:<16} {what:<20} {row.n:>6,} " + " ".join(shown))


def _print_consequences(rows: list[Consequence], threshold: int | None) -> None:
    limit = f"{threshold:,} tokens" if threshold else "70 % of each segment's largest request"
    click.echo(f"\nA policy that acts over {limit}: first trigger by estimate against by {rows[0].tokenizer}")
    header = (
        "late",
        "early",
        "never",
        "overflows",
        "calls",
        "tokens late",
        "tokens early",
        "false-safe",
        "false alarm",
    )
    click.echo(f"{'estimator':<26} " + " ".join(f"{name:>{max(6, len(name))}}" for name in header))
    for row in rows:
        late, early = (f"{v:,.0f}" if v is not None else "-" for v in (row.median_tokens_late, row.median_tokens_early))
        moved = f"{row.median_displacement_calls:+.0f}" if row.median_displacement_calls is not None else "-"
        shares = (f"{row.false_safe_calls / row.calls:.1%}", f"{row.false_alarm_calls / row.calls:.1%}")
        counts = (row.late, row.early, row.only_truth, row.extra_overflows)
        cells = (*map(str, counts), moved, late, early, *shares)
        padded = (f"{cell:>{max(6, len(name))}}" for cell, name in zip(cells, header, strict=True))
        click.echo(f"{row.estimator[:26]:<26} " + " ".join(padded))
    click.echo(
        "late: fires after the tokenizer would; early: before it (context lost too soon); never: the estimate does "
        "not\nreach the threshold at all; overflows: transcripts with a request over the window, 9/7 of the threshold,"
        "\nbefore it fires; calls, tokens: medians; shares are of all calls."
    )
