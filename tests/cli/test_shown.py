"""Tables as commands print them, and runs with their verdict."""

from __future__ import annotations

import json
from typing import Any

import click
import pytest

from ctxsim import bench
from ctxsim.answers.advice.baseline import advise
from ctxsim.answers.advice.verdict import verdict
from ctxsim.cli.output import console
from ctxsim.cli.show import escaped, show, show_run, tell_answer
from ctxsim.report.sheet import Cell, Column, sheet
from ctxsim.report.tables import bench_sheet
from ctxsim.results import Run

TWO = sheet("t", "A \x1btitle", [Column("a", "a", left=True), Column("b", "b", rank=1)],
            [("x\ny\tz\x07", Cell("v\n", "t\n\x07")), ("w", 7)], notes=("a note\x1b",))  # fmt: skip


def test_names_of_others_hold_no_line_feed_and_no_control_character() -> None:
    made = escaped(TWO)
    assert made.title == "A \\x1btitle" and made.notes == ("a note\\x1b",)
    assert made.rows == (("x\\ny\\tz\\x07", Cell("v\n", "t\n\\x07")), ("w", 7))


def printed(capsys: pytest.CaptureFixture[str], form: str, *names: str, **more: Any) -> str:
    command = click.Command("x", params=[click.Option([name]) for name in names])
    with click.Context(command):
        show("x", [TWO, TWO], form, **more)
    return capsys.readouterr().out


def test_a_table_is_printed_in_each_form(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    answer = json.loads(printed(capsys, "json", extra=[1]))
    assert (
        answer["command"] == "x" and answer["extra"] == [1] and [one["name"] for one in answer["tables"]] == ["t", "t"]
    )
    assert answer["tables"][0]["rows"][0] == {"a": "x\ny\tz\x07", "b": "v\n"}
    assert printed(capsys, "csv").count("a,b\n") == 2
    assert printed(capsys, "md").count("|---|") == 2 and "\x1b" not in printed(capsys, "md")
    monkeypatch.setenv("COLUMNS", "100")
    text = printed(capsys, "table")
    assert text.count("A \\x1btitle") == 2 and "a note\\x1b" in text and "\x1b" not in text


@pytest.mark.parametrize(
    ("options", "said"),
    [((), ""), (("--format",), "--format csv shows all"), (("--format", "--columns"), "--columns all shows all")],
)
def test_a_narrow_table_says_how_to_see_the_rest(
    options: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "16")
    text = " ".join(printed(capsys, "table", *options).split())
    assert ("shows all" in text) is bool(said) and said in text


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    out = tmp_path_factory.mktemp("shown") / "run"
    return bench("documented-53k", ["keep-all", "fifo:budget=20000"], out=out, brackets=False)


def told(run: Run, capsys: pytest.CaptureFixture[str], form: str, columns: tuple[str, ...] | None = None) -> str:
    with click.Context(click.Command("bench")):
        show_run("bench", run, bench_sheet, "dollars", form, columns)
    return capsys.readouterr().out


def test_a_runs_verdict_comes_first(
    run: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    text = told(run, capsys, "table")
    lines = text.splitlines()
    first = verdict(advise(run, "dollars"), run.info.shown)[0]
    assert lines[0] == "" and first.startswith(lines[1]) and text.index(lines[1]) < text.index(" policy ")
    rows = told(run, capsys, "csv").splitlines()
    assert rows[0].startswith("policy,") and len(rows) == 3 and len(rows[0].split(",")) > 20, "all columns for programs"
    assert told(run, capsys, "csv", ("policy", "usd")).splitlines()[0] == "policy,policy_bound,usd"
    answer = json.loads(told(run, capsys, "json"))
    assert (answer["run"], answer["goal"], answer["command"]) == ("documented-53k", "dollars", "bench") and answer[
        "verdict"
    ]
    page = told(run, capsys, "md")
    assert page.startswith(f"> {first}  \n") and page.splitlines()[0].endswith("  ") and "|---" in page
    assert len(page.splitlines()[-1].split("|")) < len(rows[0].split(",")), "as many as people read"
    # Tables of planted facts stand below, but not in CSV, which is one table.
    monkeypatch.setattr("ctxsim.cli.show.needle_sheets", lambda run: [TWO])
    assert "a note" in told(run, capsys, "json") and "| w | 7 |" in told(run, capsys, "md")
    assert told(run, capsys, "csv").splitlines() == rows


def test_the_first_line_of_an_answer_is_bold(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    printed: list[Any] = []
    out: Any = type("Console", (), {"print": lambda self, text: printed.append(text)})()
    monkeypatch.setattr("ctxsim.cli.show.console", lambda: out)
    monkeypatch.setattr("ctxsim.cli.show.verdict", lambda advice, shown: ["Take it", "Weak ground", "a line"])
    tell_answer(run, "dollars")
    assert [(str(one), one.style) for one in printed] == [
        ("Take it", "bold"),
        ("Weak ground", "yellow"),
        ("a line", ""),
    ]
    assert console is not None
