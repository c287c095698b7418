"""`ctxsim drive`: real agents against the mock endpoint, beside built-in policies."""

from __future__ import annotations

import os
import shlex
import shutil
from collections import Counter as Frequencies
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ctxsim.cli import options
from ctxsim.cli.loudness import note
from ctxsim.cli.output import tell, tell_results
from ctxsim.cli.terminal import safe
from ctxsim.errors import CtxsimError
from ctxsim.live.agent import Agent, agent_names, load_agent
from ctxsim.live.faults import parse_faults
from ctxsim.live.played import NEEDS, played

if TYPE_CHECKING:
    from ctxsim.live.drive import Driven
    from ctxsim.live.observed import Observation
    from ctxsim.simulator.provider import Provider

BESIDE = ("keep-all", "token-budget", "head-tail")
"""The policies that stand beside an agent unless others are named."""

MOST_LINES = 12
"""Of items that differ in one call."""


@click.command("drive")
@click.argument("agents", nargs=-1, metavar="AGENT...")
@options.played
@options.faults
@click.option("--policy", "policies", multiple=True, metavar="LABEL", help="Beside these policies, not the default.")
@click.option("--compare", metavar="LABEL", help="Where this policy first sends something else than the agent.")
@click.option("--install", is_flag=True, help="Install the pinned version into a cache folder if it isn't there.")
@click.option("--command", "own", metavar="COMMAND", help="Your own agent; its endpoint is in $CTXSIM_URL.")
@click.option("--limit", type=click.FloatRange(min=1), default=300, help="Seconds for each agent.", show_default=True)
@click.option("--out", type=options.PATH, metavar="DIR", help="Result folder, not results/NAME-driven.")
@click.option("--list", "listed", is_flag=True, help="List the agents that are known.")
def command(
    agents: tuple[str, ...],
    scenario: str | None,
    transcript: str | None,
    number: int,
    faults: tuple[str, ...],
    policies: tuple[str, ...],
    compare: str | None,
    install: bool,
    own: str | None,
    limit: float,
    out: Path | None,
    listed: bool,
    **overrides: object,
) -> None:
    """Let real agents live through a conversation, offline, and show what they really send.

    The conversation's responses are played, its results lie in files. Each agent works in a folder and a home of its
    own, with a clean environment and dummy keys, without any network but loopback where the system allows. Writes a
    run like bench, with a row observed:AGENT@VERSION for each.
    """
    if listed:
        for name in agent_names():
            known = load_agent(name)
            click.echo(f"{name:<12} {known.package}@{known.version} ({known.installer})")
        return
    if bool(agents) == bool(own):
        raise CtxsimError(f"name an agent ({', '.join(agent_names())}), or give your own as --command")
    try:
        from ctxsim.live.drive import drive
    except ImportError:
        raise CtxsimError(NEEDS) from None
    from ctxsim.cli.answer import show_run
    from ctxsim.live.install import located
    from ctxsim.live.observed import observe
    from ctxsim.live.script import script_of
    from ctxsim.policies import open_policies
    from ctxsim.report.plots import plot_run
    from ctxsim.report.tables import bench_sheet
    from ctxsim.results import read_run
    from ctxsim.runs.observed import write_observed

    conversation, provider = played(scenario, transcript, number, overrides)
    open_policies((*policies, *([compare] if compare else [])))
    broken = parse_faults(faults)
    chosen = [located(load_agent(name), install) for name in agents] if not own else [_own(own)]
    folder = out or Path("results") / f"{safe(conversation.name)}-driven"
    note(f"Provider: {provider.describe()}")
    observations = []
    for agent, programs in chosen:
        done = drive(agent, conversation, provider, programs, broken, limit)
        observation = observe(agent.label, done.script, done.entries)
        observations.append((observation, done.entries))
        _tell(done, observation.notes)
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(done.work / "requests.jsonl", folder / f"requests-{agent.name}.jsonl")
        if compare:
            _compare(observation, compare, provider)
    script = script_of(conversation)
    title = f"{conversation.name}, as {', '.join(agent.name for agent, _ in chosen)} lived it"
    write_observed(folder, title, script.transcript, provider, policies or BESIDE, observations)
    made = read_run(folder)
    show_run("drive", made, bench_sheet, "dollars")
    tell_results(made, plot_run(made))


def _own(command: str) -> tuple[Agent, str]:
    """Somebody's own agent: a command, to which the prompt is added where it has no place for it.

    It works in another folder, where the files that are named here aren't.
    """
    parts = [str(Path(part).absolute()) if Path(part).is_file() else part for part in shlex.split(command)]
    if not parts:
        raise CtxsimError("--command is empty")
    filled = parts if "{prompt}" in command else [*parts, "{prompt}"]
    return Agent(Path(parts[0]).name, command=tuple(filled)), os.environ.get("PATH", os.defpath)


def _tell(done: Driven, notes: tuple[str, ...]) -> None:
    """Say how an agent's run went, what held it in, and what it couldn't."""
    kinds = Frequencies(entry.kind for entry in done.entries)
    others = ", ".join(f"{count} {kind}" for kind, count in kinds.items() if kind != "main")
    refused = Frequencies(entry.status for entry in done.entries if entry.status != 200)
    click.echo(
        f"{done.agent.label}: {len(done.entries)} requests ({kinds['main']} of the conversation"
        f"{f', {others}' if others else ''}) in {done.outcome.seconds:.0f} s"
        + "".join(f", {count} x {status}" for status, count in sorted(refused.items()))
    )
    total, steps = len(done.script.steps), done.outcome.steps
    if steps < total:
        tell(f"{done.agent.name}: it ended after {steps} of {total} steps; {_why(done)}")
    if not done.outcome.enclosed:
        tell(f"{done.agent.name}: the system allows no namespaces here: it could have used the network")
    if done.agent.tells:
        tell(f"{done.agent.name}: {done.agent.tells}")
    for tool in sorted({entry.unused for entry in done.entries if entry.unused}):
        tell(f"{done.agent.name}: no tool of its requests could stand for {tool}")
    for line in notes:
        tell(f"{done.agent.name}: {line}")


def _why(done: Driven) -> str:
    statuses = done.outcome.statuses
    if statuses and statuses[-1] is None:
        return "the time limit ended it"
    return f"exit status {statuses[-1] if statuses else 'unknown'}, its output is in {done.work}/output.txt"


def _compare(observation: Observation, label: str, provider: Provider) -> None:
    from ctxsim.live.differences import Amounts, compared

    found = compared(observation, label, provider)
    if found.first is None:
        click.echo(f"{label} sends what {observation.label} sent, in all {len(observation.attempts)} calls")
    else:
        click.echo(
            f"{label} differs from {observation.label} first at call {found.first.call} of "
            f"{len(observation.attempts)}: agent {found.first.tokens_agent:,} tokens, "
            f"policy {found.first.tokens_policy:,}"
        )
        for line in found.first.lines[:MOST_LINES]:
            click.echo(f"  {safe(line)}")
        if len(found.first.lines) > MOST_LINES:
            click.echo(f"  ... and {len(found.first.lines) - MOST_LINES} more")

    def told(who: str, amounts: Amounts) -> str:
        usd = "" if amounts.usd is None else f", {amounts.usd:.2f} USD"
        return f"{who} {amounts.tokens:,} tokens, peak {amounts.peak:,}{usd}"

    click.echo(f"on the agent's own conversation: {told('agent', found.agent)}; {told('policy', found.policy)}")
