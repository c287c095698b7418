"""What `ctxsim compactions` prints."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from bench_runs import write
from command_line import ctxsim
from samples import conversation

from ctxsim.answers.compactions.study import SummaryScore
from ctxsim.cli import compactions as room
from ctxsim.cli.compactions import LOST_SHOWN, _lines
from ctxsim.transcript import NO_HISTORY


def score(**fields: Any) -> SummaryScore:
    plain: dict[str, Any] = {
        "transcript": "a.json", "call": 7, "tokens": 1_500, "tokens_history": 90_000, "identifiers": 1_200,
        "identifiers_kept": 300, "needed": {"strict": 4, "loose": 9}, "kept": {"strict": 1, "loose": 9}, "lost": (),
    }  # fmt: skip
    return SummaryScore(**(plain | fields))


HEAD = ["a.json: in place of what came before call 7", "  1,500 tokens for 90,000"]


def test_a_score_says_what_is_held_and_what_later_calls_used() -> None:
    kept = ["  strict: 1 of 4 that later calls used are kept", "  loose: 9 of 9 that later calls used are kept"]
    assert _lines(score()) == [*HEAD, "  holds 300 of 1,200 identifiers (25.0%)", *kept]
    assert _lines(score(identifiers=0, identifiers_kept=0))[2] == "  holds 0 of 0 identifiers"
    assert _lines(score(needed={"strict": 0, "loose": 0}, lost=(("value", "x"),))) == [
        *HEAD, "  holds 300 of 1,200 identifiers (25.0%)",
        "  no later call used anything that only this history had",
    ]  # fmt: skip


@pytest.mark.parametrize(("many", "more"), [(1, []), (20, []), (21, ["    ... and 1 more"])])
def test_what_was_lost_is_listed_up_to_twenty(many: int, more: list[str]) -> None:
    found = _lines(score(lost=tuple(("value", f"x{n}") for n in range(many))))[5:]
    assert found == ["  lost:", *(f"    value: x{n}" for n in range(min(many, 20))), *more] and LOST_SHOWN == 20


@pytest.mark.parametrize(
    ("rows", "notes", "line"),
    [
        (0, (), "0 recorded compactions in 2 transcripts; 0 of them without a readable summary"),
        (1, (NO_HISTORY,), "4 recorded compactions in 2 transcripts; 1 of them without a readable summary; 2 whose "
         "history isn't in the file"),
    ],
)  # fmt: skip
def test_what_was_found_comes_first(
    rows: int, notes: tuple[str, ...], line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "ab":
        write(tmp_path / "logs", conversation("one"), name)
    compaction = SimpleNamespace(summary="")
    made = [SimpleNamespace(compactions=(compaction,) * (rows and n), notes=notes * (1 + n), name="x", calls=())
            for n in (0, 1)]  # fmt: skip

    class Reading:
        def __init__(self, paths: Any) -> None:
            self.paths = paths

        def map(self, function: Any) -> Any:
            return map(function, made[:2])

        def finish(self) -> None:
            raise SystemExit(0)

    scored = SimpleNamespace(
        compactions=[1] * (rows + bool(rows)), kinds=[], beside=["b"] if rows else [], add=lambda one: None
    )  # fmt: skip
    monkeypatch.setattr(room, "Reading", Reading)
    monkeypatch.setattr(room, "Compactions", lambda: scored)
    monkeypatch.setattr(room, "score", lambda transcript, beside: None)
    shown: list[Any] = []
    monkeypatch.setattr(room, "show", lambda command, sheets, form: shown.append(sheets))
    for name in ("compaction_sheet", "beside_sheet"):
        monkeypatch.setattr(room, name, lambda rows, name=name: name)
    for name in ("agent_lines", "kind_lines", "again_lines"):
        monkeypatch.setattr(room, name, lambda rows, name=name: [name])
    monkeypatch.setattr(room.msgspec.structs, "astuple", lambda one: ("t",))
    monkeypatch.setattr(room, "COMPACTION_TABLES", {"compactions": "row"})
    monkeypatch.setattr(room, "write_table", lambda folder, *rest: [folder / "compactions.csv"])
    monkeypatch.setenv("COLUMNS", "300")
    done = ctxsim("compactions", "logs", cwd=tmp_path)
    assert done.stdout.splitlines()[0] == line
    assert shown == ([["compaction_sheet"], ["beside_sheet"]] if rows else [])
    rest = ["", "", "agent_lines", "kind_lines", "", "again_lines", "written: results/compactions/compactions.csv"]
    assert done.stdout.splitlines()[1:] == (rest if rows else [""])
    if rows:
        assert "written: there/compactions.csv" in ctxsim("compactions", "logs", "--out", "there", cwd=tmp_path).stdout
