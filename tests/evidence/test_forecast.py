"""Forecasts measured over projects: also one whose logs have no times, or too few sessions for any forecast."""

from __future__ import annotations

from types import SimpleNamespace

import msgspec
import pytest
from made_sessions import sessions

import evidence.forecast
from ctxsim.answers.forecast.backtest import backtest


@pytest.mark.parametrize("many", [20, 3])
def test_sessions_without_times_have_every_table(
    many: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = msgspec.structs.replace(sessions([1.0 + n for n in range(many)]), started=(None,) * many)
    found = SimpleNamespace(recorded=seen, tried=list(backtest(seen)))
    monkeypatch.setattr(evidence.forecast, "forecast", lambda folder, ahead: found)
    evidence.forecast.main(["of/timeless"])
    said = capsys.readouterr().out
    assert said.splitlines()[-1].split()[:2] == ["timeless", str(many)]
