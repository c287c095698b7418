"""The screen of `advise`: at most 80 columns, the answer first, the lines to paste as they are."""

from __future__ import annotations

import re
from pathlib import Path

from made_runs import made_run

from ctxsim.answers.advice.search_result import AgentAdvice, of_agent
from ctxsim.policies.agents.given import Given
from ctxsim.policies.agents.search import label_of
from ctxsim.report.advised import screen
from ctxsim.results.run_info import Recorder

WINDOW = Given("claude-code", "autoCompactWindow", 200_000)
CUT = Given("claude-code", "bashOutputMaxChars", 10_000)


def found(folder: Path, rows: dict[tuple[Given, ...], tuple[float, float]]) -> AgentAdvice:
    def row(cost: float, kept: float = 1.0) -> list[dict[str, object]]:
        return [{"cost_usd": cost, "survival": kept, "tokens_sum": int(cost * 1000)}] * 3

    recorders = [Recorder(f"t{n}", "claude-code", "2.1.330", "claude-opus-5-5", 167_000) for n in range(3)]
    labels = {label_of([], given): row(*figures) for given, figures in rows.items()}
    run = made_run(folder, {"keep-all": row(20), "as-set": row(10, 0.99), **labels}, recorders=recorders)
    return of_agent(run, "claude-code", "dollars")


def noisy(folder: Path) -> AgentAdvice:
    """Advice of seven sessions, in which two windows are cheaper by turns."""
    recorders = [Recorder(f"t{n}", "claude-code", "2.1.330", "claude-opus-5-5", 167_000) for n in range(7)]
    rows = {
        "keep-all": (10, 11, 12, 13, 14, 15, 16), "as-set": (10, 11, 12, 13, 14, 15, 16),
        label_of([], [WINDOW]): (1, 9, 2, 10, 3, 11, 8), label_of([], [CUT]): (9, 1, 10, 2, 11, 3, 7),
    }  # fmt: skip
    cells = {label: [{"cost_usd": usd} for usd in each] for label, each in rows.items()}
    return of_agent(made_run(folder, cells, recorders=recorders), "claude-code", "dollars")


def test_what_to_set_comes_with_its_lines_and_what_else_was_tried(tmp_path: Path) -> None:
    one = found(tmp_path / "r", {(WINDOW,): (7, 0.94), (CUT,): (9.9, 0.98), (WINDOW, CUT): (6.95, 0.94)})
    lines = screen(one)
    assert lines[0] == "Claude Code 2.1.330, claude-opus-5-5: 3 sessions, 30.00 USD as you are set now."
    assert lines[2:5] == ["Set in ~/.claude/settings.json:", "", '    "autoCompactWindow": 200000']
    text = "\n".join(lines)
    assert "These sessions: 21.00 USD instead of 30.00 USD, as you are set now (-30 %" in text
    assert re.search(r"This keeps 94 % \(\d+ to \d+\) of what later calls used. As set now: 99 %.", text)
    assert "autoCompactWindow: seen honoured on 2026-11-23" in text
    assert text.replace("\n", " ").endswith(
        "Also tried: autoCompactWindow = 200000 and bashOutputMaxChars = 10000 (-30 %, keeps 94 %), "
        "bashOutputMaxChars = 10000 (-1 %, keeps 98 %)."
    )
    assert one.settings == (WINDOW,), "one setting goes before two that save a twentieth of a dollar more"
    assert max(map(len, lines)) <= 80
    assert not any(re.match(r"%|=|USD", line) or line.endswith(" =") for line in lines), "a value and its unit part"


def test_what_is_open_may_be_as_good(tmp_path: Path) -> None:
    made = noisy(tmp_path / "n")
    assert {made.settings, *(rival.settings for rival in made.open)} == {(WINDOW,), (CUT,)} and len(made.open) == 1
    assert "Not settled: " in " ".join(screen(made))
