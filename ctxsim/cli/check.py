"""`ctxsim check`: does a policy, estimator, reader or other part of the user's own keep its contract?"""

import shlex
import sys
from pathlib import Path
from typing import cast

import click

from ctxsim.api import Positive
from ctxsim.api.trust import KINDS as CONTRACTS
from ctxsim.api.trust import Kind, check
from ctxsim.cli import completion, options
from ctxsim.cli.diagnoses import defects_of, show_diagnoses
from ctxsim.cli.output import first, tell, tell_of_labels
from ctxsim.cli.show import show
from ctxsim.cli.terminal import say
from ctxsim.errors import many
from ctxsim.live.agent import is_file
from ctxsim.policies import open_policies
from ctxsim.readers.formats import ctxsim_jsonl
from ctxsim.report.sheet import sheet
from ctxsim.results.files import write_file
from ctxsim.runs.presets import expanded

KINDS = (*CONTRACTS, "setting")
"""What can be checked: the user's own parts, against their contracts, and settings of installed agents."""

MOST = 20
"""Most violations that are printed for a part."""


def _targets(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """The shell completions of a target, for policies and runs."""
    of_kind = {"policy": completion.policies, "run": completion.runs}.get(context.params.get("kind", ""))
    return of_kind(context, parameter, typed) if of_kind else []


@click.command("check")
@click.argument("kind", type=click.Choice(KINDS))
@click.argument("targets", nargs=-1, required=True, metavar="TARGET...", shell_complete=_targets)
@options.flag("--doctor", "When checking a policy, list which known defects of compaction it has.")
@click.option(
    "--case", type=options.PATH, metavar="FILE",
    help="With --doctor and one --scenario, write the shortest transcript that shows the scenario's defect to FILE.",
)  # fmt: skip
@options.several(
    "--scenario", "scenarios", "NAME",
    "When checking a policy, run only this scenario; with --doctor, check only this defect: defects/NAME.",
    completion.scenarios,
)  # fmt: skip
@options.flag(
    "--learn",
    "When checking an agent's file, find the pattern that tells its summary requests, and add it to that file.",
)
@options.flag(
    "--again", "When checking a run, replay it, and compare the new tables with the stored ones byte for byte."
)
@options.several("--inputs", "inputs", "PATH", "With --again, read the run's recordings from this path if they have "
                 "moved.")  # fmt: skip
@click.option(
    "--version", default="", metavar="V|V..V",
    help="When checking a setting, run this version of the agent. With V..V, find between these two versions the one "
    "that changed its behaviour.",
)  # fmt: skip
@click.option(
    "--model", default="", metavar="ID", shell_complete=completion.models,
    help="When checking a setting, run the agent with this model.",
)  # fmt: skip
@options.a_number("--window", Positive, "When checking a setting, set the model's window to N tokens.")
@options.flag("--install", "When checking a setting, first install the agent's version under test into a cache folder.")
@options.form
def command(
    kind: str, targets: tuple[str, ...], doctor: bool, case: Path | None, scenarios: tuple[str, ...], learn: bool,
    again: bool, inputs: tuple[str, ...], version: str, model: str, window: int | None, install: bool, form: str,
) -> None:  # fmt: skip
    """Check that your policy, estimator, reader or other file does what ctxsim expects of it.

    With KIND `setting`, check that an installed agent honours a setting.

    Exits with status 1 if the contract is broken, or if the setting does not do what is expected.

    \b
    policy LABEL          Does the policy keep the contract, on every scenario?
                          --doctor: which known defects does it have?
    estimator LABEL       Does the estimator keep what policies rely on?
    reader FILE.py PATH   Does the reader keep pairs, order, ids, usage and
                          all text?
    agent NAME|FILE       What is known of this agent? An agent in a FILE is
                          tried with three conversations.
    vendor NAME|FILE      Are the vendor's rules valid, and do they name
                          sources?
    run DIR               Are the run's checksums and tables right?
                          --again: does a replay give the same tables?
    setting AGENT KEY=VALUE
                          Does the installed agent, run offline with this
                          setting, do what its policy expects?

    As LABEL, a family of policies stands for all its policies: agents, frameworks, seeds, papers.
    """
    if kind != "setting" and (version or model or window or install):
        raise click.UsageError("--version, --model, --window and --install are for settings")
    if kind != "policy" and (doctor or scenarios or case):
        raise click.UsageError("--doctor and --scenario are for policies: ctxsim check policy LABEL --doctor")
    if (again or inputs) and (kind != "run" or not again):
        raise click.UsageError("--again is for runs, and --inputs goes with it: ctxsim check run DIR --again")
    if learn and (kind != "agent" or not all(map(is_file, targets))):
        raise click.UsageError("--learn is for agents' files: ctxsim check agent FILE.toml --learn")
    # What runs agents and benchmarks is imported here, as most checks need none of it.
    if kind == "setting":
        from ctxsim.cli.check_setting import run

        run(targets, version, model, window, install, form)
        return
    if kind == "policy":
        targets = expanded(targets)
        tell_of_labels(targets)
    if case:
        if (len(targets), len(scenarios), doctor) != (1, 1, True):
            raise click.UsageError("--case is of one policy and one defect: --doctor --scenario defects/NAME")
        _case(targets[0], defects_of(scenarios)[0], case)
        return
    if doctor:
        from ctxsim.api.defects import diagnose

        short = {spec.label: spec.short for spec in open_policies(targets)}
        show_diagnoses("check", diagnose(targets, defects_of(scenarios)), form, short)
        return
    each = [targets] if kind == "reader" else [(target, *scenarios, *inputs) for target in targets]
    found = [check(cast(Kind, kind), *asked, again=again, learn=learn) for asked in each]
    if form != "table":
        rows = []
        for one in found:
            name, said, about = one.append_only.partition(": ")
            rows += [(one.target, *line) for line in (*one.lines(), *[(name, about)] * bool(said))]
        show("check", [sheet("checks", "", ("target", "what", "line"), rows)], form, ok=all(one.ok for one in found))
    for one in found if form == "table" else ():
        for line in one.findings:
            tell(line)
        for line in first(one.violations, MOST, "... and {:,} more; --format csv shows all"):
            say(line, err=True)
        said = many(len(one.violations), "violation(s)") if one.violations else "keeps the contract"
        say(f"{one.target}: {said}")
        if one.append_only:
            say(f"  {one.append_only}")
    if not all(one.ok for one in found):
        sys.exit(1)


def _case(policy: str, defect: str, file: Path) -> None:
    """Write the shortest transcript in which a policy shows a defect, and print how to see and mend it."""
    from ctxsim.api.defects import shortest_case

    shown, transcript, answer = shortest_case(policy, defect)
    write_file(file, b"".join(line + b"\n" for line in ctxsim_jsonl.lines(transcript)))
    expected = shown.expectation
    say(f"{file}: {len(transcript.calls)} calls. Expected: {expected.that[0].lower()}{expected.that[1:]}")
    say(f"The provider's answer to the last: {answer}")
    say(f"What would mend it: {expected.mend}")
    for one in expected.seen:
        say(f"Reported of {one.who}, {one.date}: {one.source}")
    rules = " ".join(f"--provider {name}={value}" for name, value in shown.scenario.provider.items()
                     if not isinstance(value, dict))  # fmt: skip
    say(f"To see it: ctxsim replay {shlex.quote(str(file))} --policy {shlex.quote(policy)} {rules}")
