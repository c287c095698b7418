"""Real agents, installed and driven: what they decide today against the runs that are reduced to sizes."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest
from command_line import process
from driven import load, normalised

from ctxsim.live.log import Entry

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(not os.environ.get("CTXSIM_LIVE"), reason="drives real agents: set CTXSIM_LIVE=1"),
]

DIFFERS = 40
"""Dates, ids and the path of its program stand in an agent's prompts: a request may differ by so many tokens."""


def driven(name: str, out: str, cwd: Path) -> list[Entry]:
    """Every request of one run, in order."""
    done = process("drive", name, "--install", "--play", "sixty-calls", "--policy", "keep-all", "--out", out,
                   cwd=cwd)  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = (cwd / out / f"requests-{name}.jsonl").read_bytes().splitlines()
    return [entry for line in lines if not (entry := msgspec.json.decode(line, type=Entry)).retry]


@pytest.mark.parametrize("name", ["codex", "pi", "opencode", "qwen-code"])
def test_an_agent_decides_as_it_did(name: str, tmp_path: Path) -> None:
    entries = driven(name, "run", tmp_path)
    before = load(f"{name}-sixty-calls")["requests"]
    assert [(entry.kind, entry.step, entry.status) for entry in entries] == [
        (kind, step, status) for kind, step, status, *_ in before
    ]
    for entry, (_, _, _, tokens, _) in zip(entries, before, strict=True):
        assert abs(entry.tokens - tokens) <= DIFFERS


def test_two_runs_of_codex_send_the_same_and_give_equal_rows(tmp_path: Path) -> None:
    first, second = (driven("codex", out, tmp_path) for out in ("a", "b"))
    assert [normalised(entry.request) for entry in first] == [normalised(entry.request) for entry in second]
    told = ("kind", "step", "status", "output", "kept", "cut", "inserted", "twice", "dropped")
    rows = [[[getattr(entry, name) for name in told] for entry in run] for run in (first, second)]
    assert rows[0] == rows[1]
    # Ids and times have no fixed number of tokens.
    assert max(abs(one.tokens - other.tokens) for one, other in zip(first, second, strict=True)) <= DIFFERS
