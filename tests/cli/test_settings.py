"""A project's defaults: found, checked, shown, and behind what is typed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from command_line import ctxsim
from invented import write_logs
from probed_agent import installed
from project import ROOT

from ctxsim.cli import check_setting
from ctxsim.live.probe.check import SettingCheck

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


def test_pyproject_says_the_same_and_the_nearest_file_counts(project: Path) -> None:
    (project / ".git").mkdir()
    (project / "src" / "pyproject.toml").write_text("[tool.ctxsim]\nwindow = 1234\npaths = ['../logs']\n")
    answer = json.loads(ctxsim("list", "config", "--format", "json", cwd=project / "src").stdout)
    said = {row["setting"]: row["value"] for row in answer["tables"][0]["rows"]}
    assert (said["window"], said["paths"], said["policies"]) == (1234, ["../logs"], None)
    assert answer["tables"][0]["title"] == "From pyproject.toml"
    # A project that says nothing of ctxsim, but is one: what lies above it isn't its.
    (project / "src" / "pyproject.toml").write_text("[project]\nname = 'other'\n")
    assert "From ../ctxsim.toml" in ctxsim("list", "config", cwd=project / "src").stdout
    (project / "src" / ".git").mkdir()
    assert "No ctxsim.toml" in ctxsim("list", "config", cwd=project / "src").stdout


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("windows = 5", "Object contains unknown field `windows`; see: ctxsim list config"),
        ("window = 'large'", "Expected `int | null`, got `str` - at `$.window`"),
        ("window = 0", "window = 0 is less than 1"),
        ("goal = 'speed'", "goal = 'speed' is none of: dollars, "),
        ("policies = [", "is no TOML"),
        ("file = 'x'", "file is no setting"),
    ],
)
def test_a_mistake_is_one_line_that_names_the_file(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "ctxsim.toml").write_text(text)
    for line in ("list config", "bench"):
        done = ctxsim(*line.split(), cwd=tmp_path)
        assert done.returncode == 1 and done.stderr.count("\n") == 1
        assert done.stderr.startswith(f"ctxsim: {tmp_path / 'ctxsim.toml'}: {told}"), done.stderr
    # Other commands don't ask it.
    assert ctxsim("list", "scenarios", cwd=tmp_path).returncode == 0


def test_a_pyproject_whose_part_is_no_table_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool]\nctxsim = 5\n")
    done = ctxsim("bench", cwd=tmp_path)
    assert done.returncode == 1 and done.stderr.endswith("tool.ctxsim is no table; see: ctxsim list config\n")


def test_another_tools_broken_file_is_not_ours_to_mend(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project\n")
    assert ctxsim("list", "config", cwd=tmp_path).returncode == 0


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


def test_a_setting_that_does_not_do_what_it_should_is_status_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = check_setting.check_setting

    def outside(*given: Any, **named: Any) -> SettingCheck:
        return msgspec.structs.replace(real(*given, **named), inside=False)

    installed(tmp_path / "agents")
    monkeypatch.setenv("CTXSIM_AGENTS", str(tmp_path / "agents"))
    monkeypatch.setattr("ctxsim.cli.check_setting.check_setting", outside)
    done = ctxsim("check", "setting", "codex", "model_auto_compact_token_limit=60000", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "") and done.stdout.startswith("codex "), done
