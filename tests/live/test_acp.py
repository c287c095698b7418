"""An agent that is given prompts one by one: every message that it gets, and how it ends."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from samples import conversation

from ctxsim.live.agent import Agent, Probing
from ctxsim.live.faults import Faults
from ctxsim.live.plan import Plan
from ctxsim.live.probe import acp
from ctxsim.live.probe.acp import prompted
from ctxsim.simulator.provider import Provider

SAYS = r"""
import json, sys
heard = open(sys.argv[1], "w")
asks = json.loads(sys.argv[2])
for line in sys.stdin:
    heard.write(line)
    heard.flush()
    said = json.loads(line)
    if said.get("method") == "session/prompt" and asks:
        for more in asks.pop(0):
            print(more if isinstance(more, str) else json.dumps(more))
            sys.stdout.flush()
            if isinstance(more, dict) and "method" in more and "id" in more:
                heard.write(sys.stdin.readline())
                heard.flush()
    if sys.argv[3] == said.get("method"):
        sys.exit(7)
    if "method" in said:
        print(json.dumps({"jsonrpc": "2.0", "id": said["id"], "result": {"sessionId": "one"}}))
        sys.stdout.flush()
"""


def talked(folder: Path, rounds: int, asks: list[list[Any]], ends: str = "") -> tuple[int | None, list[dict[str, Any]]]:
    """What such an agent ends with after so many prompts, and all that it heard."""
    command = (sys.executable, "-c", SAYS, "{home}/heard", json.dumps(asks), ends)
    plan = Plan(
        conversation("x"), Provider(), Agent("mine", probe=Probing(acp=command)), Faults(), str(folder), "/bin", 9
    )
    for one in (plan.home, plan.project):
        Path(one).mkdir()
    asked = iter(range(rounds + 1))
    held: list[list[str]] = []

    def hold(command: list[str]) -> list[str]:
        held.append(command)
        return ["env", *command]

    status = prompted(plan, "http://u", "Go.", 20.0, lambda: next(asked) == rounds, hold)
    assert [command[0] for command in held] == [sys.executable], "what confines an agent gets its command"
    return status, [json.loads(line) for line in Path(plan.home, "heard").read_text().splitlines()]


def asking(*options: tuple[str, str]) -> dict[str, Any]:
    given = [{"optionId": name, "kind": kind} for name, kind in options]
    return {"id": 90, "method": "session/request_permission", "params": {"options": given} if given else None}


def allowed(option: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 90, "result": {"outcome": {"outcome": "selected", "optionId": option}}}


def test_all_that_an_agent_hears(tmp_path: Path) -> None:
    asks = [
        ["no json", "[1]", '{"id": 77, "result": {}}', {"method": "session/update"},
         asking(("no", "reject"), ("yes", "allow_once"))],
        [asking(("first", "reject"), ("second", "other"))],
    ]  # fmt: skip
    status, heard = talked(tmp_path, 3, [*asks, [asking()]])
    prompt = {"sessionId": "one", "prompt": [{"type": "text", "text": "Go."}]}
    files = {"fs": {"readTextFile": False, "writeTextFile": False}}
    assert heard == [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize",
         "params": {"protocolVersion": 1, "clientCapabilities": files}},
        {"jsonrpc": "2.0", "id": 2, "method": "session/new",
         "params": {"cwd": f"{tmp_path}/project", "mcpServers": []}},
        {"jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": prompt}, allowed("yes"),
        {"jsonrpc": "2.0", "id": 4, "method": "session/prompt", "params": prompt}, allowed("first"),
        {"jsonrpc": "2.0", "id": 5, "method": "session/prompt", "params": prompt}, allowed("allow"),
    ]  # fmt: skip
    assert status is None, "it was over before the agent was"


def test_an_agent_that_ends_by_itself(tmp_path: Path) -> None:
    status, heard = talked(tmp_path, 5, [], "session/prompt")
    assert (status, len(heard)) == (7, 3)


def test_prompts_have_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (acp.MOST, acp.VERSION) == (200, 1)
    monkeypatch.setattr(acp, "MOST", 2)
    assert len(talked(tmp_path, 9, [])[1]) == 4
