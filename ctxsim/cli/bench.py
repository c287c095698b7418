"""`ctxsim bench`: the main job."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ctxsim.api.runs import Run, bench
from ctxsim.cli import completion, options
from ctxsim.cli.loudness import stage
from ctxsim.cli.output import tell_of_labels
from ctxsim.cli.running import DEFAULT_SCENARIOS, Runs, split
from ctxsim.cli.settings import usual_paths
from ctxsim.cli.show import show_run
from ctxsim.policies import open_policy
from ctxsim.report.tables import bench_sheet
from ctxsim.runs.presets import PRESETS, expanded, is_preset


@click.command("bench")
@options.paths
@click.option(
    "--policy", "policies", multiple=True, metavar="LABEL", shell_complete=completion.policies,
    help=f"Run this policy, or this family ({', '.join(PRESETS)}), instead of the usual policies. May be repeated.",
)  # fmt: skip
@options.goal
@options.form
@options.columns
@options.given(*options.RUN_OPTIONS, *options.as_set)
def command(
    paths: tuple[str, ...], policies: tuple[str, ...], goal: str, form: str, columns: tuple[str, ...] | None,
    scenarios: tuple[str, ...], **said: Any,
) -> None:  # fmt: skip
    """Replay transcripts or scenarios through policies, and say which policy to take.

    PATHS are files, folders, or - for standard input. Without arguments, bench runs the scenarios documented-53k and
    fifty-turns. It prints one table per run, and writes run.json, tables and pictures to results/<name>.
    """
    recorded, made = split(usual_paths(paths, scenarios), scenarios)
    words = [label if is_preset(label) else open_policy(label).short for label in policies]
    tell_of_labels(expanded(policies))
    runs = Runs(bench, recorded, made or (() if recorded else DEFAULT_SCENARIOS), words, said | {"policies": policies})

    def show(run: Run) -> Sequence[Path]:
        with stage("answer and table"):
            show_run("bench", run, bench_sheet, goal, form, columns)
        with stage("pictures"):
            # What draws is loaded once the answer is on the screen.
            from ctxsim.report.charts import BENCH, plot
            from ctxsim.report.picture import picture

            return plot(picture(run, goal), BENCH)

    runs.run(show, told=form == "table")
