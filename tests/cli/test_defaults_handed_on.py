"""What stands for an option that isn't typed, where a command hands it on.

`ctxsim.cli.bill`, `ctxsim.cli.calibrate`, `ctxsim.cli.compactions`, `ctxsim.cli.forecast`, `ctxsim.cli.report`,
`ctxsim.cli.transcripts` and `ctxsim.cli.validate` are asked.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from command_line import ctxsim

from ctxsim.cli import bill, calibrate, compactions, forecast, report, transcripts, validate
from ctxsim.readers.paths import FOUND
from ctxsim.report.figure import is_for_paper


class Stop(Exception):
    """Enough was heard."""


def heard(line: str, room: Any, name: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> tuple[Any, dict[str, Any]]:
    """What a command gives a function, at which it then ends."""
    asked: list[Any] = []

    def function(*given: Any, **named: Any) -> Any:
        asked.append((given, named))
        raise Stop

    monkeypatch.setattr(room, name, function)
    with pytest.raises(Stop):
        ctxsim(*line.split(), cwd=folder)
    given, named = asked[0]
    return given, named


def test_estimators_are_judged_as_is_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ((reading, labels), named) = heard("validate a b --estimates", validate, "estimates", monkeypatch, tmp_path)
    assert (reading.paths, labels, named) == (("a", "b"), None, {"tokenizer": None, "threshold": None})
    line = "validate a --estimates --estimator chars --estimator words --tokenizer cl100k_base --threshold 9"
    ((_, labels), named) = heard(line, validate, "estimates", monkeypatch, tmp_path)
    assert (labels, named) == (("chars", "words"), {"tokenizer": "cl100k_base", "threshold": 9})


def test_estimates_are_written_where_out_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[Any] = []
    monkeypatch.setattr(validate, "estimates", lambda *given, **named: SimpleNamespace(errors=[], consequences=[]))
    monkeypatch.setattr(validate, "error_sheet", lambda errors: "errors")
    monkeypatch.setattr(validate, "consequence_sheet", lambda found, threshold: threshold)
    monkeypatch.setattr(validate, "show", lambda command, sheets, form: written.append((command, sheets, form)))
    monkeypatch.setattr(validate, "_write", lambda found, tokenizer, out: written.append((tokenizer, out)) or [out])
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.json").write_text('{"name": "x"}')
    done = ctxsim("validate", "logs", "--estimates", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout == "written: results/accuracy\n"
    line = "validate logs --estimates --threshold 9 --tokenizer cl100k_base --out there --format csv"
    assert ctxsim(*line.split(), cwd=tmp_path).stdout == ""
    assert written == [
        ("each model's own tokenizer", Path("results/accuracy")), ("validate", ["errors", None], "table"),
        ("cl100k_base", Path("there")), ("validate", ["errors", 9], "csv"),
    ]  # fmt: skip


def test_a_calibration_is_asked_for_as_is_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ((reading,), named) = heard("calibrate a", calibrate, "calibrate", monkeypatch, tmp_path)
    assert reading.paths == ("a",)
    assert named == {"tokenizer": None, "by": "tool", "risk": None, "against_usage": False}
    line = "calibrate a --tokenizer cl100k_base --by kind --risk 0.5 --against usage"
    assert heard(line, calibrate, "calibrate", monkeypatch, tmp_path)[1] == {
        "tokenizer": "cl100k_base", "by": "kind", "risk": 0.5, "against_usage": True
    }  # fmt: skip


def test_a_bill_is_of_all_that_agents_keep_and_thirty_days(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (paths,), named = heard("bill", bill, "bill", monkeypatch, tmp_path)
    named.pop("tell")
    assert (paths, named) == ((FOUND,), {"days": 30, "project": None, "index": True, "jobs": None})
    (paths,), named = heard("bill a --days 0 --index none --project p", bill, "bill", monkeypatch, tmp_path)
    named.pop("tell")
    assert (paths, named) == (("a",), {"days": None, "project": Path("p"), "index": False, "jobs": None})
    assert heard("bill a --days 1", bill, "bill", monkeypatch, tmp_path)[1]["days"] == 1


def test_a_forecast_is_asked_for_as_is_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (paths,), named = heard("forecast", forecast, "forecast", monkeypatch, tmp_path)
    named.pop("watch")
    assert (paths, named) == ((), {"policies": (), "next": "20", "jobs": None})
    line = "forecast ./a --next 7d --policy mask --jobs 2 --provider window=9 --model gpt-5"
    (paths,), named = heard(line, forecast, "forecast", monkeypatch, tmp_path)
    named.pop("watch")
    assert named == {"policies": ("mask",), "next": "7d", "jobs": 2, "window": 9, "model": "gpt-5"} and paths == (
        "./a",
    )


def test_transcripts_are_counted_as_is_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = '{"messages": [{"role": "user", "content": "Go."}, {"role": "assistant", "content": "Done."}]}'
    (tmp_path / "a.json").write_text(told)
    for command, function in (("check", "check"), ("stats", "results")):
        for option, name in (("", None), (" --tokenizer cl100k_base", "cl100k_base")):
            given, _ = heard(f"transcripts {command} a.json{option}", transcripts, function, monkeypatch, tmp_path)
            assert (given[1] and given[1].name) == name


def test_words_are_redacted_only_where_that_is_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for option, everything in (("--redact", False), ("--redact usual", False), ("--redact all", True)):
        (_, found), _ = heard(f"transcripts convert a {option}", transcripts, "Redaction", monkeypatch, tmp_path)
        assert found is everything
    (tmp_path / "a.json").write_text('[{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]')
    assert '"text":"x"' in ctxsim("transcripts", "convert", "a.json", cwd=tmp_path).stdout


def test_policies_stand_beside_compactions_unless_they_are_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.json").write_text('[{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]')
    for option, beside in (("", True), (" --alone", False)):
        assert heard(f"compactions a.json{option}", compactions, "score", monkeypatch, tmp_path)[1] == {
            "beside": beside
        }
    for option, call in (("", None), (" --call 2", 2)):
        (text, transcript, found), _ = heard(
            f"compactions score a.json a.json{option}", compactions, "score_summary", monkeypatch, tmp_path
        )
        assert found == call and text.startswith("[") and transcript.name == "a.json"


def test_a_report_is_a_page_in_the_runs_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = SimpleNamespace(info="info")
    monkeypatch.setattr(report, "read_run", lambda folder: run)
    monkeypatch.setattr(report, "tell_keys", lambda info: None)
    monkeypatch.setattr(report, "tell_answer", lambda run, goal: None)
    asked: list[Any] = []

    def page(found: Any, path: Path, goal: str, word: str) -> Path:
        asked.append((path, goal, word))
        (tmp_path / "page").write_bytes(b"x" * 1_250_000)
        return tmp_path / "page"

    monkeypatch.setattr("ctxsim.report.page.write_page", page)
    monkeypatch.setenv("COLUMNS", "300")
    assert ctxsim("report", "run", cwd=tmp_path).stdout == f"{tmp_path / 'page'} (1.2 MB)\n"
    ctxsim("report", "run", "--out", "x.html", "--goal", "kept", "--transcript", "w", cwd=tmp_path)
    assert asked == [(Path("run/report.html"), "dollars", ""), (Path("x.html"), "kept", "w")]
    drawn: list[Any] = []
    monkeypatch.setattr("ctxsim.report.picture.picture", lambda *given: given[1:])
    monkeypatch.setattr(
        "ctxsim.report.charts.plot_all", lambda *given: drawn.append((is_for_paper(), *given)) or [Path("drawn")]
    )
    assert ctxsim("report", "run", "--only", "pictures", cwd=tmp_path, drawn=True).stdout == "drawn\n"
    ctxsim("report", "run", "--only", "paper", "--out", "x", "--policy", "mask", cwd=tmp_path, drawn=True)
    assert drawn == [
        (False, ("dollars", ()), Path("run"), ("png", "svg")), (True, ("dollars", ("mask",)), Path("x"), ("pdf",))
    ]  # fmt: skip
    for line, said in (
        ("--by age", "--by goes with --only losses"),
        ("--only page --policy mask", "--policy goes with --only pictures or"),
        ("--only losses --transcript w", "--transcript goes with --only page"), ("--format json", "--format goes with"),
    ):  # fmt: skip
        done = ctxsim("report", "run", *line.split(), cwd=tmp_path)
        assert done.returncode == 2 and said in done.stderr
