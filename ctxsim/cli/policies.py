"""`ctxsim policies`: what there is, with parameters and sources."""

from __future__ import annotations

import inspect

import click

from ctxsim import labels
from ctxsim.policies import registered_policies


@click.command("policies")
def command() -> None:
    """List the policies with their parameters.

    Chain them with +, as in head-tail+summary; add estimator=LABEL as the last parameter to change what one decides by.
    Your own: --policy path/to/file.py:Class
    """
    for name, cls in sorted(registered_policies().items()):
        click.echo(labels.signature(name, cls) + ("   (bound)" if cls.bound else ""))
        for line in (inspect.getdoc(cls) or "").splitlines():
            click.echo(f"    {line}".rstrip())
        click.echo()
