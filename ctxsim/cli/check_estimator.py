"""`ctxsim check-estimator`: does an estimator keep the contract?"""

from __future__ import annotations

import click

from ctxsim.cli.output import tell_verdict
from ctxsim.counting.estimators import estimator_label, open_estimator
from ctxsim.counting.estimators.contract import violations
from ctxsim.synthesis import load_scenario, synthesize

SCENARIOS = ("documented-53k", "small-results", "text-only")


@click.command("check-estimator")
@click.argument("label")
def command(label: str) -> None:
    """Check an estimator, yours too (path/to/file.py:Class), against the contract that policies rely on."""
    transcripts = [synthesize(load_scenario(name)) for name in SCENARIOS]
    found = list(violations(lambda: open_estimator(label), transcripts))
    tell_verdict(estimator_label(open_estimator(label)), found)
