"""`ctxsim bill`: what sessions cost, for what, and what would have made them cheaper."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import click

from ctxsim.answers.bill.smaller import Smaller
from ctxsim.answers.bill.sums import BYS, Sum, misses, summaries, unfinished
from ctxsim.api import Count
from ctxsim.api.bill import DAYS, Bill, bill, forget
from ctxsim.cli import options
from ctxsim.cli.output import tell_and_exit, tell_written
from ctxsim.cli.progress import progress
from ctxsim.cli.show import show
from ctxsim.cli.terminal import say
from ctxsim.errors import InputError, many
from ctxsim.policies.agents.config import of_places
from ctxsim.policies.agents.given import hindrances
from ctxsim.readers.paths import FOUND
from ctxsim.report import bill as told
from ctxsim.results import InputInfo
from ctxsim.results.files import PICTURES, refuse_other


@click.command("bill")
@options.paths
@options.one_of("--by", BYS, "Print one row of the table for each of these. Default: project.", usual="project")
@options.a_number("--days", Count, f"Count only the last N days of the recordings. 0 counts all days. Default: {DAYS}.",
                  default=DAYS)  # fmt: skip
@options.flag("--no-smaller", "Leave out what would have saved money.", "alone")
@click.option(
    "--project", type=options.PATH, metavar="DIR", help="Count the tokens of the memory files in this project's folder."
)
@options.one_of(
    "--index", ("kept", "none", "forget"),
    "Keep dates, tokens and costs of the session files in your cache folder, so that the next bill is faster "
    "(kept, the default), or keep nothing (none). Texts are never kept. With `forget`, remove what is kept and exit.",
    usual="kept",
)  # fmt: skip
@options.out("Draw the bill into this file.")
@options.form
def command(
    paths: tuple[str, ...], by: str, days: int, alone: bool, project: Path | None, index: str, out: Path | None,
    form: str,
) -> None:  # fmt: skip
    """Add up what recorded sessions cost, and say what would have made the bill smaller.

    Without PATHS, reads the sessions in the agents' own folders. Tokens are as recorded. Dollars are as recorded too,
    or else by the list prices on the day of the call. Changes that would have made the bill smaller are listed, each
    with what these sessions would have cost.
    """
    if index == "forget":
        removed = forget()
        say(f"removed: {removed}" if removed else "nothing is remembered")
        return
    refuse_other(out, PICTURES)
    with progress("bill") as course:
        found = bill(
            paths or (FOUND,), days=days or None, project=project, index=index == "kept", jobs=None,
            tell=lambda name, found, calls, total: course.finished(InputInfo(name, "", found, calls), total),
        )  # fmt: skip
    whole = form != "table"
    total = found.total()
    if not found.lines.lines:
        why = f"{', '.join(paths or (FOUND,))}: no response with recorded usage"
        tell_and_exit(found.left_out, found.errors or [why])
    rows = told.part_sheet(total, whole) if by == "part" else told.bill_sheet(by, found.by(by), whole)  # type: ignore[arg-type]
    opening, after = list(_opening(found, total)), list(told.pauses(misses(found.lines), total))
    less = None if alone else found.smaller()
    closing = list(_closing(found, less, not paths)) if less else []
    sheets = [rows, *([told.smaller_sheet(less, whole)] if less and less.savings else [])]
    if whole:
        show("bill", sheets, form, says=[line for line in (*opening, *after, *closing) if line])
    for lines, shown in ([(opening, sheets[:1]), (after, sheets[1:]), (closing, [])]) if not whole else ():
        for line in lines:
            say(line)
        show("bill", shown, form)
    if out:
        from ctxsim.report.usd_plots import plot_bill

        grouped = "project" if by == "part" else by
        tell_written([plot_bill(grouped, found.by(grouped), out)], form)  # type: ignore[arg-type]
    tell_and_exit(found.left_out, found.errors)


def _opening(found: Bill, total: Sum) -> Iterator[str]:
    lines = found.lines
    yield from told.opening(lines, total, unfinished(lines), summaries(lines))
    yield from told.older(lines)
    if lines.repeated:
        yield f"Counted once: {many(lines.repeated, 'response(s)')} that several files hold."
    for file, tokens in found.memory.items():
        yield f"{file}: {tokens:,} tokens, in every request."


def _closing(found: Bill, less: Smaller, own: bool) -> Iterator[str]:
    yield from told.closing(less) if found.total().usd else ("No change is billed: no price is known.",)
    if own and (settings := [one.given for one in less.savings if one.given]):
        with suppress(InputError):
            yield from hindrances(of_places(), settings)
    if (ahead := found.ahead()) is not None:
        yield told.pace(ahead, found.lines)
