"""`ctxsim advise`: what to set in the agent that recorded your sessions."""

from typing import Any

import click
import msgspec

from ctxsim.api.advising import Advised, advise, construct
from ctxsim.api.runs import Watch
from ctxsim.cli import options
from ctxsim.cli.loudness import note
from ctxsim.cli.progress import progress
from ctxsim.cli.terminal import safe
from ctxsim.report.advised import constructor_screen, screen, tried_sheet
from ctxsim.report.sheet import as_csv, as_json, as_markdown


@click.command("advise")
@options.paths
@click.option("--for", "framework", metavar="NAME", help="Search a framework instead, and print its constructor; or "
              "`policies`.")  # fmt: skip
@options.goal
@options.given(*options.as_set, *options.RULES, options.head)
@click.option("--sample", type=click.IntRange(min=1), metavar="N", help="Of a large folder N transcripts.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, metavar="N", help="Processes. The answer is the same.")
@options.form
def command(paths: tuple[str, ...], framework: str | None, form: str, **said: Any) -> None:
    """Say what to set in the agents that recorded sessions (PATHS; without any, what agents keep on this machine).

    Searches each agent's settings over the sessions, and prints what to paste into its own file.
    """
    rules = options.fields({name: said.pop(name) for name in options.PROVIDER})
    if framework is not None:
        said = {name: value for name, value in said.items() if name not in ("settings", "project")}
    with progress("advise") as course:
        watch = Watch(course.finished, course.within)
        if framework is not None:
            framed = construct(framework, paths, watch=watch, **said, **rules)
        else:
            found = advise(paths, watch=watch, **said, **rules)
    if framework is not None:
        if form == "json":
            click.echo(as_json("advise", (), advice=msgspec.to_builtins(framed)), nl=False)
        else:
            click.echo("\n".join(map(safe, constructor_screen(framed))))
        return
    _print(found, form)
    if found.unreadable:
        note(f"{found.unreadable} source(s) can't be replayed; ctxsim transcripts check says why", err=True)


def _print(found: Advised, form: str) -> None:
    one = tried_sheet(found)
    if form == "json":
        click.echo(as_json("advise", [one], agents=msgspec.to_builtins(found.agents), replays=found.replays), nl=False)
    elif form == "csv":
        click.echo(as_csv([one]), nl=False)
    elif form == "md":
        said = [f"> {line}" for agent in found for line in screen(agent)]
        click.echo("\n".join([*said, "", as_markdown(one)]), nl=False)
    else:
        click.echo("\n\n".join("\n".join(map(safe, screen(agent))) for agent in found))
