"""`ctxsim claims`: what the documents state, measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import click

from ctxsim.claims import Evidence, check, markdown
from ctxsim.claims.criteria import criteria
from ctxsim.errors import InputError
from ctxsim.readers import read_source, sources
from ctxsim.transcript import Transcript


@click.command("claims")
@click.argument("paths", nargs=-1)
@click.option("--seed", "seeds", multiple=True, metavar="N", help="Only this document's (000 to 004); may be repeated.")
@click.option("--criteria", "only_criteria", is_flag=True, help="Seed 003's nine success criteria instead.")
@click.option("--format", "form", type=click.Choice(("table", "markdown")), default="table", help="How to print it.")
def command(paths: tuple[str, ...], seeds: tuple[str, ...], only_criteria: bool, form: str) -> None:
    """Measure each claim of the documents that ctxsim comes from, on its scenarios and on recorded transcripts (PATHS).

    Verdicts: reproduced, refuted, depends (on what), not measurable offline (why).
    """
    from rich.text import Text

    from ctxsim.cli.bench import console

    out = console()
    if only_criteria:
        for one in criteria():
            out.print(Text(f"{'met    ' if one.met else 'not met'}  {one.name} ({one.metric})", style="bold"))
            out.print(Text(f"         {one.got}", style="dim"))
        return
    recorded = list(_readable(paths))
    found = [(claim, finding) for claim, finding in check(Evidence(recorded)) if not seeds or claim.seed in seeds]
    if form == "markdown":
        click.echo(markdown(found), nl=False)
        return
    for claim, finding in found:
        style = {"reproduced": "green", "refuted": "red"}.get(finding.verdict, "yellow")
        out.print(Text(f"{claim.seed}  {claim.says}", style="bold"))
        out.print(Text(f"     {claim.how}: {finding.got}", style="dim"))
        out.print(Text(f"     {finding.verdict}{f': {finding.on}' if finding.on else ''}", style=style))
    counts: dict[str, int] = {}
    for _, finding in found:
        counts[finding.verdict] = counts.get(finding.verdict, 0) + 1
    out.print(Text(f"\n{len(found)} claims: " + ", ".join(f"{n} {verdict}" for verdict, n in sorted(counts.items()))))


def _readable(paths: Iterable[str]) -> Iterator[Transcript]:
    """The transcripts under some paths; a file in a folder that can't be read is told of and left out."""
    for source in sources(*paths):
        try:
            yield from read_source(source)
        except InputError as error:
            if source.named:
                raise
            click.echo(f"ctxsim: {error}", err=True)
