"""`ctxsim advise --score`: what came after advice, for people and for programs."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from ctxsim.answers.advice.predicted import Came, Prediction
from ctxsim.cli import advise


def test_a_score_is_lines_or_json(monkeypatch: pytest.MonkeyPatch) -> None:
    said = Prediction("codex", {"key": 1}, {5: (9.0, 20.0)}, {5: (4.0, 8.0)}, None, 100.0)
    monkeypatch.setattr(advise, "score", lambda paths: [Came(said, 5, 7.5, as_set=False, advised=True)])
    lines, found, rows = (
        CliRunner().invoke(advise.command, ["--score", *form])
        for form in ([], ["--format", "json"], ["--format", "csv"])
    )
    assert lines.output.startswith("codex: 7.500 USD in the first 5 sessions after the advice; predicted 4.000 to 8")
    came = json.loads(found.output)["came"]
    assert [(one["usd"], one["advised"], one["prediction"]["advised"]["5"]) for one in came] == [
        (7.5, True, [4.0, 8.0])
    ]
    assert rows.exit_code == 2 and "--score prints lines, or --format json" in rows.output
