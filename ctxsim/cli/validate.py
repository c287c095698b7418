"""`ctxsim validate`: compare modelled figures, and estimators, with what providers recorded."""

from pathlib import Path

import click

from ctxsim.api import Positive
from ctxsim.api.trust import Estimates, compared, estimates, validated
from ctxsim.cli import options
from ctxsim.cli.output import tell_written
from ctxsim.cli.reading import Reading
from ctxsim.cli.show import show
from ctxsim.cli.terminal import say
from ctxsim.counting.tokenizers import OWN
from ctxsim.report.accuracy import consequence_sheet, error_sheet, score_sheet, unseen_sheet
from ctxsim.results.csv_text import write_csv

WORST = 5
"""The number of calls with the largest errors that are printed."""


@click.command("validate")
@options.some_paths
@options.flag(
    "--estimates", "Judge estimators, and what their errors cause, instead of the modelled provider.", "judged"
)
@options.several("--estimator", "labels", "LABEL", "With --estimates, judge only this estimator.")
@options.a_number("--threshold", Positive, "With --estimates, judge a policy that acts above N tokens. Default: 70 % "
                  "of each segment's largest request.")  # fmt: skip
@options.tokenizer
@options.out("With --estimates, write the tables and pictures to this folder. Default: results/accuracy.")
@options.form
def command(
    paths: tuple[str, ...], judged: bool, labels: tuple[str, ...], threshold: int | None, tokenizer: str | None,
    out: Path | None, form: str,
) -> None:  # fmt: skip
    """Compare modelled input tokens, cache reads and dollars with what was recorded, per format and model.

    With --estimates, compare each estimator with real counts and recorded usage, per text and per whole request. For a
    policy that acts above a threshold, also report how late or early it would act by each estimator, which calls over
    the threshold it would miss, and which calls under it would make it act. Write accuracy.csv (by kind of content
    too), consequences.csv and pictures.
    """
    if not judged and (labels or threshold or tokenizer or out):
        raise click.UsageError("--estimator, --threshold, --tokenizer and --out go with --estimates")
    reading = Reading(paths)
    if judged:
        found = estimates(reading, labels or None, tokenizer=tokenizer, threshold=threshold)
        written = _write(found, tokenizer or OWN, out or Path("results/accuracy"))
        show("validate", [error_sheet(found.errors), consequence_sheet(found.consequences, threshold)], form)
        tell_written(written, form)
        reading.finish()
    done = validated(reading.map(compared))
    told = [unseen_sheet(done.unseen)] if done.unseen else []
    show("validate", [*told, score_sheet(done.scores)], form)
    if done.calls and form == "table":
        say("Calls that are modelled worst:")
        for call in sorted(done.calls, key=lambda one: -abs(one.error))[:WORST]:
            figures = f"modelled {call.modelled:,}, recorded {call.recorded:,}"
            say(f"  {call.error:+.1%}  {call.transcript} call {call.call}: {figures}")
    if not done.calls and not reading.errors:
        reading.errors.append("no call with recorded usage; validate needs recordings that hold what the provider said")
    reading.finish()


def _write(found: Estimates, tokenizer: str, out: Path) -> list[Path]:
    from ctxsim.report.accuracy import plot_accuracy

    out.mkdir(parents=True, exist_ok=True)
    written = [write_csv(out / "accuracy.csv", found.errors), write_csv(out / "consequences.csv", found.consequences)]
    shown = [row.estimator for row in found.consequences]
    return [*written, *plot_accuracy(shown, found.observed, tokenizer, out)]
