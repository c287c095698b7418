"""The fixture `ctxsim_run`: what it benches, where results lie, and what the project's file adds."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ctxsim.api.pytest_plugin import ctxsim_run


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The function of the fixture, in a project's root; `heard` is what it asks of bench."""
    heard: list[Any] = []
    monkeypatch.setattr("ctxsim.api.runs.bench", lambda *given, **named: heard.append((given, named)))
    monkeypatch.chdir(tmp_path)
    inner = getattr(ctxsim_run, "__wrapped__", None) or ctxsim_run.__pytest_wrapped__.obj  # type: ignore[attr-defined]
    run = inner(tmp_path / "out", SimpleNamespace(rootpath=tmp_path))
    return SimpleNamespace(run=run, heard=heard, root=tmp_path)


def test_each_run_has_a_folder_of_its_own(asked: Any) -> None:
    (asked.root / "logs").mkdir()
    for what in ("logs", Path("logs"), "one-prompt", ["logs", "none"]):
        asked.run(what, ["mask"], window=9)
    logs = asked.root / "logs"
    assert asked.heard == [
        ((what, ["mask"]), {"out": asked.root / "out" / f"ctxsim-{number}", "window": 9})
        for number, what in enumerate((logs, logs, "one-prompt", [logs, "none"]), 1)
    ]


def test_what_is_not_given_is_what_the_project_says(asked: Any) -> None:
    with pytest.raises(pytest.UsageError, match="needs a path, or paths in"):
        asked.run()
    asked.run("one-prompt")
    assert asked.heard.pop() == (("one-prompt", None), {"out": asked.root / "out" / "ctxsim-1"})
    (asked.root / "ctxsim.toml").write_text(
        "paths = ['logs']\npolicies = ['mask']\nwindow = 9\nmodel = 'gpt-5'\njobs = 2\nhead = 900\nmodels = 'm.toml'\n"
    )
    asked.run()
    said = {"out": asked.root / "out" / "ctxsim-2", "model": "gpt-5", "window": 9, "jobs": 2, "head": 900,
            "models": "m.toml"}  # fmt: skip
    assert asked.heard.pop() == ((["logs"], ("mask",)), said)
    asked.run(policies=["pi"], window=7)
    assert asked.heard.pop() == ((["logs"], ["pi"]), said | {"out": asked.root / "out" / "ctxsim-3", "window": 7})
