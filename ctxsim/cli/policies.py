"""`ctxsim policies`: what there is, with parameters and sources."""

from __future__ import annotations

import click

from ctxsim.cli.output import print_catalogue
from ctxsim.policies import broken_policies, registered_policies


@click.command("policies")
def command() -> None:
    """List the policies with their parameters.

    Chain them with +, as in head-tail+summary; add estimator=LABEL as the last parameter to change what one decides by.
    Your own: --policy path/to/file.py:Class
    """
    print_catalogue(registered_policies(), broken_policies(), lambda cls: "   (bound)" if cls.bound else "")
