"""`ctxsim compare`: what changed between two runs, for people and for CI."""

import shlex
import sys
from pathlib import Path

import click
import msgspec

from ctxsim.answers.advice.baseline import advise
from ctxsim.answers.advice.verdict import as_values, verdict
from ctxsim.api.bill import compare_unpaired
from ctxsim.api.runs import compare, read_run
from ctxsim.cli import completion, options
from ctxsim.cli.loudness import note
from ctxsim.cli.output import tell
from ctxsim.cli.show import escaped, show, tell_lines
from ctxsim.report.changes import change_sheet, read_sheet, said, unpaired_sheet
from ctxsim.report.sheet import FORMS, Sheet, as_latex
from ctxsim.results import Run
from ctxsim.results.run import UNCHECKED
from ctxsim.results.run_info import __version__


@click.command("compare")
@click.argument("before", type=options.PATH, metavar="RUN_A", shell_complete=completion.runs)
@click.argument("after", type=options.PATH, metavar="RUN_B", required=False, shell_complete=completion.runs)
@click.option(
    "--policy", "two", nargs=2, metavar="LABEL LABEL", shell_complete=completion.policies,
    help="Compare these two policies: both in RUN_A, or the first in RUN_A and the second in RUN_B.",
)  # fmt: skip
@options.several("--fail-if", "rules", "RULE", "Exit with status 1 if this condition holds, for example "
                 "'cost_usd > +2%'.")  # fmt: skip
@options.goal
@options.one_of("--format", (*FORMS, "latex"), "Print the result in this form.", "form", usual="table")
def command(
    before: Path, after: Path | None, two: tuple[str, str] | None, rules: tuple[str, ...], goal: str, form: str,
) -> None:  # fmt: skip
    """Compare two runs policy by policy, and say which differences are noise.

    Compares only transcripts that are in both runs: from files of the same content, or else of the same name. Policies
    are paired by label, then by label without the estimator. If each run has one policy, these two are paired whatever
    their labels. Policies without a partner are listed. A difference is noise if its confidence interval contains 0, or
    if p is above .05; noise never fails --fail-if. Fewer than 6 sessions have neither, so no noise. A difference of
    refused calls is never noise. Columns of the table and of --fail-if: tokens_sum, tokens_peak, cost_usd,
    cost_refetch_usd, survival, survival_loose, cache_hit_ratio, compactions, refused.

    Instead of runs, RUN_A and RUN_B can be two folders of recordings: sessions of an agent before and after a change.
    --fail-if then takes one of these columns, as in 'cost > 10%': cost, cost_per_call, tokens, tokens_per_call, head
    (tokens of system prompt and tools), calls, all in per cent; or compactions, as in 'compactions > 1'.
    """
    if after is not None and _name_recordings((before, after)):
        if form == "latex":
            raise click.UsageError("--format latex is of runs; for recordings take --format md")
        if two:
            raise click.UsageError("--policy goes with two runs; these are recordings")
        _unpaired(before, after, rules, form)
        return
    first = read_run(before)
    second = first if after is None else read_run(after)
    if not first.info.files and second.info.files:
        note(f"{first.folder}: {UNCHECKED}", err=True)
    found = compare(first, None if after is None else second, two, rules)
    told = said(found.changes, found.broken)
    table = (
        change_sheet(found.changes, found.broken, second.shown)
        if form in ("json", "csv")
        else read_sheet(found.changes, found.broken, first, second)
    )
    if found.other_files:
        others = f"Other content in B than in A: {', '.join(found.other_files)}. Differences may come from that."
        table = msgspec.structs.replace(table, notes=(*table.notes, others))
    if form in ("md", "latex", "csv"):
        asked = [str(before), *([str(after)] if after else []), *(("--policy", *two) if two else ())]
        asked += [part for rule in rules for part in ("--fail-if", rule)]
        table = _made_by(asked, form, table, first, second)
    titles = table.title.split("\n")
    if form == "latex":
        click.echo(as_latex(escaped(msgspec.structs.replace(table, title="; ".join([*titles, told])))), nl=False)
    elif form == "md":
        click.echo("".join(f"{line}\n\n" for line in (told, *titles)), nl=False)
        if table.rows:
            show("compare", [table], form)
        click.echo("".join(f"\n{line}\n" for line in table.notes), nl=False)
    else:
        if form == "table":
            tell_lines([told])
        advice = advise(second, goal)
        values = as_values(advice, second.info.shown)
        show("compare", [table], form, verdict=values, not_compared=list(found.not_compared), said=told)
        if form == "table" and not two:
            note(f"\nAdvice from B alone: {verdict(advice, second.info.shown)[0]}")
    for line in (told, *table.notes) if form == "csv" else ():
        note(line, err=True)
    for line in found.not_compared:
        tell(f"not compared: {line}")
    for change in found.broken:
        tell(f"{second.shown(change.policy)}: {change.column} {change.difference:+,.4g}")
    if found.broken:
        sys.exit(1)


def _name_recordings(paths: tuple[Path, Path]) -> bool:
    """Whether paths mean recordings: none has a run.json, and one exists or is written like a source's name."""
    return not any((path / "run.json").exists() for path in paths) and any(
        path.exists() or set(str(path)) & set(":*?[@") for path in paths
    )


def _made_by(asked: list[str], form: str, table: Sheet, first: Run, second: Run) -> Sheet:
    """The table with notes, printed below it, on the statistical test, the command and the versions."""
    runs = (first.info, second.info)
    versions = " and ".join(dict.fromkeys(info.ctxsim for info in runs))
    tokenizers = ", ".join(dict.fromkeys(name for info in runs for name in info.tokenizers))
    notes = (
        "p: sign-flip permutation test by session, two-sided, not corrected for the number of figures.",
        f"Command: {shlex.join(['ctxsim', 'compare', *asked, '--format', form])}",
        f"Versions: runs by ctxsim {versions}, compared by {__version__}; tokenizers: {tokenizers}",
    )
    return msgspec.structs.replace(table, notes=(*table.notes, *notes))


def _unpaired(before: Path, after: Path, rules: tuple[str, ...], form: str) -> None:
    found = compare_unpaired(before, after, rules)
    table = unpaired_sheet(found.differences, found.broken, found.alike, found.left_out)
    told = (table.title, *table.notes)
    if form == "md":
        click.echo(f"{table.title}\n\n", nl=False)
    show("compare", [table], form)
    for line in told[1:] if form == "md" else ():
        click.echo(f"\n{line}")
    for line in told if form == "csv" else ():
        note(line, err=True)
    for line in found.errors:
        tell(line)
    for one in found.broken:
        tell(f"{one.figure}: {one.effect:+,.1f}{' %' if one.ratio else ''}")
    if found.broken or found.errors:
        sys.exit(1)
