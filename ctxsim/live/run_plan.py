"""One driven run in a process of its own: `python -m ctxsim.live.run_plan WORK INSIDE PARENT`, its plan on stdin."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from ctxsim.live import confined
from ctxsim.live.confined import FILES, NETWORK, SOCKETS, Hold, enclose
from ctxsim.safety.processes import end_group, end_with

if TYPE_CHECKING:
    from ctxsim.live.plan import Plan

_ENDS_GROUP = "import os, sys; sys.stdin.read(); os.killpg(int(sys.argv[1]), 9)"
"""Code of a process that waits for the run's end, for whatever reason, then kills the agent's group. Used where there
is no namespace.
"""

LINGER_S = 1.0
"""Seconds that an agent with nothing more to do gets to end by itself."""


def main(work: str, inside: str, parent: int) -> None:
    """Run the plan from stdin in `work`, and write its outcome there; `inside` is its path in a root of the agent's."""
    asked = sys.stdin.buffer.read()
    told = json.loads(asked)
    shown = confined.readable(told["path"], told["agent"]["command"] + told["agent"]["probe"]["acp"])
    # This comes before imports that start threads.
    enclosed = enclose(lambda: confined.enter(work, inside, shown))
    moved = FILES in enclosed
    if not moved and confined.restrict(work, shown):
        enclosed += (FILES,)
    grouped = NETWORK in enclosed
    if not grouped:
        end_with(parent)
    import msgspec

    from ctxsim.live.app import Endpoint
    from ctxsim.live.log import Log
    from ctxsim.live.plan import LOG, OUTCOME, Plan
    from ctxsim.live.probe.acp import prompted
    from ctxsim.live.probe.growing import Growing
    from ctxsim.live.probe.plan import ProbePlan
    from ctxsim.live.script import script_of
    from ctxsim.live.server import beside
    from ctxsim.live.session import Session

    plan = msgspec.json.decode(asked, type=ProbePlan if "waypoints" in told else Plan)
    plan = msgspec.structs.replace(plan, work=inside if moved else work)
    hold: Hold = list
    if confined.has_sandbox():
        enclosed, hold = (NETWORK, FILES, SOCKETS), partial(confined.sandboxed, work=work, readable=shown)
    session: Any
    if isinstance(plan, ProbePlan):
        session = Growing(plan)
    else:
        session = Session(script_of(plan.transcript), plan.provider, plan.faults, plan.agent, plan.project)
    began = time.monotonic()
    statuses: list[int | None] = []
    with (
        Log(Path(plan.work, LOG)) as log,
        beside(Endpoint(lambda name: session, log, plan.faults.slow_s, token_hex(8))) as url,
    ):
        write_files(plan, url)
        for number, prompt in enumerate(session.prompts):
            left = plan.limit_s - (time.monotonic() - began)
            if left <= 0:
                statuses.append(None)
            elif session.by_protocol:
                statuses.append(prompted(plan, url, prompt, left, lambda: session.over, hold))
            else:
                statuses.append(run(plan, url, prompt, number, left, grouped, lambda: session.over, hold))
            if statuses[-1] is None:
                break
    outcome = session.outcome(time.monotonic() - began, tuple(statuses), enclosed)
    Path(plan.work, OUTCOME).write_bytes(msgspec.json.encode(outcome))


def write_files(plan: Plan, url: str) -> None:
    """Write the agent's files. Paths are relative to its home or, with `folder:`, to its working folder."""
    for name, text in plan.agent.files.items():
        inside, _, rest = name.partition(":")
        file = Path(plan.project, rest) if inside == "folder" else Path(plan.home, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(plan.fill(text, url), encoding="utf-8")


def run(
    plan: Plan, url: str, prompt: str, number: int, limit_s: float, grouped: bool,
    over: Callable[[], bool] = lambda: False, hold: Hold = list,
) -> int | None:  # fmt: skip
    """Give the agent one prompt and return its exit status; None if it was ended by the limit or because of `over`.

    `grouped`: a process namespace ends all that it starts. By default `hold` doesn't confine the command.
    """
    from ctxsim.live.plan import SAID

    agent = plan.agent
    command = agent.resume if number and agent.resume else agent.command
    filled = [plan.fill(part, url, prompt) for part in command]
    with Path(plan.work, SAID).open("ab") as output:
        process = subprocess.Popen(
            hold(filled), cwd=plan.project, env=plan.environment(url, prompt), stdout=output, stderr=output,
            stdin=subprocess.PIPE if agent.stdin else subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        watch = None if grouped else subprocess.Popen(
            [sys.executable, "-I", "-c", _ENDS_GROUP, str(process.pid)], stdin=subprocess.PIPE, start_new_session=True
        )  # fmt: skip
        try:
            if process.stdin:
                process.stdin.write(prompt.encode("utf-8", "replace"))
                process.stdin.close()
            until = time.monotonic() + limit_s
            while process.poll() is None:
                if over():
                    until = min(until, time.monotonic() + LINGER_S)
                if time.monotonic() > until:
                    return None
                time.sleep(0.02)
            return process.returncode
        finally:
            end_group(process.pid)
            process.wait()
            if watch is not None:
                watch.kill()
                watch.communicate()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
