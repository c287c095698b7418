"""Assertions about runs: each passes at its limit, fails beyond it, and says who broke it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made_runs import made_run

from ctxsim.errors import UnknownName
from ctxsim.results import Run
from ctxsim.testing import cost_not_over, kept_not_under, no_refused_call

MASK = "mask:keep=1,batch=1"


def run_of(folder: Path, *rows: dict[str, Any]) -> Run:
    """keep-all costs 10 USD a transcript; the policy what its rows say."""
    return made_run(folder / "run", {"keep-all": [{"cost_usd": 10.0}] * len(rows), MASK: list(rows)})


def says(check: Callable[..., None], *arguments: Any, **named: Any) -> str:
    with pytest.raises(AssertionError) as broken:
        check(*arguments, **named)
    return str(broken.value)


def test_cost_is_of_all_transcripts(tmp_path: Path) -> None:
    # 4 + 8 = 12 of 20 USD: 60 %.
    run = run_of(tmp_path, {"cost_usd": 4.0}, {"cost_usd": 8.0})
    for limit in ({"usd": 12.0, "share": 0.6}, {"usd": 12.0}, {"share": 0.6}):
        cost_not_over(run, MASK, **limit)
    cost_not_over(run, "mask:keep=1", usd=12.0)
    assert says(cost_not_over, run, MASK, usd=11.9) == f"{MASK}: costs 12 USD, more than 11.9"
    told = f"{MASK}: costs 60.00% of keep-all's dollars, more than 59.00%"
    assert says(cost_not_over, run, MASK, share=0.59) == says(cost_not_over, run, MASK, usd=13.0, share=0.59) == told
    with pytest.raises(TypeError, match=r"usd=\.\.\. or share="):
        cost_not_over(run, MASK)
    with pytest.raises(UnknownName):
        cost_not_over(run, "fifo:budget=5", usd=1.0)


def test_without_prices_nobody_passes(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run", {"keep-all": [{}], MASK: [{}]})
    for limit in ({"share": 2.0}, {"usd": 2.0}):
        assert "no prices are known" in says(cost_not_over, run, MASK, **limit)


def test_a_free_model_costs_nothing(tmp_path: Path) -> None:
    free = made_run(tmp_path / "free", {"keep-all": [{"cost_usd": 0.0}], MASK: [{"cost_usd": 0.0}]})
    cost_not_over(free, MASK, usd=0.0, share=0.5)
    rows = {"keep-all": [{"cost_usd": 10.0}, {"cost_usd": 0.0}], MASK: [{"cost_usd": 4.0}, {"cost_usd": 0.0}]}
    some = made_run(tmp_path / "some", rows)
    cost_not_over(some, MASK, usd=4.0, share=0.4)
    assert says(cost_not_over, some, MASK, usd=3.0) == f"{MASK}: costs 4 USD, more than 3"


def test_a_bill_of_some_transcripts_is_no_pass(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run", {"keep-all": [{"cost_usd": 10.0}, {}], MASK: [{"cost_usd": 4.0}, {}]})
    assert "prices are known of only 1 of 2 transcripts" in says(cost_not_over, run, MASK, usd=99.0)
    # Both sides of a share are of the same one.
    cost_not_over(run, MASK, share=0.4)


def test_kept_is_the_mean_and_a_share(tmp_path: Path) -> None:
    run = run_of(tmp_path, {"survival": 0.9}, {"survival": 0.7})
    kept_not_under(run, MASK, 0.8)
    assert says(kept_not_under, run, MASK, 0.81) == f"{MASK}: keeps 80.00% of what later calls used, less than 81.00%"
    for share in (0, 1):
        kept_not_under(run, "keep-all", share)
    for share in (-0.01, 1.01, 90):
        assert says(kept_not_under, run, MASK, share) == f"share={share:g}: it is a share, from 0 to 1"


def test_with_summaries_the_lower_end_of_the_range_counts(tmp_path: Path) -> None:
    run = run_of(tmp_path, {"survival": 0.9, "survival_low": 0.4, "survival_high": 0.9})
    kept_not_under(run, MASK, 0.4)
    assert says(kept_not_under, run, MASK, 0.5) == f"{MASK}: keeps 40.00% of what later calls used, less than 50.00%"


def test_where_nothing_was_needed_everything_is_kept(tmp_path: Path) -> None:
    run = run_of(tmp_path, {"survival": None, "calls_with_aged_needs": 0})
    kept_not_under(run, MASK, 1)


def test_a_refused_call_is_named(tmp_path: Path) -> None:
    refused = {"overflows": 2, "calls_until_first_failure": 3, "first_failure": "overflow"}
    run = run_of(tmp_path, {}, refused)
    no_refused_call(run, "keep-all")
    assert says(no_refused_call, run, MASK) == f"{MASK}: 2 of 20 calls refused; the first: t1, overflow"
