"""A policy is checked in processes of its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ctxsim.runs.check import check

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("opened_at_once")]


BEGINNING = """import os, subprocess, sys, threading, time
from dataclasses import dataclass
from ctxsim.policies import Policy, Stop

@dataclass
class Mine(Policy):
    def before_call(self, view):
"""

BREAKING = {
    "        if len(view) > 6: os._exit(0)\n        return view": "ended its process",
    # A refusal that it swallows, and another that it doesn't.
    "        try: os.fork() or os._exit(0)\n        except Exception: subprocess.run(['true'])\n        return view":
        r"starts another process \(subprocess.Popen\)",
    "        names = {str(item.place) for item in view if item.kind == 'tool_result'}\n"
    "        return view.drop([int(next(iter(names)))], 'any') if len(names) > 3 else view": "another PYTHONHASHSEED",
}  # fmt: skip


@pytest.mark.parametrize("body", BREAKING)
def test_what_a_policy_does_to_its_process_is_a_violation(body: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(BEGINNING + body + "\n")
    found = check(f"{tmp_path}/mine.py:Mine", scenarios=["documented-53k"])
    # Told once, and not whether what nobody could replay is only added to.
    assert len({line.rpartition(": mine: ")[2] for line in found.violations}) == len(found.violations) > 0
    assert found.append_only == "" or "PYTHONHASHSEED" in BREAKING[body]
    assert all(re.search(BREAKING[body], line) and "\n" not in line for line in found.violations), found.violations
