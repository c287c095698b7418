"""`ctxsim calibrate`: characters per token, fitted to the user's own transcripts."""

from pathlib import Path
from typing import Any

import click

from ctxsim.api import Risk
from ctxsim.api.trust import calibrate
from ctxsim.cli import options
from ctxsim.cli.output import tell_written
from ctxsim.cli.reading import Reading
from ctxsim.cli.show import show
from ctxsim.cli.terminal import say
from ctxsim.counting.estimators.calibrated import Calibration
from ctxsim.counting.tokenizers import OWN
from ctxsim.report.sheet import Cell, Column, sheet
from ctxsim.results.files import refuse_other

MOST_GROUPS = 24


@click.command("calibrate")
@options.some_paths
@options.tokenizer
@options.one_of("--against", ["usage"], "Fit to the usage that providers recorded, instead of to counted tokens.")
@options.one_of(
    "--by", ("kind", "tool", "model"),
    "Fit one ratio for each kind of content, each tool or each model. Default: tool.", usual="tool",
)  # fmt: skip
@options.a_number("--risk", Risk, "Choose so few characters per token that a request near the window's size is "
                  "underestimated with at most this chance.", "Q")  # fmt: skip
@options.out("Write the calibration to this file, and a picture beside it. Default: calibration.json.")
@options.form
def command(
    paths: tuple[str, ...], tokenizer: str | None, against: str | None, by: Any, risk: float | None, out: Path | None,
    form: str,
) -> None:  # fmt: skip
    """Fit characters per token to your transcripts, and write calibration.json with a picture.

    A policy uses the fit if its label has estimator=calibrated:file=calibration.json. For your own code, copy the
    printed formula.
    """
    refuse_other(out, (".json", ""))
    reading = Reading(paths)
    found = calibrate(reading, tokenizer=tokenizer, by=by, risk=risk, against_usage=against is not None)
    written = found.save(out or "calibration.json")
    from ctxsim.report.accuracy import plot_calibration

    ratio, picture = found.calibration.overall.chars_per_token, written.with_suffix(".png")
    files = [written, plot_calibration(found.points(), ratio, picture)]
    _print(found.calibration, tokenizer or OWN, form)
    tell_written(files, form)
    reading.finish()


def _print(found: Calibration, tokenizer: str, form: str) -> None:
    number = "requests" if found.heads else "texts"
    rows = []
    for name, ratio in [("all", found.overall), *found.groups.items()][: MOST_GROUPS + 1]:
        interval = f"{ratio.low:.2f} to {ratio.high:.2f}" if ratio.low is not None else "-"
        value = Cell(ratio.chars_per_token, f"{ratio.chars_per_token:.2f}")
        rows.append((name, value, Cell({"low": ratio.low, "high": ratio.high}, interval), ratio.texts, ratio.tokens))
    columns = [Column(found.by, found.by, left=True), Column("chars_per_token", "c/t"),
               Column("interval", "95 % interval", "by transcript; fewer than 6 transcripts have none"),
               Column("count", number), Column("tokens", "tokens")]  # fmt: skip
    title = f"characters per token, against {found.tokenizer}"
    modelled = "recorded = head + characters / c: one c for all, a head for each series of calls; both are fitted"
    notes = (modelled,) if found.heads else ()
    show("calibrate", [sheet("ratios", title, columns, rows, notes=notes)], form, divisor=found.divisor)
    if form != "table":
        return
    if found.heads:
        if found.by != "model":
            say(f"groups: texts as {tokenizer} counts them, scaled to what was recorded overall")
        heads = found.heads
        say(
            f"heads: median {heads.median:,} tokens, 10th to 90th percentile {heads.p10:,} to {heads.p90:,}, "
            f"of {heads.series:,} series; {heads.left_out:,} left out, whose texts don't explain their growth"
        )
    for name, error in found.errors.items():
        say(f"{name}: " + (f"{error:.1%}" if error is not None else "needs 5 transcripts"))
    at_risk = ""
    if found.risk is not None:
        at_risk = f" (fitted to underestimate at most {found.risk:.1%} of transcripts near the window)"
    say(f"formula: tokens = {'head + ' if found.heads else ''}ceil(characters / {found.divisor:.2f}){at_risk}")
    say(f"valid for: {found.holds_for}")
    if not found.heads and found.risk is not None and any("recorded" in name for name in found.errors):
        say("The risk is of counted requests. For recorded ones see the shares above, or fit with --against usage.")
