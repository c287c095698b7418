"""Checks of settings as functions: which version runs, and where two versions differ."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ctxsim.api import probing
from ctxsim.api.probing import SettingChecks, bisect_setting, check_setting
from ctxsim.errors import CtxsimError


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is asked of an agent that is there in version 1.5."""
    heard: list[Any] = []
    there = SimpleNamespace(version="1.5")

    def load(name: str, version: str = "") -> Any:
        return SimpleNamespace(name=name, version=version or "1.5")

    def located(agent: Any, install: bool) -> Any:
        heard.append((agent.version, install))
        return (agent if install else there), "/bin"

    def checked(agent: Any, programs: str, settings: Any, model: str, window: int) -> Any:
        heard.append((agent.version, programs, settings, model, window))
        return SimpleNamespace(version=agent.version)

    monkeypatch.setattr("ctxsim.api.probing.load_agent", load)
    monkeypatch.setattr("ctxsim.api.probing.located", located)
    monkeypatch.setattr("ctxsim.api.probing.checked", checked)
    return heard


LIMIT = {"model_auto_compact_token_limit": 9_000}


def test_the_installed_version_is_checked_unless_another_is_named(asked: list[Any]) -> None:
    assert check_setting("codex", LIMIT).version == "1.5"
    assert asked == [("1.5", False), ("1.5", "/bin", LIMIT, "", 0)]
    asked.clear()
    assert check_setting("codex", LIMIT, version="1.6", model="m", window=7, install=True).version == "1.6"
    assert asked == [("1.6", True), ("1.6", "/bin", LIMIT, "m", 7)]
    assert check_setting("codex", LIMIT, version="1.5").version == "1.5"
    with pytest.raises(CtxsimError, match=r"codex 1\.6 isn't there, 1\.5 is on the path; add --install"):
        check_setting("codex", LIMIT, version="1.6")


def test_between_two_versions_each_is_installed(asked: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctxsim.api.probing.published", lambda agent, *ends: [*ends])
    monkeypatch.setattr("ctxsim.api.probing.bisected", lambda versions, check: [check(one) for one in versions])
    told: list[Any] = []
    found = bisect_setting("codex", LIMIT, "1.1", "1.2", model="m", window=7, told=told.append)
    assert [one.version for one in found.checks] == ["1.1", "1.2"] and told == list(found.checks)
    assert asked[0] == ("1.1", True) and asked[1] == ("1.1", "/bin", LIMIT, "m", 7)


def test_changes_are_neighbours_that_act_differently(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctxsim.api.probing.alike", lambda a, b: a == b)
    made: Any = ("x", "x", "y", "x")
    assert SettingChecks(made).changes == [("x", "y"), ("y", "x")]
    assert probing.SettingChecks(()).changes == []
