"""`ctxsim policies`: what there is, with parameters and sources."""

from __future__ import annotations

import inspect

import click

from ctxsim.cli.output import print_catalogue
from ctxsim.policies import broken_policies, registered_policies
from ctxsim.policies.foreign import ABOUT


@click.command("policies")
def command() -> None:
    """List the policies with their parameters.

    Chain them with +, as in head-tail+summary; add estimator=LABEL as the last parameter to change what one decides by.
    Your own: --policy path/to/file.py:Class, messages:file.py:function, or pipe:COMMAND (docs/policy-protocol.md).
    """
    for pattern, about in ABOUT.items():
        click.echo(pattern)
        for line in inspect.cleandoc(about).splitlines():
            click.echo(f"    {line}".rstrip())
        click.echo()
    print_catalogue(registered_policies(), broken_policies(), lambda cls: "   (bound)" if cls.bound else "")
