"""Forecasts as values: one of the recordings as they are, and one under each change."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ctxsim.api import forecasts as room
from ctxsim.api.forecasts import SOME, Forecasts, forecast
from ctxsim.errors import CtxsimError
from ctxsim.readers.paths import FOUND


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is benched; forecasts are the labels that they are made from."""
    heard: list[Any] = []

    def bench(paths: Any, labels: Any, **how: Any) -> Any:
        heard.append((paths, labels, how))
        return SimpleNamespace(labels=["keep-all", *(f"{one}:full" for one in labels[1:])], changed=len(heard) > 1)

    monkeypatch.setattr(room, "bench", bench)
    monkeypatch.setattr(room, "sessions_of", lambda run, label: (run.changed, label))
    monkeypatch.setattr(room, "forecast_of", lambda sessions, name, ahead, change: (*sessions, change))
    monkeypatch.setattr(room, "last_change", lambda sessions: f"change of {sessions[1]}")
    return heard


def test_each_policy_and_all_changed_rules_together_have_one(asked: list[Any]) -> None:
    found = forecast("logs", "7d", ["mask", "pi"], window=9_000, cache="none")
    assert [(paths, labels) for paths, labels, _ in asked] == [(["logs"], ["keep-all", "mask", "pi"])] * 2
    first, second = (how for *_, how in asked)
    usual = {"jobs": 1, "models": None, "brackets": False, "refetch": 0.0}
    assert {name: value for name, value in first.items() if name != "watch"} == usual
    assert second == {**first, "window": 9_000, "cache": "none"}
    assert list(found.all) == [
        "as it is", "mask:full", "pi:full", "window=9000, cache=none", "mask:full, window=9000, cache=none",
        "pi:full, window=9000, cache=none",
    ]  # fmt: skip
    # Each goes by the sessions since the last change of those as they are.
    assert [*found.all.values()] == [
        (changed, label, "change of keep-all")
        for changed in (False, True) for label in ("keep-all", "mask:full", "pi:full")
    ]  # fmt: skip
    assert (found.ahead.many, found.ahead.days) == (7, True) and found.paths == ["logs"]
    assert found.today == found.all["as it is"] and found.recorded == (False, "keep-all")  # type: ignore[comparison-overlap]


def test_without_paths_it_is_all_that_agents_keep_and_twenty_sessions(asked: list[Any]) -> None:
    found = forecast()
    assert asked[0][0] == [FOUND] and len(asked) == 1 and list(found.all) == ["as it is"]
    assert (found.ahead.many, found.ahead.days) == (20, False)
    with pytest.raises(CtxsimError, match="is no horizon"):
        forecast("logs", "7w")
    assert len(asked) == 1, "told before anything runs"


@pytest.mark.parametrize(("middle", "ahead"), [(7.4, 7), (0.2, 1), (20.0, 20), (30.0, 30)])
def test_forecasts_like_this_one_are_as_far_ahead(middle: float, ahead: int, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[Any] = []
    monkeypatch.setattr(room, "backtest", lambda *given: heard.append(given) or [])
    made: Any = Forecasts.__new__(Forecasts)
    made.recorded, made.today = "sessions", SimpleNamespace(come=SimpleNamespace(middle=middle))
    assert made.tried_alike == [] and made.tried == []
    # All of them are among those that are tried one by one.
    assert heard == [("sessions", (ahead,), 40), ("sessions", sorted({ahead, 5, 10, 20}))] and SOME == 40


def test_texts_are_read_anew_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctxsim.readers.read", lambda path: [f"{path} 1", f"{path} 2"])
    monkeypatch.setattr("ctxsim.answers.forecast.known_texts.told", lambda found: [tuple(found)])
    made: Any = Forecasts.__new__(Forecasts)
    made.paths = ["a", "b"]
    texts = ("a 1", "a 2", "b 1", "b 2")
    assert made.told == [texts]
