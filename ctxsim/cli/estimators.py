"""`ctxsim estimators`: what policies can decide by, with parameters and sources."""

from __future__ import annotations

import click

from ctxsim.cli.output import print_catalogue
from ctxsim.estimators import broken_estimators, registered_estimators


@click.command("estimators")
def command() -> None:
    """List the estimators with their parameters.

    Use one with --estimator LABEL, or as a policy's last parameter: fifo:budget=60000,estimator=chars:ratio=3.
    Your own: --estimator path/to/file.py:Class
    """
    print_catalogue(registered_estimators(), broken_estimators(), lambda cls: "")
