"""`ctxsim drive`: real agents against the mock endpoint, beside built-in policies."""

from collections import Counter as Frequencies
from typing import Any

import click

from ctxsim.api import Seconds
from ctxsim.api.defects import diagnose_driven
from ctxsim.api.live import BESIDE, AgentRun, drive
from ctxsim.cli import completion, options
from ctxsim.cli.diagnoses import defects_of, show_diagnoses
from ctxsim.cli.loudness import detail
from ctxsim.cli.output import first, tell, tell_providers, tell_results
from ctxsim.cli.show import show_run
from ctxsim.cli.terminal import say
from ctxsim.live.confined import FILES, NETWORK, SOCKETS
from ctxsim.live.differences import Amounts, compared
from ctxsim.live.drive import Driven
from ctxsim.policies.installed import compared_with
from ctxsim.report.tables import bench_sheet
from ctxsim.runs.doctor import Diagnosis

MOST_LINES = 12
"""Printed lines on the items that differ in one call, at most."""

DIAGNOSED = ("install", "faults", "limit_s", "window")
"""Options that go with --doctor."""


@click.command("drive")
@click.argument("agents", nargs=-1, metavar="AGENT...")
@click.option(
    "--play", "played", multiple=True, metavar="PATH|SCENARIO", shell_complete=completion.scenarios,
    help="Play the conversation of this recording or scenario. With --doctor, check only this defect, as defects/NAME; "
    "may then be repeated.",
)  # fmt: skip
@options.given(*options.PLAYED)
@options.faults
@options.policies("Compare the agents with this policy instead of the usual policies, and say at which call they first "
                  "send different requests.")  # fmt: skip
@options.flag("--install", "Install each agent's pinned version into a cache folder if it isn't there.")
@click.option(
    "--command", metavar="COMMAND",
    help="Run your own agent by this command, instead of an AGENT. $CTXSIM_URL tells it the endpoint.",
)  # fmt: skip
@options.flag("--doctor", "List which known defects the agents have, with one run for each defect.")
@click.option(
    "--limit", "limit_s", type=options.number_of(Seconds), default=300, show_default=True,
    help="Stop an agent that runs longer than this number of seconds.",
)  # fmt: skip
@options.out("Write the results to this folder instead of results/<name>-driven.")
def command(
    agents: tuple[str, ...], played: tuple[str, ...], policies: tuple[str, ...], doctor: bool, **said: Any
) -> None:
    """Run real agents through a conversation, offline, and record what they send. See: ctxsim list agents.

    A mock model replays the conversation's responses. In place of each tool call it asks the agent to read a file that
    holds the recorded result.
    Each agent works in a folder and a home of its own, with a clean environment and dummy keys. Where the system
    allows, it has no network but loopback. Writes a run as bench does, with a row observed:AGENT@VERSION for each
    agent.
    """
    given = options.fields(said)
    if doctor:
        options.alone("--doctor", ("agents", "played", *DIAGNOSED))
        if not agents:
            raise click.UsageError("--doctor is of agents alone: ctxsim drive AGENT... --doctor [--play defects/NAME]")
        meant = {name: given[name] for name in DIAGNOSED if name in given}
        show_diagnoses("drive", diagnose_driven(agents, defects_of(played), told=_tell_diagnosis, **meant), "table", {})
        return
    if len(played) != 1:
        raise click.UsageError("say which conversation to play: --play PATH or --play SCENARIO")

    def told(run: AgentRun) -> None:
        _tell(run.driven, run.observation.notes)
        for policy in policies:
            _compare(run, policy)

    made = drive(agents, played[0], policies=policies or BESIDE, told=told, **given)
    tell_providers(made.info)
    show_run("drive", made, bench_sheet, "dollars")
    from ctxsim.report.charts import plot

    tell_results(made, plot(made, "bench"))


def _tell_diagnosis(one: Diagnosis) -> None:
    detail(f"{one.policy}, {one.defect.name}: {'has it' if one.has_it else 'no'}, {one.value:g}")


def _tell(done: Driven, notes: tuple[str, ...]) -> None:
    kinds = Frequencies(entry.kind for entry in done.entries)
    others = ", ".join(f"{count} {kind}" for kind, count in kinds.items() if kind != "main")
    refused = Frequencies(entry.status for entry in done.entries if entry.status != 200)
    say(
        f"{done.agent.label}: {len(done.entries)} requests ({kinds['main']} of the conversation"
        f"{f', {others}' if others else ''}) in {done.outcome.seconds:.0f} s"
        + "".join(f", {count} x {status}" for status, count in sorted(refused.items()))
    )
    said = []
    if done.outcome.steps < len(done.script.steps):
        status = done.outcome.statuses[-1]
        why = "time limit" if status is None else f"exit status {status}, its output is in {done.said}"
        # The run's caveats say after how many calls.
        said.append(f"it ended early: {why}")
    if could := " and ".join(what for what in (NETWORK, FILES, SOCKETS) if what not in done.outcome.enclosed):
        said.append(f"the system allows no namespaces here: it could use this machine's {could}")
    compared = compared_with(done.agent.name)
    if compared and done.agent.version not in ("", compared):
        said.append(f"{done.agent.version} ran; its policy was compared with {compared}")
    unused = sorted({entry.unused for entry in done.entries if entry.unused})
    unused = [f"no tool of its requests could stand for {tool}" for tool in unused]
    for line in filter(None, (*said, done.agent.tells, *unused, *notes)):
        tell(f"{done.agent.name}: {line}")


def _compare(run: AgentRun, label: str) -> None:
    observation = run.observation
    found = compared(observation, label, run.driven.provider)
    differs, calls = found.first, len(observation.attempts)
    if differs is None:
        say(f"{label} sends what {observation.label} sent, in all {calls} calls")
    else:
        say(
            f"{label} differs from {observation.label} first at call {differs.call} of {calls}: "
            f"agent {differs.tokens_agent:,} tokens, policy {differs.tokens_policy:,}"
        )
        for line in first(differs.lines, MOST_LINES, "... and {} more"):
            say(f"  {line}")

    def told(who: str, amounts: Amounts) -> str:
        usd = "" if amounts.usd is None else f", {amounts.usd:.2f} USD"
        return f"{who} {amounts.tokens:,} tokens, peak {amounts.peak:,}{usd}"

    say(f"on the agent's own conversation: {told('agent', found.agent)}; {told('policy', found.policy)}")
