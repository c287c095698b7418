"""`ctxsim check-policy`: does a policy keep the contract?"""

from __future__ import annotations

import click

from ctxsim.bench.check import check
from ctxsim.cli.output import tell, tell_old_names, tell_verdict
from ctxsim.policies import open_policy


@click.command("check-policy")
@click.argument("label")
def command(label: str) -> None:
    """Check a policy, yours too (path/to/file.py:Class), against the contract that makes numbers comparable."""
    spec = open_policy(label)
    tell_old_names([label])
    found = check(label)
    for line in found.findings:
        tell(line)
    tell_verdict(spec.label, found.violations)
