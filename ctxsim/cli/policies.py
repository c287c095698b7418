"""`ctxsim policies`: what there is, with parameters and sources."""

from __future__ import annotations

import inspect

import click

from ctxsim.cli.output import print_catalogue
from ctxsim.cli.terminal import safe
from ctxsim.policies import Policy, broken_policies, registered_policies
from ctxsim.policies.foreign import ABOUT


@click.command("policies")
@click.option("--source", "sources", is_flag=True, help="Print preset, source, version and date of each, one a line.")
def command(sources: bool) -> None:
    """List the policies with their parameters.

    Chain them with +, as in head-tail+summary; add estimator=LABEL as the last parameter to change what one decides by.
    Your own: --policy path/to/file.py:Class, messages:file.py:function, or pipe:COMMAND (docs/policy-protocol.md).
    """
    if not sources:
        for pattern, about in ABOUT.items():
            click.echo(pattern)
            for line in inspect.cleandoc(about).splitlines():
                click.echo(f"    {line}".rstrip())
            click.echo()
        print_catalogue(registered_policies(), broken_policies(), _mark)
        return
    for name, cls in sorted(registered_policies().items(), key=lambda one: (one[1].family, one[0])):
        said = (name, cls.family or ("bound" if cls.bound else ""), cls.source, cls.version, cls.read_on)
        click.echo("	".join(safe(part) or "-" for part in said))
    for name, error in sorted(broken_policies().items()):
        click.echo(f"{safe(name)}   (can't be used)	{safe(error)}")


def _mark(cls: type[Policy]) -> str:
    return "   (bound)" if cls.bound else ""
