"""`ctxsim transcripts`: look at recordings before replaying them."""

from __future__ import annotations

import sys
from collections import Counter as Tally
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from ctxsim.errors import InputError, NotATranscript
from ctxsim.readers import ctxsim_jsonl, read_source, sources
from ctxsim.survey import Against, against_usage, check, per_format, sizes
from ctxsim.tokenizers import DEFAULT, open_tokenizer
from ctxsim.transcript import Transcript


@click.group("transcripts")
def command() -> None:
    """Check, convert and measure recorded transcripts."""


class Reading:
    """Transcripts of several paths; what can't be read is remembered and told at the end."""

    def __init__(self, paths: tuple[str, ...]) -> None:
        self.paths = paths
        self.errors: list[str] = []
        self.left_out: list[str] = []

    def __iter__(self) -> Iterator[Transcript]:
        for source in sources(*self.paths):
            try:
                yield from read_source(source)
            except NotATranscript as error:
                (self.errors if source.named else self.left_out).append(str(error))
            except InputError as error:
                self.errors.append(str(error))

    def finish(self) -> None:
        for text in dict.fromkeys(self.left_out):
            click.echo(f"left out: {text}", err=True)
        for text in dict.fromkeys(self.errors):
            click.echo(f"ctxsim: {text}", err=True)
        sys.exit(1 if self.errors else 0)


_paths = click.argument("paths", nargs=-1, required=True)
_tokenizer = click.option("--tokenizer", default=DEFAULT, metavar="NAME", help="What tokens are counted by.")


@command.command("check")
@_paths
@_tokenizer
@click.option("--against-usage", is_flag=True, help="Compare our counts with the usage that the source recorded.")
def check_command(paths: tuple[str, ...], tokenizer: str, against_usage: bool) -> None:
    """Print what each transcript holds, what was left out, and why."""
    engine = open_tokenizer(tokenizer)
    reading = Reading(paths)
    if against_usage:
        _print_against(reading, engine)
    formats: Tally[str] = Tally()
    for transcript in reading if not against_usage else ():
        found = check(transcript, engine)
        formats[found.format] += 1
        usage = f"usage in {found.calls_with_usage}" if found.calls_with_usage else "no usage"
        parent = f", sub-agent of {transcript.parent}" if transcript.parent else ""
        click.echo(
            f"{found.name}: {found.format}{f' ({found.model})' if found.model else ''}, {found.calls} calls ({usage}), "
            f"{found.messages} messages, {found.results} tool results, {found.tokens:,} tokens{parent}"
        )
        for note in found.notes:
            click.echo(f"    {note}")
    if formats:
        click.echo(f"{formats.total()} transcripts: " + ", ".join(f"{n} {name}" for name, n in formats.most_common()))
    reading.finish()


def _print_against(reading: Reading, engine: Any) -> None:
    found: list[Against] = [against_usage(transcript, engine) for transcript in reading]
    click.echo(f"(our count - recorded) / recorded, medians; counted by {engine.name}, without framing")
    click.echo(f"{'format':<24} {'calls':>6} {'whole request':>14} {'growth between calls':>21}")
    for name, calls, whole, growth in per_format(found):
        cells = [f"{value:+.1%}" if value is not None else "-" for value in (whole, growth)]
        click.echo(f"{name:<24} {calls:>6} {cells[0]:>14} {cells[1]:>21}")


@command.command("convert")
@_paths
@click.option("-o", "--output", type=click.Path(path_type=Path), help="File to write; standard output without it.")
def convert_command(paths: tuple[str, ...], output: Path | None) -> None:
    """Write transcripts of any format as ctxsim JSONL."""
    reading = Reading(paths)
    part = output.with_name(output.name + ".part") if output else None
    with part.open("wb") if part else nullcontext(sys.stdout.buffer) as stream:
        for transcript in reading:
            for line in ctxsim_jsonl.lines(transcript):
                stream.write(line + b"\n")
    if part and output:
        part.replace(output)
    reading.finish()


@command.command("stats")
@_paths
@_tokenizer
@click.option("--by", type=click.Choice(["tool", "kind"]), multiple=True, default=("tool", "kind"), help="Groups.")
def stats_command(paths: tuple[str, ...], tokenizer: str, by: tuple[str, ...]) -> None:
    """Print how big tool results are, by tool and by kind of content."""
    engine = open_tokenizer(tokenizer)
    reading = Reading(paths)
    for group in by:
        rows = sizes(reading, engine, group)
        total = sum(row.tokens for row in rows) or 1
        click.echo(
            f"\n{group:<28} {'results':>8} {'median':>8} {'p90':>9} {'max chars':>10} {'tokens':>10} {'share':>6} "
            f"{'c/t':>5}"
        )
        for row in rows:
            ratio = f"{row.chars_per_token:.2f}" if row.chars_per_token else "-"
            click.echo(
                f"{row.group[:28]:<28} {row.results:>8,} {row.median_chars:>8,.0f} {row.p90_chars:>9,} "
                f"{row.max_chars:>10,} {row.tokens:>10,} {row.tokens / total:>6.1%} {ratio:>5}"
            )
    reading.finish()


@command.command("formats")
def formats_command() -> None:
    """Print the table of formats that docs/formats.md holds."""
    from ctxsim.readers.catalogue import markdown

    click.echo(markdown(), nl=False)
