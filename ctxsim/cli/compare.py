"""`ctxsim compare`: what changed between two runs, for people and for CI."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ctxsim.cli.options import PATH
from ctxsim.cli.output import console, tell
from ctxsim.results import read_run


@click.command("compare")
@click.argument("before", type=PATH, metavar="RUN_A")
@click.argument("after", type=PATH, metavar="RUN_B")
@click.option("--fail-if", "rules", multiple=True, metavar="RULE", help="As in 'cost_usd > +2%'; then exit status 1.")
def command(before: Path, after: Path, rules: tuple[str, ...]) -> None:
    """Compare two runs policy by policy, over the transcripts that both have; tell noise from change.

    Noise: the interval of the paired difference has 0 in it. Columns: tokens_sum, tokens_peak, cost_usd, survival,
    survival_loose, cache_hit_ratio, compactions, refused.
    """
    from rich.text import Text

    from ctxsim.report.comparison import change_rows, compare, parse_rule
    from ctxsim.report.tables import rich_table

    parsed = [parse_rule(rule) for rule in rules]
    first, second = read_run(before), read_run(after)
    changes = compare(first, second)
    broken = [change for change in changes if any(rule.breaks(change) for rule in parsed)]
    out = console()
    rows = change_rows(changes, broken, second.shown)
    if rows:
        out.print(rich_table(rows, bad=[row[""] == "FAILS" for row in rows]))
    same = len(changes) - len(rows)
    out.print(
        Text(f" {len(changes)} figures of {max(c.transcripts for c in changes)} transcripts; {same} are the same")
    )
    for change in broken:
        tell(f"{second.shown(change.policy)}: {change.column} {change.difference:+,.4g}")
    if broken:
        sys.exit(1)
