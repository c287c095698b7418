"""`ctxsim calibrate`: chars-per-token from your own transcripts."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from ctxsim.answers.calibration.calibration import calibrate, recorded_prompts
from ctxsim.answers.calibration.ratios import MATRIX_TOKENIZERS, by_kind, matrix, matrix_ratios
from ctxsim.cli import options
from ctxsim.cli import rows as rows_of
from ctxsim.cli.loudness import note
from ctxsim.cli.output import tell_written
from ctxsim.cli.reading import Reading
from ctxsim.cli.rows import show
from ctxsim.counting.estimators.calibrated import Calibration
from ctxsim.counting.tokenizers import DEFAULT, open_tokenizer
from ctxsim.recorded.heads import holds_its_texts
from ctxsim.recorded.sample import Sample, collect
from ctxsim.report.sheet import Cell, Column, sheet
from ctxsim.results.files import replacing


@click.command("calibrate")
@options.some_paths
@options.counted_by(DEFAULT)
@click.option("--against", type=click.Choice(["usage"]), help="Fit to the usage that providers recorded instead.")
@click.option("--by", type=click.Choice(["kind", "tool", "model"]), default="tool", help="Groups with a ratio each.")
@click.option("--risk", type=click.FloatRange(0, 0.5), metavar="Q", help="Divisor that under-estimates a request near "
              "the window with at most this chance.")  # fmt: skip
@click.option("-o", "--output", type=options.PATH, default=Path("calibration.json"), help="File to write.")
@click.option("--matrix", "show_matrix", is_flag=True, help="Only print kind x tokenizer as a Markdown table.")
@click.option("--plots/--no-plots", default=True, help="Pictures beside the file.")
@rows_of.form
def command(
    paths: tuple[str, ...],
    tokenizer: str,
    against: str | None,
    by: str,
    risk: float | None,
    output: Path,
    show_matrix: bool,
    plots: bool,
    form: str,
) -> None:
    """Fit characters per token to your transcripts and write calibration.json.

    Use it with estimator=calibrated:file=calibration.json, or paste the printed formula.
    """
    reading = Reading(paths)
    if show_matrix:
        kinds = by_kind(reading, [open_tokenizer(name) for name in MATRIX_TOKENIZERS])
        click.echo(matrix(kinds, MATRIX_TOKENIZERS), nl=False)
        if plots:
            from ctxsim.report.calibration_plots import plot_matrix

            picture = plot_matrix(matrix_ratios(kinds), MATRIX_TOKENIZERS, output.with_suffix(".png"))
            note(f"picture: {picture}", err=True)
        reading.finish()
    sample = collect(reading, open_tokenizer(tokenizer), by)
    found = calibrate(sample, tokenizer, by, risk, against is not None)
    with replacing(output) as temporary:
        temporary.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n")
    _print(found, tokenizer, form)
    written = [output]
    if plots:
        written.append(_draw(sample, found, output.with_suffix(".png")))
    if form == "table":
        tell_written(written)
    reading.finish()


def _print(found: Calibration, tokenizer: str, form: str) -> None:
    number = "requests" if found.heads else "texts"
    rows = []
    for name, ratio in [("all", found.overall), *found.groups.items()][:25]:
        interval = f"{ratio.low:.2f} to {ratio.high:.2f}" if ratio.low is not None else "one transcript"
        value = Cell(ratio.chars_per_token, f"{ratio.chars_per_token:.2f}")
        rows.append((name, value, Cell({"low": ratio.low, "high": ratio.high}, interval), ratio.texts, ratio.tokens))
    columns = [Column(found.by, found.by, left=True), Column("chars_per_token", "c/t"), Column("interval", "interval"),
               Column("count", number), Column("tokens", "tokens")]  # fmt: skip
    title = f"characters per token, against {found.tokenizer}; intervals are 95 %, by transcript"
    modelled = "recorded = head + characters / c: one c for all, a head for each series of calls; both are fitted"
    notes = (modelled,) if found.heads else ()
    show("calibrate", [sheet("ratios", title, columns, rows, notes=notes)], form, divisor=found.divisor)
    if form != "table":
        return
    if found.heads:
        if found.by != "model":
            click.echo(f"groups: texts as {tokenizer} counts them, scaled to what was recorded overall")
        heads = found.heads
        click.echo(
            f"heads: median {heads.median:,} tokens, 10th to 90th percentile {heads.p10:,} to {heads.p90:,}, "
            f"of {heads.series:,} series; {heads.left_out:,} left out: their texts don't explain their growth"
        )
    for name, error in found.errors.items():
        click.echo(f"{name}: " + (f"{error:.1%}" if error is not None else "needs 5 transcripts"))
    at_risk = ""
    if found.risk is not None:
        at_risk = f" (at most {found.risk:.1%} of transcripts under-estimated near the window)"
    click.echo(f"formula: tokens = {'head + ' if found.heads else ''}ceil(characters / {found.divisor:.2f}){at_risk}")
    click.echo(f"holds for: {found.holds_for}")
    if not found.heads and found.risk is not None and any("recorded" in name for name in found.errors):
        click.echo("for requests as recorded the shares above hold, not the risk; --against usage takes that into it")


def _draw(sample: Sample, found: Calibration, path: Path) -> Path:
    from ctxsim.report.calibration_plots import plot_calibration

    ratio = found.overall.chars_per_token
    if not found.heads:
        return plot_calibration([(text.chars, text.tokens, text.group) for text in sample.texts], ratio, path)
    points = [
        (prompt.chars, round(prompt.tokens), series.model)
        for series in filter(holds_its_texts, sample.series)
        for prompt in recorded_prompts([series], 1 / ratio)
    ]
    return plot_calibration(points, ratio, path, "a logged conversation", "tokens recorded, without the fitted head")
