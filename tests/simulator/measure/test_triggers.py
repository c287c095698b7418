"""When a trigger was due and when it fired."""

from __future__ import annotations

from samples import basis_of, conversation

from ctxsim.policies import open_policy
from ctxsim.simulator.measure import measure, summary_row


def test_trigger_columns_of_a_bench_by_hand() -> None:
    # Each result is 1,000 tokens and estimated 250. fifo:budget=1400 looks at 4, 1,006, 2,008, 3,010, ... tokens and
    # sees 3, 255, 507, ...: it is due at call 3 (2,008) and fires at call 7 (1,515 > 1,400; really 6,016).
    transcript = conversation(*["1 " * 500] * 8)
    basis = basis_of(transcript)
    keep_all = basis.keep_all
    measured = measure(basis, open_policy("fifo:budget=1400"))
    estimated = [row.tokens_estimated for row in keep_all.rows]
    counted = [row.tokens_sent for row in keep_all.rows]
    fired = next(n for n, e in enumerate(estimated) if e > 1_400)
    due = next(n for n, t in enumerate(counted) if t > 1_400)
    summary = summary_row(basis, measured)
    assert summary.trigger_displacement_calls == fired - due == 4
    assert summary.trigger_displacement_tokens == counted[fired] - counted[due]
    # From call 3 on every request is over the budget, and believed to be under it whenever fifo doesn't act.
    assert [row.trigger for row in measured.rows][:7] == ["", "", *["false-safe"] * 4, ""]
    assert summary.false_safe_calls == sum(row.trigger == "false-safe" for row in measured.rows)
    assert summary.false_alarm_calls == 0
    assert summary_row(basis, keep_all).false_safe_calls is None, "no threshold, nothing to be wrong about"
