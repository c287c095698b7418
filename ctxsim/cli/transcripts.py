"""`ctxsim transcripts`: check, convert, measure and find recordings."""

import sys
from collections import Counter as Frequencies
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TypeVar

import click
import msgspec

from ctxsim.api.survey import GROUPS, check, results, sizes
from ctxsim.cli import options
from ctxsim.cli.output import tell_written
from ctxsim.cli.reading import Reading
from ctxsim.cli.show import show
from ctxsim.cli.terminal import say
from ctxsim.counting.tokenizers import DEFAULT, open_tokenizer
from ctxsim.errors import agreed, many
from ctxsim.readers.agent_folders import PLACES, kept
from ctxsim.readers.formats import ctxsim_jsonl
from ctxsim.readers.formats.atif.written import unwritable, written
from ctxsim.report.sheet import Cell, Column, sheet, sheet_of
from ctxsim.results.files import replacing
from ctxsim.safety.redaction import Redaction
from ctxsim.transcript import Transcript

CHECKED = ("transcript", "format", "model", "calls", "with usage", "messages", "results", "tokens", "parent", "notes")
"""The columns of `transcripts check`."""

Found = TypeVar("Found")

WRITTEN = ("ctxsim", "atif")
"""Formats that transcripts are written in."""


def _writable(transcripts: Iterable[Transcript], left_out: list[str]) -> Iterator[Transcript]:
    """The transcripts that ATIF can hold. For each other one, `left_out` gets a line with the reason."""
    for transcript in transcripts:
        if why := unwritable(transcript):
            left_out.append(f"{transcript.name}: {why}")
        else:
            yield transcript


def _counted(function: Callable[..., Found], tokenizer: str | None, transcript: Transcript) -> Found:
    # By name, and opened once in each process: tiktoken's would be downloaded by a process to which it is sent.
    return function(transcript, open_tokenizer(tokenizer) if tokenizer else None)


@click.group("transcripts")
def command() -> None:
    """Check, convert, measure and find recorded transcripts."""


@command.command("check")
@options.some_paths
@options.tokenizer
@options.form
def check_command(paths: tuple[str, ...], tokenizer: str | None, form: str) -> None:
    """Print what each transcript holds, what was left out, and why."""
    name = open_tokenizer(tokenizer).name if tokenizer else None
    reading = Reading(paths)
    formats: Frequencies[str] = Frequencies()
    rows = []
    # All before the first line: progress is shown meanwhile.
    for one in list(reading.map(partial(_counted, check, name))):
        formats[one.format] += 1
        if form != "table":
            notes = Cell("; ".join(one.notes), f"{len(one.notes)}")
            rows.append((*msgspec.structs.astuple(one)[:-1], notes))
            continue
        usage = f"usage in {one.calls_with_usage}" if one.calls_with_usage else "no usage"
        parent = f", sub-agent of {one.parent}" if one.parent else ""
        held = f"{many(one.messages, 'message(s)')}, {many(one.results, 'tool result(s)')}"
        say(
            f"{one.transcript}: {one.format}{f' ({one.model})' if one.model else ''}, {many(one.calls, 'call(s)')} "
            f"({usage}), {held}, {many(one.tokens, 'token(s)')}{parent}"
        )
        for note in one.notes:
            say(f"    {agreed(note)}")
    if form != "table":
        show("transcripts check", [sheet("transcripts", "", CHECKED, rows)], form)
    elif formats:
        each = ", ".join(f"{n} {name}" for name, n in formats.most_common())
        say(f"{many(formats.total(), 'transcript(s)')}: {each}")
    reading.finish()


@command.command("convert")
@options.some_paths
@click.option(
    "--to", "form", type=click.Choice(WRITTEN), default="ctxsim", show_default=True, help="Write this format."
)
@options.out("Write the transcripts to this file instead of standard output.")
@click.option(
    "--redact", type=click.Choice(("usual", "all")), is_flag=False, flag_value="usual", metavar="[all]",
    help="Replace likely secrets, account names and e-mail addresses by others of equal length. With `all`, also "
    "replace IP addresses, phone numbers, and host names in URLs and after @.",
)  # fmt: skip
def convert_command(paths: tuple[str, ...], form: str, out: Path | None, redact: str | None) -> None:
    """Convert transcripts of any format to ctxsim JSONL or ATIF.

    ATIF is written as one document per line, which holds a session with its sub-agents.
    """
    reading = Reading(paths)
    redaction = Redaction(open_tokenizer(DEFAULT).count_many, redact == "all") if redact else None
    found = map(redaction.transcript, reading) if redaction else reading
    if form == "atif":
        pieces = written(_writable(found, reading.left_out))
    else:
        pieces = (line + b"\n" for transcript in found for line in ctxsim_jsonl.lines(transcript))
    first = list(islice(pieces, 1))
    pieces = chain(first, pieces)
    if out is None:
        sys.stdout.buffer.writelines(pieces)
    elif first:
        with replacing(out) as temporary, temporary.open("wb") as stream:
            stream.writelines(pieces)
        tell_written([out])
    try:
        reading.finish()
    finally:
        if redaction:
            say(f"{redaction.said}. Read it before you share it.", err=True)


@command.command("stats")
@options.some_paths
@options.tokenizer
@options.form
def stats_command(paths: tuple[str, ...], tokenizer: str | None, form: str) -> None:
    """Print how big tool results are, by tool and by kind of content."""
    name = open_tokenizer(tokenizer).name if tokenizer else None
    reading = Reading(paths)
    found = list(chain.from_iterable(reading.map(partial(_counted, results, name))))
    sheets = []
    for group in GROUPS:
        rows = sizes(found, group)
        title = f"Tool results by {group}; median, p90, max: characters"
        sheets.append(sheet_of(group, title, _size_columns(group, sum(row.tokens for row in rows) or 1), rows))
    show("transcripts stats", sheets, form)
    reading.finish()


def _size_columns(group: str, total: int) -> tuple[Column, ...]:
    return (
        Column(group, group, left=True, of="group"), Column("results", "results"),
        Column("median", "median", rank=2, form="{:,.0f}", of="median_chars"),
        Column("p90", "p90", rank=3, of="p90_chars"), Column("max_chars", "max chars", rank=1),
        Column("tokens", "tokens"), Column("share", "share", form="{:.1%}", of=lambda row: row.tokens / total),
        Column("chars_per_token", "c/t", rank=4, form=lambda ratio: f"{ratio:.2f}" if ratio else "-"),
    )  # fmt: skip


@command.command("find")
@options.flag("--paths", "Print only the paths of the sessions, one per line.", "list_paths")
def find_command(list_paths: bool) -> None:
    """List the sessions that agents keep on this machine.

    The sessions are not read. Other commands take `@found` as a path that stands for all of them.
    """
    found = list(kept())
    if list_paths:
        for one in found:
            for path in one.paths:
                click.echo(path)
        return
    widest = max((len(one.place.format) for one in found), default=0)
    for one in found:
        span = " to ".join(f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d}" for at in (one.first_s, one.last_s))
        size = f"{one.bytes / 1e6:>9,.1f} MB"
        say(
            f"{one.place.agent:<12} {many(len(one.paths), 'path(s)'):>12} {size}  files of {span}  "
            f"{one.place.format:<{widest}} {one.folder!s}"
        )
    if not found:
        agents = ", ".join(dict.fromkeys(place.agent for place in PLACES))
        say(f"no sessions of {agents} on this machine")
