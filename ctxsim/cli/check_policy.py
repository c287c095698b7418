"""`ctxsim check-policy`: does a policy keep the contract?"""

from __future__ import annotations

import click
import msgspec

from ctxsim.cli.output import tell_old_names, tell_verdict
from ctxsim.policies import open_policy
from ctxsim.provider import Provider
from ctxsim.replay.contract import violations
from ctxsim.synthesis import load_scenario, scenario_names, synthesize


@click.command("check-policy")
@click.argument("label")
def command(label: str) -> None:
    """Check a policy, yours too (path/to/file.py:Class), against the contract that makes numbers comparable."""
    spec = open_policy(label)
    tell_old_names([label])
    found: list[str] = []
    for name in scenario_names():
        scenario = load_scenario(name)
        # A quarter of the window makes overflows, and with them on_overflow, happen too.
        for share in (1, 4):
            provider = msgspec.convert(scenario.provider, Provider)
            tight = msgspec.structs.replace(provider, window=provider.window // share)
            found += violations(spec, [synthesize(scenario)], tight)
    tell_verdict(spec.label, found)
