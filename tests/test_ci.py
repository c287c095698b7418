"""What projects put into their tests and their CI: the plug-in, and the action's own shell, as the page shows them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import not_drawn
import pytest
import yaml
from command_line import ctxsim
from invented import write_logs
from project import ROOT

PAGE = (ROOT / "docs" / "ci.md").read_text()


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)


def pytest_in(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run pytest as a project of its own does, with the plug-in as if it was installed."""
    installed = any(point.value == "ctxsim.api.pytest_plugin" for point in entry_points(group="pytest11"))
    plugin = [] if installed else ["-p", "ctxsim.api.pytest_plugin"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *plugin], cwd=folder, capture_output=True,
        text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


@pytest.mark.slow
def test_the_example_of_the_plug_in_runs_and_takes_what_the_project_says(tmp_path: Path) -> None:
    write_logs(tmp_path / "path" / "to" / "logs", count=1)
    (example,) = blocks("python")
    (tmp_path / "test_context.py").write_text(example)
    (tmp_path / "test_other.py").write_text(example.replace("share=1.05", "share=0.01"))
    project = 'paths = ["path/to/logs"]\npolicies = ["mask:keep=1"]\nwindow = 90000\n'
    (tmp_path / "ctxsim.toml").write_text(project)
    (tmp_path / "test_own.py").write_text(
        "def test_own(ctxsim_run):\n"
        "    run = ctxsim_run()\n"
        "    assert run.labels == ['keep-all', 'mask:keep=1,batch=1'] and run.transcripts == 3\n"
        "    assert {provider['window'] for provider in run.info.providers} == {90_000}\n"
        "    other = ctxsim_run('path/to/logs/chat-1.json', ['mask:keep=2'], window=80_000)\n"
        "    assert other.labels[1:] == ['mask:keep=2,batch=1'] and other.transcripts == 1\n"
        "    assert {provider['window'] for provider in other.info.providers} == {80_000}\n"
        "    assert run.table('summary').shape and run.folder != other.folder\n"
    )
    done = pytest_in(tmp_path)
    assert done.returncode == 1 and "1 failed, 2 passed" in done.stdout, done.stdout
    assert "FAILED test_other.py" in done.stdout and "head-tail: costs " in done.stdout, done.stdout


def action() -> dict[str, Any]:
    made: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
    return made


def step(name: str, inputs: dict[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run one step of the action as a runner does: inputs are filled in, bash stops at errors."""
    (found,) = [one for one in action()["runs"]["steps"] if one.get("name") == name]
    given = {key: value["default"] for key, value in action()["inputs"].items()} | inputs
    own = {key: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda hit: given[hit[1]], value)
           for key, value in found["env"].items()}  # fmt: skip
    assert "${{" not in found["run"], "inputs in a script are code"
    (folder / "bin").mkdir(exist_ok=True)
    program = folder / "bin" / "ctxsim"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{not_drawn.__file__}" "$@"\n')
    program.chmod(0o755)
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    around = {"PATH": path, "PYTHONPATH": str(ROOT), "GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", found["run"]], cwd=folder, capture_output=True,
        text=True, env={**os.environ, **own, **around},
    )  # fmt: skip


@pytest.mark.slow
def test_the_example_of_the_action_runs_and_fails_where_a_rule_is_broken(tmp_path: Path) -> None:
    write_logs(tmp_path / "tests" / "logs", count=1)
    (example,) = blocks("yaml")
    given = yaml.safe_load(example)["jobs"]["context"]["steps"][1]["with"]
    assert set(given) <= set(action()["inputs"])
    labels = [word for label in given["policies"].split() for word in ("--policy", label)]
    bench = ("bench", "tests/logs", *labels, "--window", "128000", "--out", "tests/baseline", "--force")
    other = ("--provider", "tokenizer=cl100k_base")
    made = ctxsim(*bench, *other, cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    done = step("Bench", given | {"options": given["options"] + "\n".join(other)}, tmp_path)
    assert done.returncode == 0, done.stderr
    same = step("Compare", given, tmp_path)
    assert same.returncode == 0, same.stdout + same.stderr
    assert "| policy |" in (tmp_path / "summary.md").read_text()
    # What it holds is a path, whatever stands in it.
    assert step("Bench", given | {"paths": "$(touch hit)"}, tmp_path).returncode != 0
    assert not (tmp_path / "hit").exists()
    # Another tokenizer counts other tokens: every figure of them changes.
    assert ctxsim(*bench, cwd=tmp_path).returncode == 0
    broken = step("Compare", given | {"fail-if": "tokens_sum > -100%"}, tmp_path)
    assert broken.returncode == 1 and "ctxsim: head-tail" in broken.stderr, broken.stderr
