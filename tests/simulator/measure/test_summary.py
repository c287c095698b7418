"""A summary's sums and counts against the rows themselves, one by one."""

from __future__ import annotations

from random import Random

import msgspec
import pytest
from samples import basis_of, conversation

from ctxsim.policies import open_policy
from ctxsim.results.columns import CallRow
from ctxsim.results.frames import columns_of
from ctxsim.simulator.measure.measured import measure
from ctxsim.simulator.measure.summary import mean_survival, summarize
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.prices import Prices

SUMS = ("tokens_output", "tokens_rewritten", "compactions", "items_edited", "items_dropped", "tokens_removed",
        "summary_calls", "http_429")  # fmt: skip
DOLLARS = ("cost_usd", "cost_read_usd", "cost_write_usd", "cost_uncached_usd", "cost_output_usd", "cost_summary_usd")


def any_row(row: CallRow, rng: Random) -> CallRow:
    """A row with anything in it that can be."""
    given: dict[str, object] = {name: rng.choice([0, 0, 1, rng.randint(2, 900)]) for name in SUMS}
    # Summaries would replay again.
    given["summary_calls"] = 0
    given["status"] = rng.choice(["ok", "ok", "ok", "overflow", "rate_limited", "invalid_pairs", "stopped"])
    given["trigger"] = rng.choice(["", "false-safe", "false-alarm"])
    given["tokens_removed"] = rng.randint(-3, 3)
    given["wait_s"], given["tokens_cache_read"] = rng.random(), rng.randint(0, 50)
    given |= {name: rng.random() if rng.random() < 0.97 else None for name in DOLLARS}
    for kind in ("strict", "values", "loose", "fresh", "carried", "user"):
        needed = rng.choice([0, rng.randint(1, 5)])
        given |= {f"refs_needed_{kind}": needed, f"refs_kept_{kind}": rng.randint(0, needed)}
    return msgspec.structs.replace(row, **given)


@pytest.mark.parametrize("seed", range(20))
def test_a_summary_says_what_its_rows_say(seed: int) -> None:
    rng = Random(seed)
    prices = Prices(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75)
    basis = basis_of(conversation("a " * 30, "b " * 20, "c"), Provider(cache="anthropic", prices=prices))
    measured = measure(basis, open_policy("fifo:budget=50"))
    rows = [any_row(row, rng) for row in measured.rows]
    of = columns_of(CallRow, rows)
    found = summarize(basis, msgspec.structs.replace(measured, calls=of))
    for name in SUMS:
        column = f"{name}_sum" if name == "tokens_output" else name
        assert found[column] == sum(getattr(row, name) for row in rows), name
    for name in DOLLARS:
        paid = [getattr(row, name) for row in rows]
        assert found[name] == (None if None in paid else round(sum(paid, 0.0), 10)), name
    failed = [row for row in rows if row.status != "ok"]
    assert (found["calls_until_first_failure"], found["first_failure"]) == (
        (failed[0].call - 1, failed[0].status) if failed else (None, None)
    )
    for column, status in (
        ("overflows", "overflow"),
        *((name, name) for name in ("rate_limited", "invalid_pairs", "stopped")),
    ):
        assert found[column] == sum(row.status == status for row in rows), column
    assert found["cache_breaks"] == sum(row.tokens_rewritten > 0 for row in rows)
    assert found["no_progress_compactions"] == sum(row.compactions > 0 and row.tokens_removed <= 0 for row in rows)
    assert found["false_safe_calls"] == sum(row.trigger == "false-safe" for row in rows)
    assert found["calls_with_aged_needs"] == sum(row.refs_needed_strict > 0 for row in rows)
    shares = [row.refs_kept_strict / row.refs_needed_strict for row in rows if row.refs_needed_strict]
    shown = ("cost_vs_keep_all", "cache_hit_ratio", "wait_s", "estimate_bias", "estimate_mape", "estimate_p95")
    assert all(found[name] == round(found[name], 6) for name in shown if found[name] is not None)
    assert found["tokens_growth_per_call"] == round(found["tokens_growth_per_call"], 3)
    assert found["survival"] == mean_survival(of, "strict")
    assert found["survival"] == (round(sum(shares) / len(shares), 6) if shares else None)
