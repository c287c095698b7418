"""`ctxsim serve` as a process of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from ctxsim import drive, serve
from ctxsim.api.defects import diagnose_driven
from ctxsim.errors import LabelError

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

SECRET = "tR7kW2" + "pLq9Xz"


def test_a_scenario_is_served_and_recorded(tmp_path: Path) -> None:
    command = [sys.executable, "-u", "-m", "ctxsim", "serve", "documented-53k", "--port", "0",
               "--log", str(tmp_path / "log.jsonl"), "--files", str(tmp_path / "files")]  # fmt: skip
    # By itself a process gets the width that readline has set for this one.
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ}) as server:
        try:
            assert server.stdout
            server.stdout.readline()
            found = re.search(r"7 steps at (http://127\.0\.0\.1:\d+/t/\w{16}/v1)", server.stdout.readline())
            assert found
            schema = {"type": "object", "properties": {"command": {"type": "string"}}}
            tools = [{"type": "function", "function": {"name": "bash", "parameters": schema}}]
            body = {
                "model": "m",
                "messages": [{"role": "user", "content": f"Go. DB_PASSWORD={SECRET}"}],
                "tools": tools,
            }
            asked = urllib.request.Request(f"{found[1]}/chat/completions", json.dumps(body).encode(),
                                            {"Content-Type": "application/json"})  # fmt: skip
            with urllib.request.urlopen(asked) as answer:
                (call,) = json.load(answer)["choices"][0]["message"]["tool_calls"]
            file = json.loads(call["function"]["arguments"])["command"].removeprefix("cat ")
            assert Path(file).read_text()
            assert server.stdout.readline().startswith("default 1: step 1, ")
        finally:
            server.terminate()
    written = (tmp_path / "log.jsonl").read_text()
    assert json.loads(written)["response"]["choices"]
    assert SECRET not in written and "DB_PASSWORD=[redacted: password]" in written


def test_a_fault_after_the_last_step_is_refused(tmp_path: Path) -> None:
    serve("documented-53k", faults=["429@7"]).close()
    with pytest.raises(LabelError, match="fault at step 8: there are 7 steps"):
        serve("documented-53k", faults=["429@7", "stream-error@8"])
    with pytest.raises(LabelError, match="there are 7 steps"):
        drive([], "documented-53k", command="true", faults=["429@8"], out=tmp_path / "out")
    # With several conversations a step of the longest one is fine.
    with pytest.raises(LabelError, match=r"fault at step 999: there are \d+ steps"):
        diagnose_driven(["codex"], ["task-lost", "zero-usage"], faults=["429@1", "429@999"])
