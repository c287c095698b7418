"""`ctxsim scenarios`: what there is."""

from __future__ import annotations

import click

from ctxsim.synthesis import load_scenario, scenario_names


@click.command("scenarios")
def command() -> None:
    """List the scenarios that come with ctxsim."""
    for name in scenario_names():
        scenario = load_scenario(name)
        click.echo(f"{name}: {scenario.title}")
        for line in scenario.description.strip().splitlines():
            click.echo(f"    {line}")
        click.echo(f"    policies: {', '.join(scenario.policies)}\n")
