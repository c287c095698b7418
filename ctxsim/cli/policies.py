"""`ctxsim policies`: what there is, with parameters and sources."""

from __future__ import annotations

import inspect
from typing import Any

import click

from ctxsim.cli import rows
from ctxsim.cli.output import catalogue_rows, print_catalogue
from ctxsim.cli.rows import show
from ctxsim.policies import broken_policies, registered_policies
from ctxsim.policies.foreign import about
from ctxsim.report.sheet import sheet

SOURCES = ("policy", "family", "source", "version", "read")


@click.command("policies")
@click.option("--source", "sources", is_flag=True, help="Show family, source, version and date of each instead.")
@rows.form
def command(sources: bool, form: str) -> None:
    """List the policies with their parameters.

    Chain them with +, as in head-tail+summary; add estimator=LABEL as the last parameter to change what one decides by.
    Your own: --policy path/to/file.py:Class, messages:file.py:function, or pipe:COMMAND (docs/policy-protocol.md).
    """
    if sources:
        found = sorted(registered_policies().items(), key=lambda one: (one[1].family, one[0]))
        said = [(n, c.family or ("bound" if c.bound else ""), c.source, c.version, c.read_on) for n, c in found]
        show("policies", [sheet("sources", "", SOURCES, said)], form)
        return
    listed = (registered_policies(), broken_policies())
    if form != "table":
        columns = ("name", "label", "mark", "about")
        show("policies", [sheet("policies", "", columns, catalogue_rows(*listed, _mark))], form)
        return
    for pattern, text in about().items():
        click.echo(pattern)
        for line in inspect.cleandoc(text).splitlines():
            click.echo(f"    {line}".rstrip())
        click.echo()
    print_catalogue(*listed, _mark)


def _mark(cls: Any) -> str:
    return "   (bound)" if cls.bound else ""
