"""Real agents, installed and driven: what they decide today against the runs that are reduced to sizes."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest
from command_line import process
from driven import load

from ctxsim.serve.log import Entry

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(not os.environ.get("CTXSIM_LIVE"), reason="drives real agents: set CTXSIM_LIVE=1"),
]

DIFFERS = 40
"""Dates, ids and the path of its program stand in an agent's prompts: a request may differ by so many tokens."""


@pytest.mark.parametrize("name", ["codex", "pi", "opencode", "qwen-code"])
def test_an_agent_decides_as_it_did(name: str, tmp_path: Path) -> None:
    done = process("drive", name, "--install", "--scenario", "sixty-calls", "--policy", "keep-all", "--out", "run",
                   cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "run" / f"requests-{name}.jsonl").read_bytes().splitlines()
    entries = [entry for line in lines if not (entry := msgspec.json.decode(line, type=Entry)).retry]
    before = load(f"{name}-sixty-calls")["requests"]
    assert [(entry.kind, entry.step, entry.status) for entry in entries] == [
        (kind, step, status) for kind, step, status, *_ in before
    ]
    for entry, (_, _, _, tokens, _) in zip(entries, before, strict=True):
        assert abs(entry.tokens - tokens) <= DIFFERS
