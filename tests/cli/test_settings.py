"""A project's defaults: found, checked, shown, and behind what is typed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import ctxsim
from invented import write_logs
from project import ROOT

MINE = """
paths = ["logs"]
policies = ["mask:keep=1"]
grids = ["mask:keep=1|3"]
goal = "kept"
window = 90000
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with logs, its file, and a folder below."""
    write_logs(tmp_path / "logs", count=1)
    (tmp_path / "ctxsim.toml").write_text(MINE)
    (tmp_path / "src").mkdir()
    return tmp_path


def question_of(folder: Path) -> dict[str, object]:
    info = json.loads((folder / "run.json").read_text())
    windows = {provider["window"] for provider in info["providers"]}
    return {"policies": info["policies"], "windows": windows, "transcripts": len(info["inputs"])}


def test_bench_runs_what_the_project_says(project: Path) -> None:
    done = ctxsim("bench", "--out", "own", "--format", "json", cwd=project / "src")
    assert done.returncode == 0, done.stderr
    # keep-all is in every bench.
    asked = {"policies": ["keep-all", "mask:keep=1,batch=1"], "windows": {90_000}, "transcripts": 3}
    assert question_of(project / "src" / "own") == asked
    assert json.loads(done.stdout)["goal"] == "kept"


def test_what_is_typed_goes_before_it(project: Path) -> None:
    typed = ("--policy", "mask:keep=3", "--window", "50000", "--goal", "tokens", "--out", "own", "--format", "json")
    done = ctxsim("bench", "logs/chat-1.json", *typed, cwd=project)
    assert done.returncode == 0, done.stderr
    asked = {"policies": ["keep-all", "mask:keep=3,batch=1"], "windows": {50_000}, "transcripts": 1}
    assert question_of(project / "own") == asked
    assert json.loads(done.stdout)["goal"] == "tokens"


def test_a_scenario_is_asked_for_alone(project: Path) -> None:
    done = ctxsim("bench", "--scenario", "documented-53k", "--out", "own", cwd=project)
    assert done.returncode == 0, done.stderr
    assert json.loads((project / "own" / "run.json").read_text())["name"] == "documented-53k"


def test_sweep_tries_the_projects_grids(project: Path) -> None:
    done = ctxsim("sweep", "--out", "own", cwd=project)
    assert done.returncode == 0, done.stderr
    assert "mask:keep=3,batch=1" in json.loads((project / "own" / "run.json").read_text())["policies"]


def test_a_mistake_is_one_line_that_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "ctxsim.toml").write_text("windows = 5")
    said = f"{tmp_path / 'ctxsim.toml'}: Object contains unknown field `windows`"
    done = ctxsim("bench", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, f"ctxsim: {said}; see: ctxsim list config\n")
    # And this shows what else it could have been.
    listed = ctxsim("list", "config", "--format", "json", cwd=tmp_path)
    assert (listed.returncode, listed.stderr) == (1, done.stderr)
    seen = json.loads(listed.stdout)["tables"][0]
    assert seen["title"] == said and "window" in {row["setting"] for row in seen["rows"]}
    # Other commands don't ask it.
    assert ctxsim("list", "scenarios", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_documented_completion_is_there(shell: str, tmp_path: Path) -> None:
    assert f"_CTXSIM_COMPLETE={shell}_source ctxsim" in (ROOT / "docs" / "configuration.md").read_text()
    # The name that it was started by says which variable asks for completion.
    (tmp_path / "ctxsim").write_text("from ctxsim.cli import main\nmain()\n")
    typed = {"COMP_WORDS": "ctxsim ben", "COMP_CWORD": "ben" if shell == "fish" else "1"}
    done = subprocess.run(
        [sys.executable, "ctxsim"], cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "_CTXSIM_COMPLETE": f"{shell}_complete", **typed},
    )  # fmt: skip
    assert "bench" in done.stdout and "sweep" not in done.stdout, done
