"""Modelled against recorded: errors, predictions that saw nothing, cache reads beside a guess, and dollars."""

from __future__ import annotations

from pathlib import Path

from invented import CALLS, write_logs

from ctxsim.answers.validation.validation import Compared, compare
from ctxsim.readers import read


def compared(name: str, call: int, text: int, recorded: int, modelled: int = 0, **more: object) -> Compared:
    fields = {"read_predicted": 0, "read_trivial": 0, "read_recorded": None, "cause": "", "whole": False, **more}
    return Compared(name, "f", "unknown-x", call, text, 10, recorded, modelled or recorded, **fields)  # type: ignore[arg-type]


def test_recorded_logs_are_compared_call_by_call(tmp_path: Path) -> None:
    write_logs(tmp_path)
    [transcript] = read(str(tmp_path / "rollout-1.jsonl"))
    found = compare(transcript)
    assert [one.recorded for one in found] == [1_000 + 300 * n for n in range(CALLS)]
    assert [one.read_recorded for one in found] == [0] + [900] * (CALLS - 1)
    assert not any(one.whole for one in found) and found[0].counted < 20
    assert all(abs(one.error) < 0.25 for one in found), "as large as recorded, about"
    [chat] = read(str(tmp_path / "chat-1.json"))
    assert compare(chat) == [], "no usage, nothing to compare"
