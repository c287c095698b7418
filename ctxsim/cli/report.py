"""`ctxsim report`: a finished run as a page, as pictures, or as tables of what was lost."""

from pathlib import Path

import click

from ctxsim.cli import completion, options
from ctxsim.cli.output import tell_keys
from ctxsim.cli.show import show, tell_answer
from ctxsim.cli.terminal import say
from ctxsim.errors import CtxsimError
from ctxsim.report.losses import basis, breakdown, of_summaries, pooled
from ctxsim.report.planted import needle_sheets
from ctxsim.results import read_run
from ctxsim.results.files import PAGES, refuse_other
from ctxsim.runs.identity import is_reference

BY = ("age", "depth", "kind", "tool", "form")


@click.command("report")
@click.argument("run", type=options.PATH, metavar="RUN", shell_complete=completion.runs)
@options.one_of(
    "--only", ("page", "pictures", "paper", "losses"),
    "Make only this: the HTML page, pictures, pictures for a paper, or the lists of losses. Default: page.",
    usual="page",
)  # fmt: skip
@options.out("Write the page to this file, or the pictures to this folder, instead of into RUN.")
@click.option("--transcript", "word", default="", metavar="WORD",
              help="Put only transcripts whose name contains WORD on the page.")  # fmt: skip
@options.policies("In pictures, draw only this policy beside the best and worst possible ones.")
@click.option(
    "--by", type=click.Choice(BY), multiple=True,
    help="With --only losses, list them only by this breakdown. May be repeated.",
)  # fmt: skip
@options.goal
@options.form_of("With --only losses, print the lists in this form.")
def command(
    run: Path, only: str, out: Path | None, word: str, policies: tuple[str, ...], by: tuple[str, ...],
    goal: str, form: str,
) -> None:  # fmt: skip
    """Show RUN, a run's folder, as an HTML page, as pictures, or as lists of what was lost.

    The page is one self-contained file. It shows each transcript; of a run whose calls times policies exceed 400,000,
    only the largest. Pictures are every chart as PNG and SVG. Pictures for a paper are PDF files for a column of
    8.5 cm, without headlines, and can be read in grey. A loss is something that a call used but its request no longer
    held. The lists group losses by age (calls since the result), depth (place in the result), kind, tool, and form
    (truncated, summarised or dropped).
    """
    for option, given, fitting in (
        ("--by", by, ("losses",)), ("--policy", policies, ("pictures", "paper")), ("--transcript", word, ("page",)),
        ("--format", form != "table", ("losses",)), ("--out", out, ("page", "pictures", "paper")),
    ):  # fmt: skip
        if given and only not in fitting:
            raise click.UsageError(f"{option} goes with --only {' or '.join(fitting)}")
    if only == "page":
        refuse_other(out, PAGES)
    found = read_run(run)
    if only == "losses":
        something = len(pooled(found, "needs", "detector")) > 0
        lists = [breakdown(found, one) for one in by or BY] if something else []
        show("report", [*([] if by else needle_sheets(found)), *lists], form, basis=basis(found))
        none = "" if something else "nothing to lose: "
        for line in (f"{none}{basis(found)}", *of_summaries(found), *found.caveats) if form == "table" else ():
            say(line)
        return
    if out is None and is_reference(run):
        raise CtxsimError(f"{run} is a documented reference, which stays as it is; say where with --out")
    tell_keys(found.info)
    tell_answer(found, goal)
    if only in ("pictures", "paper"):
        from ctxsim.report.charts import plot_all
        from ctxsim.report.figure import for_paper
        from ctxsim.report.picture import picture

        one, formats = picture(found, goal, policies), ("pdf",) if only == "paper" else ("png", "svg")
        with for_paper(only == "paper"):
            for path in plot_all(one, out or run, formats):
                say(str(path))
        return
    from ctxsim.report.page import write_page

    path = write_page(found, out or run / "report.html", goal, word)
    say(f"{path} ({path.stat().st_size / 1e6:.1f} MB)")
