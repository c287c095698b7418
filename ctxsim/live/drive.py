"""Runs a real agent against the endpoint, in a folder of its own with a clean environment, and keeps its requests."""

import os
import shutil
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import msgspec

from ctxsim.errors import CtxsimError, how_to_install
from ctxsim.live.agent import Agent
from ctxsim.live.faults import Faults
from ctxsim.live.log import Entry
from ctxsim.live.plan import LOG, OUTCOME, SAID, Outcome, Plan
from ctxsim.live.script import Script, script_of
from ctxsim.safety.processes import environment, python, without_keys
from ctxsim.simulator.provider import Provider
from ctxsim.transcript import Transcript

GRACE_S = 30.0
"""Seconds that a run gets after its time limit to write its results."""


class Driven(NamedTuple):
    """A finished run: the script that was played, every request in order, and the outcome."""

    agent: Agent
    script: Script
    provider: Provider
    """The provider, with the faults' factor on the usage that it reported."""
    entries: list[Entry]
    outcome: Outcome
    said: Path
    """The file with what the agent printed."""


def need_endpoint() -> None:
    """Raise CtxsimError, with the command that installs them, if the endpoint's packages aren't installed."""
    if not (find_spec("starlette") and find_spec("uvicorn")):
        raise CtxsimError(f"the endpoint needs two more packages: {how_to_install('serve')}")


def shown_as(agent: Agent) -> str:
    """Return the path at which an agent sees its folder. It is constant, since agents put it into their prompts."""
    return f"/tmp/ctxsim-drive-{os.getuid()}/{agent.name}"


def drive(
    agent: Agent, transcript: Transcript, provider: Provider, programs: str, faults: Faults, limit_s: float, kept: Path
) -> Driven:
    """Run an agent through a conversation, and return the requests it sent. `programs` is the agent's search path.

    The agent works in a temporary folder that no other user may read. Its requests and what it printed are copied into
    the folder `kept`. Raises CtxsimError if it can't be started, or sent no request of the conversation.
    """
    script = script_of(transcript)
    kept.mkdir(parents=True, exist_ok=True)
    requests, said = kept / f"requests-{agent.name}.jsonl", kept / f"output-{agent.name}.txt"
    # A new folder with mode 0700: no other user can have put a file into it.
    with TemporaryDirectory(prefix="ctxsim-drive-", ignore_cleanup_errors=True) as work:
        plan = Plan(transcript, provider, agent, faults, work, programs, limit_s)
        Path(plan.project).mkdir()
        Path(work, SAID).touch()
        for age, (name, text) in enumerate(reversed(script.files.items())):
            file = Path(plan.project, name)
            file.write_text(text, encoding="utf-8", errors="replace")
            # Agents use modification times: the file of each later result is one second newer.
            os.utime(file, (time.time() - age, time.time() - age))
        run_apart("run", plan)
        outcome = msgspec.json.decode(Path(work, OUTCOME).read_bytes(), type=Outcome)
        shutil.copyfile(Path(work, LOG), requests)
        shutil.copyfile(Path(work, SAID), said)
    entries = [msgspec.json.decode(line, type=Entry) for line in requests.read_bytes().splitlines()]
    if not any(entry.kind == "main" for entry in entries):
        last = said.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:] or ["nothing"]
        raise CtxsimError(f"{agent.name} sent no request of the conversation. The last that it said: {last[0]}")
    return Driven(agent, script, faults.over(provider), entries, outcome, said)


def run_apart(what: str, plan: Plan) -> None:
    """Run a plan in a process of its own. When that process ends, all processes that it started end too.

    Raises CtxsimError if that process fails; `what` names it in the message. Raises it too if packages are missing.
    """
    need_endpoint()
    command = python("ctxsim.live.run_plan", plan.work, shown_as(plan.agent), str(os.getpid()))
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, env=without_keys(environment())
    ) as process:
        try:
            _, said = process.communicate(msgspec.json.encode(plan), timeout=plan.limit_s + GRACE_S)
        except subprocess.TimeoutExpired as late:
            process.terminate()
            raise CtxsimError(f"the {what} had not ended {late.timeout:g} s after its start") from None
        except BaseException:
            process.terminate()
            raise
    if process.returncode:
        last = said.decode("utf-8", "replace").strip().splitlines()[-1:] or ["no word of why"]
        raise CtxsimError(f"the {what} ended with status {process.returncode}: {last[0]}")
