"""A session that was resumed: its log begins with the responses of the session before, which count once everywhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from invented import claude_code

import ctxsim
from ctxsim.answers.advice.pooled import figures_of
from ctxsim.answers.forecast.once import rows_once
from ctxsim.answers.forecast.sessions import sessions_of
from ctxsim.api.bill import bill
from ctxsim.api.runs import Run

MASK = "mask:keep=1"


def resumed(session: str, hour: int, more: int) -> list[dict[str, Any]]:
    """The lines of session 1 under another id, and so many turns more from an hour on."""
    lines = [{**line, "sessionId": session} for line in claude_code(1)]
    for turn in range(more):
        asked = {**lines[-1], "type": "user", "uuid": f"{session}-u{turn}", "parentUuid": lines[-1]["uuid"],
                 "timestamp": f"2026-01-05T{hour}:0{turn}:00.000Z",
                 "message": {"role": "user", "content": f"Is ticket {turn} closed?"}}  # fmt: skip
        read = 2_700 + hour + 300 * turn
        usage = {"input_tokens": 5, "cache_read_input_tokens": read, "cache_creation_input_tokens": 300,
                 "output_tokens": 40}  # fmt: skip
        message = {"id": f"{session}-m{turn}", "role": "assistant", "model": "claude-sonnet-4-5", "usage": usage,
                   "content": [{"type": "text", "text": "It is."}], "stop_reason": "end_turn"}  # fmt: skip
        answer = {**asked, "type": "assistant", "uuid": f"{session}-a{turn}", "parentUuid": asked["uuid"],
                  "message": message}  # fmt: skip
        lines += [asked, answer]
    return lines


def benched(folder: Path, **logs: list[dict[str, Any]]) -> Run:
    folder.mkdir()
    for name, lines in logs.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return ctxsim.bench(str(folder), [MASK], text="none", brackets=False)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_what_a_resumed_session_repeats_counts_once(tmp_path: Path) -> None:
    # Six calls, and those again with two more: eight, as in the second log alone.
    alone = benched(tmp_path / "alone", b=resumed("b", 10, 2))
    both = benched(tmp_path / "both", a=claude_code(1), b=resumed("b", 10, 2))
    assert bill(tmp_path / "both", days=None).total().responses == 8
    for label in both.labels:
        # The first log's own six, and the last two of the second, as they are in it alone.
        (first, _), calls = both.of(label).itertuples(), alone.table("calls", policy=[label])
        last = calls[calls.call > 6]
        found = sessions_of(both, label).amounts
        assert found["calls"].tolist() == [6, 2]
        assert found["tokens"].tolist() == [first.tokens_sum, last.tokens_sent.sum()]
        assert found["usd"].tolist() == pytest.approx([first.cost_usd, last.cost_usd.sum()])
        figures = figures_of(both).figures(label)
        assert (figures.sessions, figures.calls, figures.tokens) == (2, 8, found["tokens"].sum())
        assert figures.usd == pytest.approx(found["usd"].sum())
        full = first.tokens_full_sum + last.tokens_full.sum()
        assert figures.tokens_share.value == pytest.approx(figures.tokens / full)


def test_a_session_that_another_log_holds_whole_is_none(tmp_path: Path) -> None:
    run = benched(tmp_path / "logs", a=resumed("a", 10, 1), b=claude_code(1), c=resumed("c", 12, 3))
    assert sessions_of(run, "keep-all").amounts["calls"].tolist() == [7, 3]
    assert bill(tmp_path / "logs", days=None).total().responses == 10
    assert figures_of(run).sessions == 2


def test_sessions_that_begin_together_are_no_copies(tmp_path: Path) -> None:
    # The same time, and one token more from the first request on.
    other = json.loads(json.dumps(claude_code(1)).replace('"input_tokens": 5', '"input_tokens": 6'))
    run = benched(tmp_path / "logs", a=claude_code(1), b=other)
    assert rows_once(run, "keep-all").calls.tolist() == [6, 6]
