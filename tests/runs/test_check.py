"""A policy is checked in processes of its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ctxsim.runs import check as room
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


HERE = {
    "        sys.exit(0)": "wanted to end the process",
    "        while True: time.sleep(1)": "took longer than 0.2 s",
    "        return Stop(None)": "must give Stop a reason",
    "        return view.rewrite({view[0].place: chr(0xd800)}, 'x')": "a text with half a surrogate pair",
}


@pytest.mark.parametrize("body", HERE)
def test_what_a_policy_does_that_its_process_outlives_is_a_violation(
    body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CTXSIM_POLICY_SECONDS", "0.2")
    monkeypatch.setattr(room, "refuse", lambda events, what: None)
    (tmp_path / "mine.py").write_text(BEGINNING + body + "\n")
    found = room._here(f"{tmp_path}/mine.py:Mine", ["documented-53k"], True)
    assert found.append_only == "" and found.violations
    assert all(HERE[body] in line and "\n" not in line for line in found.violations), found.violations


def test_what_is_almost_called_as_a_moment_is_told_and_split_pairs_are(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        BEGINNING + "        results = [item.place for item in view if item.kind == 'tool_result']\n"
        "        return view.drop(results[:-1], 'split') if len(results) > 1 else view\n"
        "    def befor_call(self, view): return view\n"
    )
    found = check(f"{tmp_path}/mine.py:Mine", scenarios=["documented-53k"])
    moment, split = found.findings
    assert moment == "Mine.befor_call is no moment, and never called; did you mean before_call or after_call?"
    assert not found.violations and "requests split a tool call from its result" in split
    assert found.append_only.startswith("append-only: no, ")


def test_a_policy_that_does_not_come_back_at_all(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(BEGINNING + "        time.sleep(99)\n")
    assert "did not come back" in check(f"{tmp_path}/mine.py:Mine", 1.0, ["documented-53k"]).violations[0]
