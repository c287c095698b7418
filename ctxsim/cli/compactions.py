"""`ctxsim compactions`: what recorded compactions kept and lost."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import click
import msgspec
from msgspec import Meta

from ctxsim.answers.compactions.study import Compactions, SummaryScore, score, score_summary
from ctxsim.cli import options
from ctxsim.cli.output import first, tell_written
from ctxsim.cli.reading import Reading
from ctxsim.cli.show import show
from ctxsim.cli.terminal import say
from ctxsim.errors import CtxsimError, many
from ctxsim.readers import read
from ctxsim.report.compactions import again_lines, agent_lines, beside_sheet, compaction_sheet, kind_lines
from ctxsim.results.compactions import COMPACTION_TABLES
from ctxsim.results.csv_text import write_table
from ctxsim.transcript import NO_HISTORY, Transcript

LOST_SHOWN = 20
"""The number of things lost by a summary that are printed."""


class _PathsOrScore(click.Group):
    """`ctxsim compactions PATH...`, and `ctxsim compactions score SUMMARY`."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        if not args or args[0] not in (*self.commands, *self.get_help_option_names(context)):
            args = ["of", *args]
        return super().parse_args(context, args)


@click.group("compactions", cls=_PathsOrScore)
def command() -> None:
    """Say what recorded compactions kept and lost.

    `ctxsim compactions PATH...` scores the compactions in these recordings, as `ctxsim compactions of PATH...` does.
    """


@command.command("of")
@options.some_paths
@options.flag("--alone", "Leave out what policies would have kept, which takes most of the time.")
@options.out("Write the tables to this folder. Default: results/compactions.")
def of_command(paths: tuple[str, ...], alone: bool, out: Path | None) -> None:
    """Score the compactions in recordings by their own summaries.

    Says what each compaction kept and lost, what was asked again, and what was paid. Compares it with what policies
    would have kept with as many tokens left, and does the same at calls without a compaction. Writes compactions.csv
    and more tables, all of them as Parquet too.
    """
    reading = Reading(paths)
    each = list(reading.map(partial(_scored, alone)))
    scored = Compactions()
    for one, _, _ in each:
        scored.add(one)
    rows = scored.compactions
    present, unreadable = sum(there for _, there, _ in each), sum(silent for *_, silent in each)
    without = f"; {present - len(rows)} whose history isn't in the file" if present > len(rows) else ""
    summaries = f"{unreadable} of them without a readable summary"
    found = f"{many(present, 'recorded compaction(s)')} in {many(len(each), 'transcript(s)')}"
    say(f"{found}; {summaries}{without}\n")
    if rows:
        folder, tables = out or Path("results/compactions"), msgspec.structs.astuple(scored)
        named = zip(COMPACTION_TABLES.items(), tables, strict=True)
        written = [path for (name, row), its in named for path in write_table(folder, name, row, its)]
        show("compactions", [compaction_sheet(rows)], "table")
        for line in ("", *agent_lines(rows), *kind_lines(scored.kinds), "", *again_lines(rows)):
            say(line)
        if scored.beside:
            show("compactions", [beside_sheet(scored.beside)], "table")
        tell_written(written)
    reading.finish()


def _scored(alone: bool, transcript: Transcript) -> tuple[Compactions, int, int]:
    """The scores of a transcript's compactions, their number (some have no history), and the number without summary."""
    there = len(transcript.compactions) + transcript.notes.count(NO_HISTORY)
    return score(transcript, beside=not alone), there, sum(not one.summary for one in transcript.compactions)


@command.command("score")
@click.argument("summary", type=click.File("r", encoding="utf-8", errors="replace", lazy=True))
@click.argument("transcript", type=click.Path())
@options.a_number("--call", Annotated[int, Meta(ge=2)], "Let the summary replace the history before call N. Default: "
                  "the call of the last recorded compaction, or else the whole recording.")  # fmt: skip
def score_command(summary: Any, transcript: str, call: int | None) -> None:
    """Score a saved summary against its recording.

    Says how much the file SUMMARY holds of the history of TRANSCRIPT that it replaces, and of what later calls used.
    """
    # Sub-agents are left out: their histories are not the one that was summarised.
    sessions = [one for one in read(transcript) if one.parent is None]
    if len(sessions) != 1:
        raise CtxsimError(f"{transcript}: holds {len(sessions)} sessions; name a file with the one that was summarised")
    try:
        found = score_summary(summary.read(), sessions[0], call)
    except ValueError as error:
        raise CtxsimError(f"{transcript}: {error}") from None
    for line in _lines(found):
        say(line)


def _lines(found: SummaryScore) -> list[str]:
    share = f" ({found.identifiers_kept / found.identifiers:.1%})" if found.identifiers else ""
    lines = [
        f"{found.transcript}: in place of what came before call {found.call}",
        f"  {found.tokens:,} tokens for {found.tokens_history:,}",
        f"  holds {found.identifiers_kept:,} of {found.identifiers:,} identifiers{share}",
    ]
    if not any(found.needed.values()):
        return [*lines, "  no later call used anything that only this history had"]
    lines += [f"  {name}: {found.kept[name]} of {n} that later calls used are kept" for name, n in found.needed.items()]
    lost = [f"    {kind}: {atom}" for kind, atom in found.lost]
    return [*lines, *["  lost:"] * bool(lost), *first(lost, LOST_SHOWN, "    ... and {} more")]
