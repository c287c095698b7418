"""`ctxsim advise --score`: what came after advice, for people and for programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from ctxsim.answers.advice.predicted import Came, Prediction
from ctxsim.cli import advise


@pytest.fixture(autouse=True)
def nothing_predicted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What other tests predicted is told too."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def test_a_score_is_lines_or_json(monkeypatch: pytest.MonkeyPatch) -> None:
    said = Prediction("codex", {"key": 1}, {5: (9.0, 20.0)}, {5: (4.0, 8.0)}, None, 100.0)
    monkeypatch.setattr(advise, "score", lambda paths: [Came(said, 5, 7.5, as_set=False, advised=True)])
    lines, found, rows = (
        CliRunner().invoke(advise.command, ["--score", *form])
        for form in ([], ["--format", "json"], ["--format", "csv"])
    )
    assert lines.output.startswith(
        "1 of 1 prediction held for the advised settings, 0 for the earlier ones; nine in ten should.\n\n"
        "Codex, advised on 1 "
    )
    assert (
        "7.500 USD in the first 5 sessions.\n    Predicted with the advised settings: 4.000 to 8.000 (held).\n"
        in lines.output
    )
    assert "Predicted with the earlier settings: 9.000 to 20.00 (missed)." in lines.output
    came = json.loads(found.output)["came"]
    assert [(one["usd"], one["advised"], one["prediction"]["advised"]["5"]) for one in came] == [
        (7.5, True, [4.0, 8.0])
    ]
    assert rows.exit_code == 2 and "--score prints lines, or --format json" in rows.output


def came(usd: float, advised: tuple[float, float], as_set: tuple[float, float], **settings: int) -> Came:
    said = Prediction("pi", dict(settings), {5: as_set}, {5: advised}, None, 1_764_000_000.0)
    return Came(said, 5, usd, as_set[0] <= usd <= as_set[1], advised[0] <= usd <= advised[1])


def test_a_score_is_drawn_where_out_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [came(7.5, (4.0, 8.0), (9.0, 20.0), a=1)]
    monkeypatch.setattr(advise, "score", lambda paths: found)
    out = tmp_path / "score.svg"
    done = CliRunner().invoke(advise.command, ["--score", "--out", str(out)], catch_exceptions=False)
    assert f"written: {out}" in done.output and "1 of 1 prediction held for the advised settings" in out.read_text()
    rows = CliRunner().invoke(advise.command, ["--score", "--out", str(out), "--format", "json"])
    assert json.loads(rows.stdout)["came"][0]["usd"] == 7.5, "nothing but rows"
    found.clear()
    out.unlink()
    done = CliRunner().invoke(advise.command, ["--score", "--out", str(out)], catch_exceptions=False)
    assert "fewer than 5 sessions began" in done.output and not out.exists(), "there is nothing to draw"
