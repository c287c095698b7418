"""`ctxsim advise --score`: what came after advice, for people and for programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from ctxsim.answers.advice.predicted import Came, Prediction
from ctxsim.cli import advise
from ctxsim.report import advised_plots
from ctxsim.report.style import COLORS


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


def test_the_picture_has_a_row_for_each_prediction_and_marks_what_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [came(7.5, (4.0, 8.0), (9.0, 20.0), a=1), came(9.5, (4.0, 8.0), (9.0, 20.0), b=2), came(5.0, (4, 9), (4, 9))]
    figures = []
    monkeypatch.setattr(advised_plots, "save", lambda figure, path: figures.append(figure) or path)
    advised_plots.plot_came(rows, tmp_path / "x.png")
    [axes] = figures[0].axes
    marks = [line for line in axes.lines if len(line.get_xdata())]
    assert [(line.get_xdata()[0], line.get_marker(), line.get_color()) for line in marks] == [
        (7.5, "o", COLORS[0]), (9.5, "X", COLORS[1]), (5.0, "o", COLORS[0]),
    ]  # fmt: skip
    # Where nothing was advised there is one range, not two.
    assert [(bar.get_x(), bar.get_width()) for bar in axes.patches] == [(4, 4), (9, 11)] * 2 + [(4, 5)]
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "pi, 24 November 2025\na = 1", "pi, 24 November 2025\nb = 2", "pi, 24 November 2025\nchange nothing",
    ]  # fmt: skip
    assert "missed by 1.500" in axes.texts[1].get_text() and "missed" not in axes.texts[0].get_text()
    assert (
        figures[0].texts[0].get_text()
        == "2 of 3 predictions held for the advised settings, 2 for the earlier ones; nine in ten should."
    )


@pytest.mark.parametrize("least", [0.0, 0.02])
def test_all_that_is_drawn_lies_within_the_axes(least: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figures = []
    monkeypatch.setattr(advised_plots, "save", lambda figure, path: figures.append(figure) or path)
    advised_plots.plot_came([came(500.0, (least, 8.0), (9.0, 20.0), a=1)], tmp_path / "x.png")
    [axes] = figures[0].axes
    low, high = axes.get_xlim()
    assert low <= least and high >= 500.0 and (axes.get_xscale() == "log") == (least > 0)


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
