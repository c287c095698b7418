"""`ctxsim check-policy`: does a policy keep the contract?"""

from __future__ import annotations

import click

from ctxsim.cli.output import tell, tell_old_names, tell_verdict
from ctxsim.policies import open_policy
from ctxsim.runs.check import check
from ctxsim.synthesis import load_scenario


@click.command("check-policy")
@click.argument("label")
@click.option("--scenario", "scenarios", multiple=True, metavar="NAME", help="Only on this one; may be repeated.")
def command(label: str, scenarios: tuple[str, ...]) -> None:
    """Check a policy, yours too (path/to/file.py:Class), against the contract that makes numbers comparable.

    It replays every scenario that comes with ctxsim, in two processes that hash texts differently.
    """
    spec = open_policy(label)
    tell_old_names([label])
    for name in scenarios:
        load_scenario(name)
    found = check(label, scenarios=scenarios)
    for line in found.findings:
        tell(line)
    tell_verdict(spec.label, found.violations)
