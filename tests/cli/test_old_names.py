"""Labels with parameters by their old names: every command that takes a policy runs them, and says so in one line."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import ctxsim

NOTE = "Note: token-approx-budget: tokens is called budget now; the old name still works\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "label"),
    [
        ("bench --scenario documented-53k --policy", "token-approx-budget:tokens=9000"),
        ("sweep --scenario documented-53k --policy", "token-approx-budget:tokens=9000|20000"),
        ("replay documented-53k --policy", "token-approx-budget:tokens=9000"),
        ("check policy --scenario one-prompt", "token-approx-budget:tokens=9000"),
    ],
)
@pytest.mark.usefixtures("checked_at_once")
def test_old_names_are_told_once_and_work(command: str, label: str, tmp_path: Path) -> None:
    done = ctxsim(*command.split(), label, cwd=tmp_path)
    assert done.returncode == 0 and done.stderr == NOTE
    assert "token-approx-budget:budget=9000" in done.stdout
    today = ctxsim(*command.split(), label.replace("tokens=", "budget="), cwd=tmp_path)
    assert today.stdout == done.stdout and today.stderr == ""
