"""`ctxsim compare`: what changed between two runs, for people and for CI."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ctxsim.answers.advice.advice import advise, as_values
from ctxsim.cli import answer, rows
from ctxsim.cli.answer import tell_answer
from ctxsim.cli.options import PATH
from ctxsim.cli.output import tell
from ctxsim.errors import CtxsimError
from ctxsim.results import read_run


@click.command("compare")
@click.argument("before", type=PATH, metavar="RUN_A")
@click.argument("after", type=PATH, metavar="RUN_B", required=False)
@click.option("--policy", "two", nargs=2, metavar="LABEL LABEL", help="These two, within RUN_A or from A to B.")
@click.option("--fail-if", "rules", multiple=True, metavar="RULE", help="As in 'cost_usd > +2%'; then exit status 1.")
@answer.goal
@rows.form
def command(
    before: Path, after: Path | None, two: tuple[str, str] | None, rules: tuple[str, ...], goal: str, form: str
) -> None:
    """Compare two runs policy by policy, over the transcripts that both have; tell noise from change.

    Begins with what RUN_B advises. Policies pair by label, then by label without the estimator; where each run has one
    policy, with each other. What has no pair is told. Noise: the interval of the paired difference has 0 in it.
    Columns: tokens_sum, tokens_peak, cost_usd, survival, survival_loose, cache_hit_ratio, compactions, refused.
    """
    from ctxsim.report.comparison import change_sheet, compare, pairs_of, parse_rule, unpaired

    if after is None and not two:
        raise CtxsimError("compare needs two runs, or one and --policy LABEL LABEL")
    parsed = [parse_rule(rule) for rule in rules]
    first = read_run(before)
    second = read_run(after) if after is not None else first
    pairs = [(first.label(two[0]), second.label(two[1]))] if two else pairs_of(first, second)
    changes = compare(first, second, pairs)
    left = [] if two else unpaired(first, second, pairs)
    if parsed and left and all(one in first.info.bounds for one, _ in pairs):
        raise CtxsimError(f"nothing for --fail-if to judge: {'; '.join(left)}; name two with --policy LABEL LABEL")
    broken = [change for change in changes if any(rule.breaks(change) for rule in parsed)]
    if form == "table":
        tell_answer(second, goal)
    table = change_sheet(changes, broken, second.shown)
    rows.show("compare", [table], form, not_compared=left, verdict=as_values(advise(second, goal), second.info.shown))
    for line in left:
        tell(f"not compared: {line}")
    for change in broken:
        tell(f"{second.shown(change.policy)}: {change.column} {change.difference:+,.4g}")
    if broken:
        sys.exit(1)
