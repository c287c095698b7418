"""Real agents against the endpoint: a folder of their own, a clean environment, and the requests that they sent."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import msgspec

from ctxsim.errors import CtxsimError
from ctxsim.live.agent import Agent
from ctxsim.live.faults import Faults
from ctxsim.live.log import Entry
from ctxsim.live.plan import Outcome, Plan
from ctxsim.live.script import Script, script_of
from ctxsim.simulator.provider import Provider
from ctxsim.transcript import Transcript

GRACE_S = 30.0
"""After its limit a run gets this long to write down what it has."""


class Driven(NamedTuple):
    """A finished run: the conversation that was played, every request in order, and how it went."""

    agent: Agent
    script: Script
    provider: Provider
    entries: list[Entry]
    outcome: Outcome
    work: Path


def work_folder(agent: Agent) -> Path:
    """Return where an agent works: always the same, since its path stands in the agent's prompts."""
    return Path(tempfile.gettempdir(), f"ctxsim-drive-{os.getuid()}", agent.name)


def drive(
    agent: Agent,
    transcript: Transcript,
    provider: Provider,
    programs: str,
    faults: Faults = Faults(),  # noqa: B008 - frozen
    limit_s: float = 300.0,
) -> Driven:
    """Let an agent live through a conversation, and return what it sent. `programs` is the search path it gets.

    Raises CtxsimError where the agent can't be started, or sent nothing.
    """
    script = script_of(transcript)
    work = work_folder(agent)
    plan = Plan(transcript, provider, agent, faults, str(work), programs, limit_s)
    shutil.rmtree(work, ignore_errors=True)
    for folder in (plan.home, plan.project):
        Path(folder).mkdir(parents=True)
    for name, text in script.files.items():
        Path(plan.project, name).write_text(text, encoding="utf-8", errors="replace")
    written = work / "plan.json"
    written.write_bytes(msgspec.json.encode(plan))
    _run(written, limit_s + GRACE_S)
    outcome = msgspec.json.decode(Path(plan.outcome).read_bytes(), type=Outcome)
    entries = [msgspec.json.decode(line, type=Entry) for line in Path(plan.log).read_bytes().splitlines()]
    if not any(entry.kind == "main" for entry in entries):
        raise CtxsimError(f"{agent.name} sent no request of the conversation; what it said is in {work}/output.txt")
    return Driven(agent, script, provider, entries, outcome, work)


def _run(plan: Path, limit_s: float) -> None:
    """Run a plan in a process of its own, which takes all that it started along when it ends."""
    command = [sys.executable, "-P", "-m", "ctxsim.live.run_plan", str(plan)]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True) as process:
        try:
            _, said = process.communicate(timeout=limit_s)
        except BaseException:
            process.terminate()
            raise
    if process.returncode:
        last = said.decode("utf-8", "replace").strip().splitlines()[-1:] or ["no word of why"]
        raise CtxsimError(f"the run ended with status {process.returncode}: {last[0]}")
