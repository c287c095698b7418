"""The sessions of a run: what each root came to with its sub-agents, the oldest first."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_runs import call_row, made_run

from ctxsim.answers.forecast.sessions import Sessions, enough, sessions_of


def amounts(found: Sessions) -> dict[str, list[float]]:
    return {name: values.tolist() for name, values in found.amounts.items()}


def test_sub_agents_count_to_their_root_and_the_oldest_comes_first(tmp_path: Path) -> None:
    late = {"started": 900.0, "project": "q", "model": "m2", "version": "2", "cost_usd": 4.0, "tokens_sum": 500}
    own = {"root": "t1", "started": 100.0, "project": "p", "model": "m", "version": "1", "calls": 3,
           "compactions": 70, "compactions_recorded": 4, "overflows": 1, "rate_limited": 10, "stopped": 20_000,
           "cost_usd": 1.0, "tokens_sum": 20}  # fmt: skip
    sub = {"root": "t1", "started": 200.0, "project": "x", "model": "y", "version": "z", "calls": 4,
           "invalid_pairs": 100, "invalid_thinking": 1_000, "compactions_recorded": None,
           "cost_usd": 0.5, "tokens_sum": 3}  # fmt: skip
    # An edit that drops nothing is no compaction, and one call has at most one.
    dropped = [("keep-all", "t1", 3), ("keep-all", "t2", 1), ("keep-all", "t1", 0), ("fifo", "t1", 5)]
    calls = [
        call_row(policy=label, transcript=name, items_dropped=items, items_edited=9, compactions=2)
        for label, name, items in dropped
    ]
    run = made_run(tmp_path, {"keep-all": [late, own, sub]}, tables={"calls": calls})
    found = sessions_of(run, "keep-all")
    assert (found.names, found.started, found.projects) == (("t1", "t0"), (100.0, 900.0), ("p", "q"))
    assert (found.models, found.priced, len(found)) == (("m", "m2"), 2, 2)
    assert amounts(found) == {
        "usd": [1.5, 4.0], "tokens": [23.0, 500.0], "calls": [7.0, 10.0], "compactions": [6.0, 0.0],
        "refused": [21_111.0, 0.0],
    }  # fmt: skip
    later = found.part(1)
    assert (later.names, later.priced, amounts(later)["usd"]) == (("t0",), 2, [4.0]) and found.part(0, 1).names == (
        "t1",
    )


def test_what_has_no_time_is_left_out_but_where_most_have_none(tmp_path: Path) -> None:
    untimed = {"started": None, "cost_usd": None}
    rows = [{"started": 900.0, "cost_usd": 1.0}, untimed, {"started": 5.0, "cost_usd": None}]
    found = sessions_of(made_run(tmp_path / "most", {"keep-all": rows}), "keep-all")
    assert (found.names, found.started, found.priced, found.untimed) == (("t2", "t0"), (5.0, 900.0), 1, 1)
    rows = [rows[0], untimed, {**untimed, "cost_usd": None}]
    found = sessions_of(made_run(tmp_path, {"keep-all": rows}), "keep-all")
    assert found.names == ("t0", "t1", "t2") and found.started == (900.0, None, None) and found.priced == 1
    assert not found.untimed and list(found.amounts) == ["tokens", "calls", "compactions", "refused"]
    assert found.projects == ("", "", "")


@pytest.mark.parametrize(
    ("priced", "of", "told"), [(0, 0, False), (0, 5, False), (1, 2, True), (1, 3, False), (2, 3, True)]
)
def test_dollars_are_told_where_half_have_prices(priced: int, of: int, told: bool) -> None:
    assert enough(priced, of) is told
