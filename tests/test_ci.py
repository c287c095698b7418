"""What projects put into their tests and their CI: the plug-in, and the action's own shell, as the page shows them."""

from __future__ import annotations

import os
import re
import subprocess
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
import yaml
from command_line import ctxsim
from invented import write_logs
from project import ROOT

PAGE = (ROOT / "docs" / "ci.md").read_text()


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)


def pytest_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run pytest as a project of its own does, with the plug-in as if it was installed, and return its status."""
    installed = any(point.value == "ctxsim.api.pytest_plugin" for point in entry_points(group="pytest11"))
    plugin = [] if installed else ["-p", "ctxsim.api.pytest_plugin"]
    monkeypatch.chdir(folder)
    here = ("--rootdir", str(folder), "--basetemp", str(folder / "temporary"), "--import-mode", "importlib")
    return pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:faulthandler", *plugin, *here])


def test_the_example_of_the_plug_in_runs_and_fails_where_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_logs(tmp_path / "path" / "to" / "logs", count=1)
    (example,) = blocks("python")
    (tmp_path / "test_context.py").write_text(example)
    (tmp_path / "test_other.py").write_text(example.replace("share=1.05", "share=0.01"))
    status = pytest_in(tmp_path, monkeypatch)
    said = capsys.readouterr().out
    assert status == 1 and "1 failed, 1 passed" in said, said
    assert "FAILED test_other.py" in said and "head-tail: costs " in said, said


def action() -> dict[str, Any]:
    made: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
    return made


def step(name: str, inputs: dict[str, str], folder: Path, status: int = 0) -> list[str]:
    """Run one step of the action as a runner does: inputs are filled in, bash stops at errors.

    Returns what it tells `ctxsim`, in whose place a program prints a line and ends with a status.
    """
    (found,) = [one for one in action()["runs"]["steps"] if one.get("name") == name]
    given = {key: value["default"] for key, value in action()["inputs"].items()} | inputs
    own = {key: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda hit: given[hit[1]], value)
           for key, value in found["env"].items()}  # fmt: skip
    assert "${{" not in found["run"], "inputs in a script are code"
    program = folder / "bin" / "ctxsim"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" > told\necho printed by {name}\nexit {status}\n")
    program.chmod(0o755)
    around = {"PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}", "GITHUB_STEP_SUMMARY": "summary.md"}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", found["run"]]
    done = subprocess.run(command, cwd=folder, env={**os.environ, **own, **around}, check=False)
    assert done.returncode == status
    assert f"printed by {name}\n" in (folder / "summary.md").read_text()
    return (folder / "told").read_text().splitlines()


def test_the_example_of_the_action_runs_and_fails_where_a_rule_is_broken(tmp_path: Path) -> None:
    write_logs(tmp_path / "tests" / "logs", count=1)
    (example,) = blocks("yaml")
    given = yaml.safe_load(example)["jobs"]["context"]["steps"][1]["with"]
    assert set(given) <= set(action()["inputs"])
    (baseline,) = re.findall(r"`ctxsim (bench tests/logs .*?)`", PAGE)
    assert ctxsim(*baseline.split(), cwd=tmp_path).returncode == 0
    done = ctxsim(*step("Bench", given, tmp_path), cwd=tmp_path)
    assert done.returncode == 0 and "| policy |" in done.stdout, done.stderr
    same = ctxsim(*step("Compare", given, tmp_path, status=1), cwd=tmp_path)
    assert same.returncode == 0 and re.search(r"(\d+) figures: \1 equal \(3 transcripts\)", same.stdout), same.stderr
    # What it holds is a path, whatever stands in it.
    assert step("Bench", given | {"paths": "$(touch hit)"}, tmp_path)[-1] == "$(touch hit)"
    assert not (tmp_path / "hit").exists()
    # A head of 50,000 tokens more in each request: every figure of tokens changes.
    other = given | {"out": "tests/baseline", "options": f"{given['options']}--head\n50000"}
    assert ctxsim(*step("Bench", other, tmp_path), cwd=tmp_path).returncode == 0
    broken = ctxsim(*step("Compare", given | {"fail-if": "tokens_sum > -100%"}, tmp_path), cwd=tmp_path)
    assert broken.returncode == 1 and "ctxsim: head-tail" in broken.stderr, broken.stderr


def test_what_the_checks_of_the_project_name_is_there() -> None:
    named = re.findall(r"\btests/\S+", (ROOT / ".ci" / "run").read_text())
    assert named
    for file, _, test in (one.partition("::") for one in named):
        assert (ROOT / file).exists(), file
        assert not test or f"def {test}(" in (ROOT / file).read_text(), test
