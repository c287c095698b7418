"""`ctxsim scenarios`: what there is."""

from __future__ import annotations

import click

from ctxsim.cli import rows
from ctxsim.report.sheet import sheet
from ctxsim.synthesis import load_scenario, scenario_names


@click.command("scenarios")
@rows.form
def command(form: str) -> None:
    """List the scenarios that come with ctxsim."""
    found = [load_scenario(name) for name in scenario_names()]
    if form != "table":
        cells = [(one.name, one.title, " ".join(one.policies), one.description.strip()) for one in found]
        rows.show("scenarios", [sheet("scenarios", "", ("name", "title", "policies", "about"), cells)], form)
        return
    for scenario in found:
        click.echo(f"{scenario.name}: {scenario.title}")
        for line in scenario.description.strip().splitlines():
            click.echo(f"    {line}")
        click.echo(f"    policies: {', '.join(scenario.policies)}\n")
