"""`ctxsim claims`: what the documents state, measured."""

from __future__ import annotations

import click

from ctxsim.cli import options, rows
from ctxsim.cli.output import console
from ctxsim.cli.reading import Reading
from ctxsim.errors import CtxsimError
from ctxsim.report.sheet import sheet
from evidence.claims import TITLES, Evidence, check, markdown
from evidence.claims.criteria import criteria


@click.command("claims")
@options.paths
@click.option(
    "--document",
    "--seed",
    "documents",
    multiple=True,
    metavar="N",
    help="Only this document's (000 to 004); may be repeated.",
)
@click.option("--criteria", "only_criteria", is_flag=True, help="Document 003's nine success criteria instead.")
@rows.form
def command(paths: tuple[str, ...], documents: tuple[str, ...], only_criteria: bool, form: str) -> None:
    """Measure each claim of the documents that ctxsim comes from, on its scenarios and on recorded transcripts (PATHS).

    Verdicts: reproduced, refuted, depends (on what), not measurable offline (why).
    """
    from rich.text import Text

    out = console()
    if only_criteria and form != "table":
        met = [(one.name, one.metric, one.met, one.got) for one in criteria()]
        rows.show("claims", [sheet("criteria", "", ("criterion", "metric", "met", "got"), met)], form)
        return
    if only_criteria:
        for one in criteria():
            out.print(Text(f"{'met    ' if one.met else 'not met'}  {one.name} ({one.metric})", style="bold"))
            out.print(Text(f"         {one.got}", style="dim"))
        return
    for document in documents:
        if document not in TITLES:
            raise CtxsimError(f"there is no document {document}; --document is one of: {', '.join(TITLES)}")
    reading = Reading(paths)
    evidence = Evidence(list(reading))
    found = list(check(evidence, documents or tuple(TITLES)))
    if form == "md":
        click.echo(markdown(found), nl=False)
        reading.finish()
    if form != "table":
        columns = ("document", "says", "how", "got", "verdict", "on")
        cells = [(claim.document, claim.says, claim.how, one.got, one.verdict, one.on) for claim, one in found]
        rows.show("claims", [sheet("claims", "", columns, cells)], form)
        reading.finish()
    for claim, finding in found:
        style = {"reproduced": "green", "refuted": "red"}.get(finding.verdict, "yellow")
        out.print(Text(f"{claim.document}  {claim.says}", style="bold"))
        out.print(Text(f"     {claim.how}: {finding.got}", style="dim"))
        out.print(Text(f"     {finding.verdict}{f': {finding.on}' if finding.on else ''}", style=style))
    counts: dict[str, int] = {}
    for _, finding in found:
        counts[finding.verdict] = counts.get(finding.verdict, 0) + 1
    out.print(Text(f"\n{len(found)} claims: " + ", ".join(f"{n} {verdict}" for verdict, n in sorted(counts.items()))))
    reading.finish()
