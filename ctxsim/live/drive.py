"""Real agents against the endpoint: a folder of their own, a clean environment, and the requests that they sent."""

import os
import shutil
import subprocess
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import msgspec

from ctxsim.errors import CtxsimError
from ctxsim.live.agent import Agent
from ctxsim.live.faults import Faults
from ctxsim.live.log import Entry
from ctxsim.live.plan import Outcome, Plan
from ctxsim.live.script import Script, script_of
from ctxsim.safety.processes import environment, python, without_keys
from ctxsim.simulator.provider import Provider
from ctxsim.transcript import Transcript

GRACE_S = 30.0
"""After its limit a run gets this long to write down what it has."""


class Driven(NamedTuple):
    """A finished run: the conversation that was played, every request in order, and how it went."""

    agent: Agent
    script: Script
    provider: Provider
    """As it reported usage."""
    entries: list[Entry]
    outcome: Outcome
    said: Path
    """What the agent printed."""


def shown_as(agent: Agent) -> str:
    """Return where an agent sees its work: always the same, since its path stands in the agent's prompts."""
    return f"/tmp/ctxsim-drive-{os.getuid()}/{agent.name}"


def drive(
    agent: Agent,
    transcript: Transcript,
    provider: Provider,
    programs: str,
    faults: Faults = Faults(),  # noqa: B008 - frozen
    limit_s: float = 300.0,
    *,
    kept: Path,
) -> Driven:
    """Let an agent live through a conversation, and return what it sent. `programs` is the search path it gets.

    It works in a folder that nobody else may read, and that is gone afterwards: `kept` is a folder for its requests and
    for what it printed. Raises CtxsimError where the agent can't be started, or sent nothing.
    """
    script = script_of(transcript)
    kept.mkdir(parents=True, exist_ok=True)
    requests, said = kept / f"requests-{agent.name}.jsonl", kept / f"output-{agent.name}.txt"
    # Made anew, mode 0700: nobody else can have put anything there.
    with TemporaryDirectory(prefix="ctxsim-drive-", ignore_cleanup_errors=True) as work:
        plan = Plan(transcript, provider, agent, faults, work, programs, limit_s)
        for folder in (plan.home, plan.project):
            Path(folder).mkdir()
        for age, (name, text) in enumerate(reversed(script.files.items())):
            file = Path(plan.project, name)
            file.write_text(text, encoding="utf-8", errors="replace")
            # Agents go by when a file changed: later results are of files that changed later, a second apart.
            os.utime(file, (time.time() - age, time.time() - age))
        ours = (plan.work, shown_as(agent), str(os.getpid()))
        run_apart("run", "ctxsim.live.run_plan", plan, limit_s + GRACE_S, *ours)
        outcome = msgspec.json.decode(Path(plan.outcome).read_bytes(), type=Outcome)
        shutil.copyfile(plan.log, requests)
        shutil.copyfile(Path(work, "output.txt"), said)
    entries = [msgspec.json.decode(line, type=Entry) for line in requests.read_bytes().splitlines()]
    if not any(entry.kind == "main" for entry in entries):
        last = said.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:] or ["nothing"]
        raise CtxsimError(f"{agent.name} sent no request of the conversation. The last that it said: {last[0]}")
    return Driven(agent, script, faults.over(provider), entries, outcome, said)


def run_apart(what: str, module: str, plan: Plan, limit_s: float, *arguments: str) -> None:
    """Run a plan in a process of its own, which takes all that it started along when it ends.

    Raises CtxsimError where that process fails, and says `what` it was.
    """
    with subprocess.Popen(
        python(module, *arguments), stdin=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        env=without_keys(environment()),
    ) as process:  # fmt: skip
        try:
            _, said = process.communicate(msgspec.json.encode(plan), timeout=limit_s)
        except BaseException:
            process.terminate()
            raise
    if process.returncode:
        last = said.decode("utf-8", "replace").strip().splitlines()[-1:] or ["no word of why"]
        raise CtxsimError(f"the {what} ended with status {process.returncode}: {last[0]}")
