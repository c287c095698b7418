"""What advice says of recordings beside keep-all, and of how many more sessions it needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from made_runs import made_run

from ctxsim.answers.advice.advice import _more, off_recorded

RECORDED: dict[str, Any] = {"calls_recorded": 5, "tokens_full_recorded": 1_100, "tokens_recorded_sum": 1_000}


@pytest.mark.parametrize(("rows", "off"), [
    ([{"calls_recorded": 0}], None), ([RECORDED], 0.1), ([{**RECORDED, "calls_recorded": 0}], None),
    ([{**RECORDED, "tokens_recorded_sum": 0}], None),
    # Dollars of the one that has both: 3 of 4, further off than 2,200 of 2,000.
    ([{**RECORDED, "cost_recorded_usd": 4.0, "cost_full_recorded_usd": 3.0},
      {**RECORDED, "cost_recorded_usd": 9.0, "cost_full_recorded_usd": None}], -0.25),
    ([{**RECORDED, "cost_recorded_usd": 100.0, "cost_full_recorded_usd": 101.0}], 0.1),
    ([{**RECORDED, "cost_recorded_usd": 0.0, "cost_full_recorded_usd": 0.0}], 0.1),
    ([{**RECORDED, "cost_recorded_usd": None, "cost_full_recorded_usd": None}], 0.1),
])  # fmt: skip
def test_the_larger_of_two_differences_to_what_was_recorded(
    rows: list[dict[str, Any]], off: float | None, tmp_path: Path
) -> None:
    empty = {"cost_recorded_usd": None, "cost_full_recorded_usd": None}
    found = off_recorded(made_run(tmp_path, {"keep-all": [{**empty, **row} for row in rows]}))
    assert found == (None if off is None else pytest.approx(off))


@pytest.mark.parametrize(("asked", "off"), [
    ({"window": 9}, 2.0), ({"model": None}, 2.0), ({"prices": {"input": 1.0}}, 0.1), ({"model": "b"}, None),
    ({"model": "router/A-20260101"}, 2.0), ({"tokenizer": "o200k_base"}, None),
])  # fmt: skip
def test_what_was_recorded_is_of_no_other_model_or_prices(
    asked: dict[str, object], off: float | None, tmp_path: Path
) -> None:
    row = {**RECORDED, "model": "a", "cost_recorded_usd": 1.0, "cost_full_recorded_usd": 3.0}
    found = off_recorded(made_run(tmp_path, {"keep-all": [row]}, setting={"overrides": asked}))
    assert found == (None if off is None else pytest.approx(off))


@pytest.mark.parametrize(("sessions", "wins", "more"), [
    # Of 0.6 and 0.2 the first wins 3 of 4: 0.6745 deviations; four of five are 0.8416: (0.8416 / 0.6745) ^ 2 = 1.557.
    (20, {"a": 0.2, "b": 0.6}, 11), (200, {"a": 0.2, "b": 0.6, "c": 0.1}, 111),
    # Where both win as often 0.05 stand for 0: (0.8416 / 0.05) ^ 2 = 283.3.
    (10, {"a": 0.5, "b": 0.5}, 2_823), (10, {"a": 0.9, "b": 0.1}, 1), (10, {"a": 1.0}, 1),
])  # fmt: skip
def test_more_sessions_tell_two_answers_apart(sessions: int, wins: dict[str, float], more: int) -> None:
    assert _more(sessions, wins) == more
