"""`ctxsim estimators`: what policies can decide by, with parameters and sources."""

from __future__ import annotations

from typing import Any

import click

from ctxsim.cli import rows
from ctxsim.cli.output import catalogue_rows, print_catalogue
from ctxsim.cli.rows import show
from ctxsim.counting.estimators import broken_estimators, registered_estimators
from ctxsim.report.sheet import sheet


@click.command("estimators")
@rows.form
def command(form: str) -> None:
    """List the estimators with their parameters.

    Use one with --estimator LABEL, or as a policy's last parameter: fifo:budget=60000,estimator=chars:ratio=3.
    Your own: --estimator path/to/file.py:Class
    """
    listed = (registered_estimators(), broken_estimators())
    if form == "table":
        print_catalogue(*listed, _mark)
        return
    show(
        "estimators",
        [sheet("estimators", "", ("name", "label", "mark", "about"), catalogue_rows(*listed, _mark))],
        form,
    )


def _mark(cls: Any) -> str:
    return ""
