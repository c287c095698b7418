"""A policy is checked in processes of its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ctxsim.runs.check import check

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def opened_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What happens when a file is opened has tests of its own."""
    monkeypatch.setattr("ctxsim.policies.trial._answer", lambda label: "fine")


BEGINNING = """import os, subprocess, sys, threading, time
from dataclasses import dataclass
from ctxsim.policies import Policy, Stop

@dataclass
class Mine(Policy):
    def before_call(self, view):
"""

BREAKING = {
    "        if len(view) > 6: os._exit(0)\n        return view": "ended its process",
    "        sys.exit(0)": "wanted to end the process",
    "        while True: time.sleep(1)": "took longer than 1 s",
    "        os.fork()\n        return view": r"starts another process \(os.fork\)",
    "        subprocess.run(['true'])\n        return view": r"starts another process \(subprocess.Popen\)",
    "        return Stop(None)": "must give Stop a reason",
    "        return view.rewrite({view[0].place: chr(0xd800)}, 'x')": "a text with half a surrogate pair",
    "        names = {str(item.place) for item in view if item.kind == 'tool_result'}\n"
    "        return view.drop([int(next(iter(names)))], 'any') if len(names) > 3 else view": "another PYTHONHASHSEED",
}


@pytest.mark.parametrize("body", BREAKING)
def test_what_a_policy_does_to_its_process_is_a_violation(
    body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CTXSIM_POLICY_SECONDS", "1")
    (tmp_path / "mine.py").write_text(BEGINNING + body + "\n")
    found = check(f"{tmp_path}/mine.py:Mine", scenarios=["documented-53k"])
    # Told once, and not whether what nobody could replay is only added to.
    assert len({line.rpartition(": mine: ")[2] for line in found.violations}) == len(found.violations) > 0
    assert found.append_only == "" or "PYTHONHASHSEED" in BREAKING[body]
    assert all(re.search(BREAKING[body], line) and "\n" not in line for line in found.violations), found.violations


def test_what_is_almost_called_as_a_moment_is_told(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(BEGINNING.replace("before_call", "befor_call") + "        return view\n")
    found = check(f"{tmp_path}/mine.py:Mine", scenarios=["documented-53k"])
    assert found.findings == ["Mine.befor_call is no moment, and never called; did you mean before_call or after_call?"]
    assert not found.violations and found.append_only == "append-only: yes, in every scenario tried"


def test_split_pairs_are_told(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        BEGINNING + "        results = [item.place for item in view if item.kind == 'tool_result']\n"
        "        return view.drop(results[:-1], 'split') if len(results) > 1 else view\n"
    )
    found = check(f"{tmp_path}/mine.py:Mine", scenarios=["documented-53k"])
    assert not found.violations and "requests split a tool call from its result" in found.findings[0]


def test_a_policy_that_does_not_come_back_at_all(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        BEGINNING.replace("import os", "import signal, os")
        + "        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})\n        time.sleep(99)\n"
    )
    assert "did not come back" in check(f"{tmp_path}/mine.py:Mine", 4.0, ["documented-53k"]).violations[0]
