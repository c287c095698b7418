"""Gives an agent one prompt after another in one process, by the Agent Client Protocol.

JSON-RPC on the agent's standard input and output, one message per line. Source: https://agentclientprotocol.com
"""

import json
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from ctxsim.counting.estimators.serialized import parsed
from ctxsim.live.confined import Hold
from ctxsim.live.plan import SAID, Plan
from ctxsim.safety.processes import end_group

VERSION = 1
MOST = 200
"""The most prompts that are given to an agent."""


def prompted(
    plan: Plan, url: str, prompt: str, limit_s: float, over: Callable[[], bool], hold: Hold = list
) -> int | None:
    """Give an agent a prompt repeatedly until `over`. Return its exit status; None if it was still running then."""
    command = hold([plan.fill(part, url) for part in plan.agent.probe.acp])
    with Path(plan.work, SAID).open("ab") as said:
        process = subprocess.Popen(
            command, cwd=plan.project, env=plan.environment(url), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=said, text=True, start_new_session=True,
        )  # fmt: skip
        timer = threading.Timer(limit_s, end_group, (process.pid,))
        timer.start()
        try:
            _talk(process, plan.project, prompt, over)
            return process.poll()
        except (BrokenPipeError, EOFError):
            return process.wait()
        finally:
            timer.cancel()
            end_group(process.pid)
            process.wait()
            for pipe in filter(None, (process.stdin, process.stdout)):
                # The pipe may hold text that the agent never read.
                with suppress(BrokenPipeError):
                    pipe.close()


def _talk(process: subprocess.Popen[str], folder: str, prompt: str, over: Callable[[], bool]) -> None:
    capabilities = {"fs": {"readTextFile": False, "writeTextFile": False}}
    _ask(process, 1, "initialize", {"protocolVersion": VERSION, "clientCapabilities": capabilities})
    session = _ask(process, 2, "session/new", {"cwd": folder, "mcpServers": []}).get("sessionId")
    for number in range(MOST):
        if over():
            return
        text = [{"type": "text", "text": prompt}]
        _ask(process, 3 + number, "session/prompt", {"sessionId": session, "prompt": text})
        time.sleep(0.01)


def _ask(process: subprocess.Popen[str], number: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Send a request and return its result. Requests by the agent in the meantime are allowed."""
    _send(process, {"id": number, "method": method, "params": params})
    assert process.stdout is not None
    for line in process.stdout:
        said = parsed(line)
        if not isinstance(said, dict):
            continue
        if "method" in said and "id" in said:
            _send(process, {"id": said["id"], "result": _allowed(said.get("params") or {})})
        elif said.get("id") == number:
            result = said.get("result")
            return result if isinstance(result, dict) else {}
    raise EOFError


def _allowed(params: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a request for permission: the first option that allows, else the first one."""
    options = params.get("options") or [{"optionId": "allow", "kind": "allow_once"}]
    chosen = next((one for one in options if str(one.get("kind", "")).startswith("allow")), options[0])
    return {"outcome": {"outcome": "selected", "optionId": chosen.get("optionId")}}


def _send(process: subprocess.Popen[str], message: dict[str, Any]) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    process.stdin.flush()
