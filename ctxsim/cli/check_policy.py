"""`ctxsim check-policy`: does a policy keep the contract?"""

from __future__ import annotations

import sys

import click
import msgspec

from ctxsim.contract import violations
from ctxsim.policies import open_policy
from ctxsim.provider import Provider
from ctxsim.synthesis import load_scenario, scenario_names, synthesize


@click.command("check-policy")
@click.argument("label")
def command(label: str) -> None:
    """Check a policy, yours too (path/to/file.py:Class), against the contract that makes numbers comparable."""
    spec = open_policy(label)
    found: list[str] = []
    for name in scenario_names():
        scenario = load_scenario(name)
        # A quarter of the window makes overflows, and with them on_overflow, happen too.
        for share in (1, 4):
            provider = msgspec.convert(scenario.provider, Provider)
            tight = msgspec.structs.replace(provider, window=provider.window // share)
            found += violations(spec, [synthesize(scenario)], tight)
    for line in dict.fromkeys(found):
        click.echo(line, err=True)
    click.echo(f"{spec.label}: {'keeps the contract' if not found else f'{len(found)} violations'}")
    sys.exit(1 if found else 0)
