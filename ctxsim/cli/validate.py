"""`ctxsim validate`: do our rules predict what providers recorded?"""

from __future__ import annotations

import sys
from itertools import groupby

import click

from ctxsim.errors import InputError
from ctxsim.provider.resolve import resolve
from ctxsim.readers import read_source, sources
from ctxsim.validation import Compared, Predicted, compare, fit, predict, score

HEADER = ("format", "model", "how", "calls", "median", "p95", "<2%", "<5%", "<10%", "cache", "agree", "reads")
WIDTHS = (22, 34, 8, 6, 7, 7, 5, 5, 5, 6, 6, 6)


@click.command("validate")
@click.argument("paths", nargs=-1, required=True)
@click.option("--fit", "show_fit", is_flag=True, help="Print recorded = intercept + slope * counted, per model.")
@click.option("--worst", default=5, metavar="N", help="How many of the calls that disagree most to print.")
def command(paths: tuple[str, ...], show_fit: bool, worst: int) -> None:
    """Compare predicted input tokens and cache reads with recorded usage, call by call, per format and model.

    "counted": the model's tokenizer is public and the source holds the whole request. "fitted": it isn't, or doesn't;
    then the hidden part comes from each transcript's first call and the ratio from the other transcripts.
    """
    calls: list[Compared] = []
    errors = []
    for source in sources(*paths):
        try:
            for transcript in read_source(source):
                calls += compare(transcript, resolve({}, None, transcript))
        except InputError as error:
            errors.append(str(error))
    predictions: list[Predicted] = []
    ordered = sorted(calls, key=lambda call: (call.format, call.model, call.transcript, call.call))
    click.echo(_line(HEADER))
    for _, group in groupby(ordered, key=lambda call: (call.format, call.model)):
        members = list(group)
        made = list(predict(members))
        for how in ("counted", "fitted"):
            if part := [one for one in made if one.how == how]:
                _print_score(part)
        predictions += made
        if show_fit and (fitted := fit(members)):
            click.echo(
                f"    fit: recorded = {fitted.intercept:,.0f} + {fitted.slope} x counted "
                f"+ {fitted.per_message} x messages "
                f"({fitted.transcripts} transcripts; residuals p50 {fitted.residual_p50:.1%}, "
                f"p95 {fitted.residual_p95:.1%})"
            )
    click.echo("median, p95: |predicted - recorded| / recorded. agree: share of cache reads within 5 % of the request; "
               "reads: predicted / recorded, summed.")  # fmt: skip
    for one in sorted(predictions, key=lambda one: -abs(one.error))[:worst]:
        call = one.call
        why = f"; cache break: {call.cause}" if call.cause else ""
        click.echo(
            f"  {one.error:+.1%}  {call.transcript} call {call.call}: predicted {one.tokens:,.0f}, "
            f"recorded {call.recorded:,}{why}"
        )
    for text in errors:
        click.echo(f"ctxsim: {text}", err=True)
    if not calls:
        click.echo("ctxsim: no call with recorded usage", err=True)
    sys.exit(0 if calls else 1)


def _print_score(part: list[Predicted]) -> None:
    found = score(part)
    cells = (
        found.format, found.model or "?", found.how, str(found.calls),
        f"{found.median_error:.1%}", f"{found.p95_error:.1%}",
        f"{found.within_2:.0%}", f"{found.within_5:.0%}", f"{found.within_10:.0%}",
        str(found.cache_calls) if found.cache_calls else "-",
        f"{found.cache_agreement:.0%}" if found.cache_agreement is not None else "-",
        f"{found.reads_ratio:.2f}" if found.reads_ratio is not None else "-",
    )  # fmt: skip
    click.echo(_line(cells))


def _line(cells: tuple[str, ...]) -> str:
    """Three names to the left, the numbers to the right."""
    padded = [f"{cell[:width]:<{width}}" for cell, width in zip(cells[:3], WIDTHS, strict=False)]
    padded += [f"{cell:>{width}}" for cell, width in zip(cells[3:], WIDTHS[3:], strict=True)]
    return " ".join(padded)
