"""`ctxsim calibrate`: chars-per-token from your own transcripts."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from ctxsim.calibration import MATRIX_TOKENIZERS, calibrate, collect, matrix, matrix_ratios
from ctxsim.cli.transcripts import Reading
from ctxsim.tokenizers import DEFAULT, open_tokenizer


@click.command("calibrate")
@click.argument("paths", nargs=-1, required=True)
@click.option("--tokenizer", default=DEFAULT, metavar="NAME", help="What tokens are counted by.")
@click.option("--against", type=click.Choice(["usage"]), help="Fit to the usage that providers recorded instead.")
@click.option("--by", type=click.Choice(["kind", "tool", "model"]), default="tool", help="Groups with a ratio each.")
@click.option("--risk", type=click.FloatRange(0, 0.5), metavar="Q", help="Divisor that under-estimates a request near "
              "the window with at most this chance.")  # fmt: skip
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), default=Path("calibration.json"), help="File to write."
)
@click.option("--matrix", "show_matrix", is_flag=True, help="Only print kind x tokenizer as a Markdown table.")
@click.option("--plots/--no-plots", default=True, help="Pictures beside the file.")
def command(
    paths: tuple[str, ...],
    tokenizer: str,
    against: str | None,
    by: str,
    risk: float | None,
    output: Path,
    show_matrix: bool,
    plots: bool,
) -> None:
    """Fit characters per token to your transcripts and write calibration.json.

    Use it with estimator=calibrated:file=calibration.json, or paste the printed formula.
    """
    reading = Reading(paths)
    if show_matrix:
        tokenizers = [open_tokenizer(name) for name in MATRIX_TOKENIZERS]
        transcripts = list(reading)
        click.echo(matrix(transcripts, tokenizers), nl=False)
        if plots:
            from ctxsim.report.calibration_plots import plot_matrix

            picture = plot_matrix(matrix_ratios(transcripts, tokenizers), MATRIX_TOKENIZERS, output.with_suffix(".png"))
            click.echo(f"picture: {picture}", err=True)
        return
    sample = collect(reading, open_tokenizer(tokenizer), by, against is not None)
    found = calibrate(sample, tokenizer, by, risk, against is not None)
    part = output.with_name(output.name + ".part")
    part.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n")
    part.replace(output)
    click.echo(f"characters per token, against {found.tokenizer}; intervals are 95 %, by transcript")
    click.echo(f"{by:<28} {'c/t':>6}  {'interval':<14} {'texts':>7} {'tokens':>11}")
    for name, ratio in [("all", found.overall), *found.groups.items()][:25]:
        interval = f"{ratio.low:.2f} to {ratio.high:.2f}" if ratio.low is not None else "one transcript"
        click.echo(
            f"{name[:28]:<28} {ratio.chars_per_token:>6.2f}  {interval:<14} {ratio.texts:>7,} {ratio.tokens:>11,}"
        )
    for name, error in found.errors.items():
        click.echo(f"{name}: " + (f"{error:.1%}" if error is not None else "needs 5 transcripts"))
    at_risk = f" (at most {risk:.1%} of transcripts under-estimated near the window)" if risk is not None else ""
    click.echo(f"formula: tokens = ceil(characters / {found.divisor:.2f}){at_risk}")
    click.echo(f"written: {output}")
    if plots:
        from ctxsim.report.calibration_plots import plot_calibration

        points = [(text.chars, text.tokens, text.group) for text in sample.texts]
        click.echo(f"picture: {plot_calibration(points, found.overall.chars_per_token, output.with_suffix('.png'))}")
    reading.finish()
