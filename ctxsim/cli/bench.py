"""`ctxsim bench`: replay transcripts or scenarios through policies, and say which policy to take."""

from typing import Any

import click

from ctxsim.api.runs import bench
from ctxsim.cli import options
from ctxsim.cli.output import tell_of_labels
from ctxsim.cli.running import DEFAULT_SCENARIOS, run_all, split
from ctxsim.policies import open_policy
from ctxsim.report.tables import bench_sheet
from ctxsim.runs.presets import PRESETS, expanded, is_preset


@click.command("bench")
@options.paths
@options.policies(
    f"Run this policy instead of the default ones, or a whole family: {', '.join(PRESETS)} (seeds: policies of the "
    "five documents that ctxsim began with)."
)
@options.goal
@options.form
@options.columns
@options.given(*options.RUN_OPTIONS, options.as_set)
def command(paths: tuple[str, ...], policies: tuple[str, ...], scenarios: tuple[str, ...], **said: Any) -> None:
    """Replay transcripts or scenarios through policies, and say which policy to take.

    PATHS are files, folders, or - for standard input. Without arguments, bench runs the scenarios documented-53k and
    fifty-turns. It prints one table per run, and writes run.json, tables and pictures to results/<name>.
    """
    recorded, made = split(paths, scenarios)
    words = [label if is_preset(label) else open_policy(label).short for label in policies]
    tell_of_labels(expanded(policies))
    made = made or ([] if recorded else DEFAULT_SCENARIOS)
    run_all("bench", bench, bench_sheet, recorded, made, words, said | {"policies": policies})
