"""The bill: closed forms of caching hold to the cent."""

from __future__ import annotations

import math
from pathlib import Path

import msgspec
import pytest
from cached_replay import BIG, DROP_ONCE, PRICES, repeated, sent_of
from closed_forms import best_batch, deletion_pays, reads_until_caching_pays
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import basis_of, conversation

from ctxsim.policies import open_policy
from ctxsim.readers.assembly import Assembly
from ctxsim.results import read_run
from ctxsim.runs.conduct import conduct
from ctxsim.runs.task import Setting
from ctxsim.simulator.measure import measure, summary_row
from ctxsim.simulator.measure.columns import cost_interval, payback_calls
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.prices import Prices, expected_loss
from ctxsim.synthesis import load_scenario
from ctxsim.transcript import Usage


class TestClosedForms:
    def test_one_write_and_nine_reads_cost_2_15(self) -> None:
        sent = sent_of(repeated(10))
        tokens = sent[0].tokens_sent
        cost = sum((one.cost.write or 0) + (one.cost.read or 0) for one in sent)
        # 1.25 + 9 * 0.1 = 2.15 times one uncached request, instead of 10.
        assert cost == pytest.approx(2.15 * tokens / 1e6, rel=1e-9)
        assert [one.bill.split.read for one in sent] == [0] + [tokens] * 9

    @pytest.mark.parametrize(("long", "reads"), [(False, 1), (True, 2)])
    def test_caching_pays_after_one_read_or_two(self, long: bool, reads: int) -> None:
        write = PRICES.cache_write_long if long else PRICES.cache_write
        assert reads_until_caching_pays(0.1, write) == reads  # type: ignore[arg-type]
        for calls in range(1, 5):
            cached = sent_of(repeated(calls), long_cache=long)
            plain = sent_of(repeated(calls), cache="none")
            pays = sum(one.cost_usd or 0 for one in cached) < sum(one.cost_usd or 0 for one in plain)
            assert pays == (calls - 1 >= reads), calls

    @settings(max_examples=60)
    @given(st.integers(50, 1_500), st.integers(100, 3_000), st.integers(1, 40))
    def test_deleting_pays_iff_the_closed_form_says_so(self, deleted: int, after: int, calls: int) -> None:
        """Delete `deleted` tokens that stand before `after` others, with `calls` calls to go."""
        read, write = 0.1, 1.25
        head = "head " * 2_000

        def cost(delete: bool) -> float:
            """Of the calls from the deletion on, from the provider's own bill."""
            assembly = Assembly("deletion")
            assembly.system.append(head)
            assembly.user(" a" * deleted)
            assembly.user(" b" * after)
            for _ in range(calls + 1):
                assembly.response([])
            label = DROP_ONCE if delete else "keep-all"
            sent = sent_of(assembly.transcript(), label, breakpoints="system-tools-last")
            return sum(one.cost_usd or 0 for one in sent[1:]) * 1e6

        saved = cost(False) - cost(True)
        # (calls) reads of b saved on each; the first also rewrites `after` at write instead of reading it.
        assert saved == pytest.approx(deleted * calls * read - after * (write - read), abs=1e-3)
        assert (saved > 1e-6) == deletion_pays(deleted, calls, after, read, write) or abs(saved) < 1e-3

    def test_best_batch_is_the_cheapest_of_all_batches(self) -> None:
        # Per call g = 900 prunable and c = 100 other tokens; P = 20,000 protected. Cost per call of batches of M:
        # holding M / 2 on average at r, and every M / g calls a rewrite of the tail, which grew by c each call.
        g, c, p, r, w = 900.0, 100.0, 20_000.0, 0.1, 1.25

        def per_call(m: float) -> float:
            return r * m / 2 + (w - r) * p * (g + c) / m

        best = best_batch(g, c, p, r, w)
        assert best == pytest.approx(math.sqrt(2 * (w - r) * p * (g + c) / r))
        assert all(per_call(best) <= per_call(best * factor) for factor in (0.5, 0.9, 1.1, 2.0))
        assert best_batch(g, c, p, r, w, cold=1.0) == 0, "a cold cache is no reason to wait"

    def test_payback(self) -> None:
        # Call 4 has 6,000 tokens: over 5,000, so results 1 and 2 are cut after it, and call 5 writes result 3 again.
        # Once: rewritten * (1.25 - 0.1). Saved per call: removed * 0.1.
        transcript = conversation(BIG, BIG, BIG, BIG, system=BIG)
        provider = Provider(cache="anthropic", breakpoints="automatic", prices=PRICES, pace_s=10)
        policy = open_policy("token-budget:budget=5000,retain=50")
        basis = basis_of(transcript, provider)
        measured = measure(basis, policy)
        rows = measured.rows
        assert [row.call for row in rows if row.compactions] == [4]
        expected = rows[4].tokens_rewritten * 1.15 / (rows[3].tokens_removed * 0.1)
        assert 5 < expected < 20
        assert summary_row(basis, measured).payback_calls == pytest.approx(expected, abs=0.001)


def test_the_cached_documented_case_says_it_plainly(tmp_path: Path) -> None:
    scenario = load_scenario("documented-53k-cached")
    setting = Setting(scenario.name, scenario.title, scenario.policies)
    conduct(setting, tmp_path, scenario)
    summary = {row.policy: row for row in read_run(tmp_path).summary.itertuples()}
    keep_all, budget = summary["keep-all"], summary["token-budget:budget=40000,retain=500"]
    assert keep_all.overflows + keep_all.rate_limited == 0, "cache reads are free of the rate limit"
    assert budget.tokens_sum < keep_all.tokens_sum
    assert budget.cost_vs_keep_all is not None and budget.cost_vs_keep_all > 1.1
    assert budget.smallest_quota > keep_all.smallest_quota or budget.smallest_quota > 0


SONNET = Prices(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75, cache_write_long=6.0)


WORDY = "word " * 400


def test_payback_uses_the_long_write_price() -> None:
    transcript = conversation(*[WORDY * 4] * 5, system=WORDY * 4)
    policy = open_policy("token-budget:budget=5000,retain=50")
    found = []
    for long in (False, True):
        provider = Provider(cache="anthropic", breakpoints="automatic", prices=SONNET, pace_s=1, long_cache=long)
        measured = measure(basis_of(transcript, provider), policy)
        found.append(payback_calls(measured.calls, provider))
    # (6 - 0.3) against (3.75 - 0.3)
    assert found[1] == pytest.approx((found[0] or 0) * 5.7 / 3.45, rel=1e-3)


def test_a_bill_has_an_interval_where_nobody_recorded_what_was_read() -> None:
    transcript = conversation(*[WORDY * 4] * 4, system=WORDY * 4)
    provider = Provider(cache="openai", prices=Prices(input=2.0, output=8.0, cache_read=0.5), pace_s=5)
    measured = measure(basis_of(transcript, provider), open_policy("keep-all"))
    rows = measured.rows
    found = cost_interval(measured.calls, transcript, provider)
    loss = expected_loss("openai", 5)
    assert found is not None and loss is not None
    paid, reads = sum(row.cost_usd or 0 for row in rows), sum(row.tokens_cache_read for row in rows)
    # What isn't read costs 2.00 instead of 0.50 a million.
    assert found == pytest.approx((paid + reads * loss.low * 1.5e-6, paid + reads * loss.high * 1.5e-6))
    assert found[0] < found[1]
    # Misses that the replay has billed go off first: of 1,000,000 tokens that the last call could have read 400,000.
    of = {"cost_usd": [0.0] * 4 + [9.0], "tokens_sent": [9] * 5, "tokens_missed": [0] * 4 + [400_000],
          "tokens_cache_read": [0] * 4 + [600_000]}  # fmt: skip
    assert cost_interval(of, transcript, provider) == pytest.approx(
        (9 + 1.5 * (loss.low - 0.4), 9 + 1.5 * (loss.high - 0.4))
    )
    told = tuple(msgspec.structs.replace(call, usage=Usage(9, 9, 0)) for call in transcript.calls)
    known = cost_interval(measured.calls, msgspec.structs.replace(transcript, calls=told), provider)
    assert known == pytest.approx((paid, paid)), "recorded misses are in the bill"
    assert cost_interval(rows, transcript, msgspec.structs.replace(provider, prices=None)) is None
