"""The bill: closed forms of caching hold to the cent."""

from __future__ import annotations

from pathlib import Path

import pytest
from cached_replay import DROP_ONCE, PRICES, repeated, sent_of
from closed_forms import deletion_pays, reads_until_caching_pays
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxsim.readers.assembly import Assembly
from ctxsim.results import read_run
from ctxsim.runs.conduct import conduct
from ctxsim.runs.task import Setting
from ctxsim.synthesis import load_scenario


class TestClosedForms:
    def test_one_write_and_nine_reads_cost_2_15(self) -> None:
        sent = sent_of(repeated(10))
        tokens = sent[0].tokens_sent
        cost = sum((one.bill.cost.write or 0) + (one.bill.cost.read or 0) for one in sent)
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
