"""`ctxsim policies`: what there is, with parameters and sources."""

from __future__ import annotations

from typing import Any

import click

from ctxsim.cli import rows
from ctxsim.cli.output import catalogue_rows, print_catalogue
from ctxsim.cli.rows import show
from ctxsim.policies import broken_policies, registered_policies
from ctxsim.report.sheet import sheet


@click.command("policies")
@rows.form
def command(form: str) -> None:
    """List the policies with their parameters.

    Chain them with +, as in head-tail+summary; add estimator=LABEL as the last parameter to change what one decides by.
    Your own: --policy path/to/file.py:Class
    """
    listed = (registered_policies(), broken_policies())
    if form == "table":
        print_catalogue(*listed, _mark)
        return
    show("policies", [sheet("policies", "", ("name", "label", "mark", "about"), catalogue_rows(*listed, _mark))], form)


def _mark(cls: Any) -> str:
    return "   (bound)" if cls.bound else ""
