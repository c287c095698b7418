"""`ctxsim list KIND`: the policies, models, settings and so on that ctxsim knows."""

from textwrap import indent

import click

from ctxsim.api.lists import KINDS, listed, page
from ctxsim.api.project import found as settings
from ctxsim.cli import options
from ctxsim.cli.output import console
from ctxsim.cli.show import show
from ctxsim.cli.terminal import safe, within


@click.command("list")
@click.argument("kind", type=click.Choice(KINDS), metavar="KIND")
@click.argument("pattern", default="*", metavar="[PATTERN]")
@options.form
def command(kind: str, pattern: str, form: str) -> None:
    """List everything of a KIND, or only what matches PATTERN, which may hold the wildcards * and ?.

    \b
    policies     How each policy's label is written. + chains policies.
                 estimator=LABEL sets how a policy estimates tokens. Your
                 own policies: file.py:Class, messages:file.py:function,
                 pipe:COMMAND. PATTERN may be a family: agents, frameworks,
                 seeds, papers.
    estimators, tokenizers, scenarios, agents, formats
    settings     What users of agents can set about context, the parameter of
                 our policy for it, and what the installed agent did with it.
    models       The window, prices in USD per million tokens, cache rules and
                 tokenizer of each model. FILE.toml[:PATTERN] lists your own
                 too.
    vendors      Each rule of each vendor, with its source and date.
    defects      The known defects that `check policy LABEL --doctor` looks for:
                 what is expected, who reported it, and what would mend it.
    columns      The columns of the printed table (table.*) and of every file
                 of a run.
    config       A project's defaults for bench and sweep, from ctxsim.toml or
                 [tool.ctxsim] in pyproject.toml.
    """
    if pattern == "*" and form == "md" and (text := page(kind)):
        click.echo(text, nl=False)
        return
    file, pattern = options.own_models(pattern) if kind == "models" else ("", pattern)
    found, said = listed(kind, pattern, file)
    if form != "table" or not said:
        show(f"list {kind}", [found], form)
        if kind == "config":
            settings()  # raises the error of a file that bench would refuse
        return
    # Wrapped to the terminal's width. Labels that fit aren't broken, because users copy them.
    width = console().width
    for heading, text in said:
        click.echo(within(safe(heading), width))
        for line in text.splitlines():
            click.echo(indent(within(safe(line), width - 4, 0), "    "))
        click.echo()
