"""What columns are made of, worked by hand: ranks, thresholds, what edits pay back, and what misses may cost."""

from __future__ import annotations

import msgspec
import pytest
from samples import basis_of, conversation

from ctxsim.policies import open_policy
from ctxsim.simulator.measure.columns import (
    by_lifetime,
    cost_interval,
    displacement,
    first_over,
    misled,
    nearest_rank,
    payback_calls,
    shown,
    total,
)
from ctxsim.simulator.measure.measured import measure
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.prices import Prices, expected_loss
from ctxsim.simulator.provider.rules import Other
from ctxsim.transcript import Transcript, Usage

PRICES = Prices(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75)
PAID = Provider(cache="anthropic", prices=PRICES)


@pytest.mark.parametrize(("many", "percent", "rank"), [
    (1, 50, 1), (1, 95, 1), (2, 50, 1), (3, 50, 2), (20, 95, 19), (21, 95, 20), (100, 95, 95), (101, 95, 96),
    (200, 1, 2), (201, 1, 3), (7, 100, 7),
])  # fmt: skip
def test_the_nearest_rank_is_the_first_that_so_many_do_not_exceed(many: int, percent: int, rank: int) -> None:
    assert nearest_rank(range(1, many + 1), percent) == rank


@pytest.mark.parametrize(("estimate", "tokens", "said"), [
    (9, 11, "false-safe"), (10, 11, "false-safe"), (10, 10, ""), (11, 11, ""), (11, 10, "false-alarm"),
    (11, 9, "false-alarm"),
])  # fmt: skip
def test_an_estimate_misleads_where_a_limit_of_ten_lies_between(estimate: int, tokens: int, said: str) -> None:
    assert misled(estimate, tokens, 10) == said


def test_thresholds_fire_late_or_early_by_calls_and_tokens() -> None:
    assert (first_over([9, 10, 11, 12], 10), first_over([9, 10], 10)) == (2, None)
    assert displacement(3, 1, [5, 6, 8, 11]) == (2, 5) and displacement(0, 2, [5, 6, 8]) == (-2, -3)
    assert displacement(None, 1, [5]) is None and displacement(1, None, [5]) is None
    assert total([0.1, 0.2]) == 0.3 and total([1.0, None]) is None and total([]) == 0.0


def test_what_came_cut_is_no_part_of_what_was_decided_on() -> None:
    # A result of 1,000 tokens comes as 400, and the second call's request is 406: under 450, as is believed.
    basis = basis_of(conversation("1 " * 500))
    for budget, said in ((450, ""), (400, "false-safe")):
        row = measure(basis, open_policy(f"max-result-chars:chars=400+fifo:budget={budget}")).rows[1]
        assert (row.tokens_sent, row.tokens_removed, row.trigger) == (406, 600, said)
    # A stub of 7 tokens comes into the place of 1,000: the request before had 1,009, and more than twice are believed.
    early = open_policy("clear-tool-uses:trigger=1020,keep=1,estimator=chars:ratio=0.5")
    row = measure(basis_of(conversation("1 " * 500, "b")), early).rows[2]
    assert (row.tokens_sent, row.tokens_removed, row.trigger) == (16, 993, "false-alarm")


def test_a_long_text_is_shown_by_its_beginning() -> None:
    assert shown("a" * 2_000) == "a" * 2_000 and shown("\ud83d") == "?"
    assert shown("b" * 3_500) == "b" * 2_000 + "… (1,500 more characters)"


def test_what_is_written_is_of_one_lifetime() -> None:
    def written(**rules: object) -> list[object]:
        return list(by_lifetime(Provider(**rules), [4, 5]).values())  # type: ignore[arg-type]

    assert written(cache="anthropic") == [[4, 5], [0, 0]]
    assert written(cache="anthropic", long_cache=True) == [[0, 0], [4, 5]]
    assert written(cache="deepseek") == [[None, None], [None, None]]


def test_an_edit_has_paid_for_itself_once_its_reads_are_saved() -> None:
    # The first removes 1,000 tokens and has 200 written at 3.75 by the next request, not read at 0.30: 690 of 300 a
    # call. The second, with a summary of 0.0006, writes 100 itself: (600 + 345) / (500 x 0.3).
    of = {
        "compactions": [1, 0, 1, 1, 0], "tokens_removed": [1_000, 50, 500, 0, 7], "tokens_sent": [10] * 5,
        "tokens_rewritten": [0, 200, 100, 9, 9], "cost_summary_usd": [None, 9.0, 0.0006, 9.0, 9.0],
    }  # fmt: skip
    assert payback_calls(of, FIVE, PAID) == pytest.approx((690 / 300 + 945 / 150) / 2, abs=5e-4)
    assert payback_calls({name: values[3:] for name, values in of.items()}, FIVE, PAID) is None
    free = msgspec.structs.replace(PAID, prices=Prices(0.0, 0.0))
    assert payback_calls(of, FIVE, free) is None, "where nothing costs anything nothing is saved"
    assert payback_calls(of, FIVE, Provider(cache="anthropic")) is None
    last = {"compactions": [1], "tokens_removed": [100], "tokens_sent": [10], "tokens_rewritten": [0],
            "cost_summary_usd": [0.00006]}  # fmt: skip
    assert payback_calls(last, FIVE, PAID) == pytest.approx(2.0)


def timed(*times: float | None, usage: Usage | None = None) -> Transcript:
    made = conversation(*["result"] * (len(times) - 1))
    calls = [msgspec.structs.replace(call, time_s=at, usage=usage) for call, at in zip(made.calls, times, strict=True)]
    return msgspec.structs.replace(made, calls=tuple(calls))


FIVE = timed(*[None] * 5)


def test_a_bills_interval_is_of_the_misses_that_recordings_show() -> None:
    of = {"cost_usd": [0.5, None, 0.25], "tokens_sent": [10, 20, 30], "tokens_missed": [0, 400, 0],
          "tokens_cache_read": [0, 600, 2_000]}  # fmt: skip
    # A pause of ten seconds, then the provider's, of 200: each with its share of 1,000 and of 2,000 that could be read,
    # less what is billed as missed.
    near, far = expected_loss("anthropic", 10.0), expected_loss("anthropic", 200.0)
    assert near and far and near != far
    provider = msgspec.structs.replace(PAID, pace_s=200.0)
    found = cost_interval(of, timed(300.0, 310.0, None), provider)
    more = (3.75 - 0.3) / 1e6
    assert found == pytest.approx((
        0.75 + (1_000 * near.low - 400 + 2_000 * far.low) * more,
        0.75 + (1_000 * near.high - 400 + 2_000 * far.high) * more,
    ))  # fmt: skip
    free = msgspec.structs.replace(provider, prices=msgspec.structs.replace(provider.prices, cache_write=0.0))
    low, high = cost_interval(of, timed(0.0, 10.0, None), free) or (0.0, 0.0)
    assert low < high, "what is missed is written for nothing"
    assert cost_interval(of, timed(10.0, 0.0, 0.0), provider) == cost_interval(of, timed(0.0, 0.0, 0.0), provider)
    stated = timed(0.0, 10.0, 20.0, usage=Usage(10, cache_read_tokens=0))
    assert cost_interval(of, stated, provider) == (0.75, 0.75)
    assert cost_interval(of, timed(0.0, 10.0, 20.0), msgspec.structs.replace(PAID, cache="none")) == (0.75, 0.75)
    assert cost_interval(of, timed(0.0, 10.0, 20.0), Provider(cache="anthropic")) is None


def test_a_call_to_another_model_pays_back_and_misses_at_its_prices() -> None:
    others = (Other("b", "b", msgspec.structs.replace(PRICES, cache_read=0.6)),)
    mixed = msgspec.structs.replace(PAID, others=others)

    def to_b(made: Transcript) -> Transcript:
        return msgspec.structs.replace(
            made, calls=tuple(msgspec.structs.replace(call, model="b") for call in made.calls)
        )

    of = {"compactions": [1], "tokens_removed": [1_000], "tokens_sent": [10], "tokens_rewritten": [200],
          "cost_summary_usd": [None]}  # fmt: skip
    # 200 written at 3.75 and not read at 0.60, to save 1,000 reads: 630 of 600 a call.
    assert payback_calls(of, to_b(FIVE), mixed) == pytest.approx(630 / 600)
    missed = {"cost_usd": [0.0, 0.0], "tokens_sent": [10, 20], "tokens_missed": [0, 0], "tokens_cache_read": [0, 1_000]}
    loss = expected_loss("anthropic", 10.0)
    _, high = cost_interval(missed, to_b(timed(0.0, 10.0)), mixed) or (0.0, 0.0)
    assert loss and high == pytest.approx(1_000 * loss.high * (3.75 - 0.6) / 1e6, abs=1e-10)


def test_an_edit_that_removes_one_token_counts_and_dollars_keep_ten_places() -> None:
    of = {"compactions": [1], "tokens_removed": [1], "tokens_sent": [10], "tokens_rewritten": [0],
          "cost_summary_usd": [6e-7]}  # fmt: skip
    assert payback_calls(of, FIVE, PAID) == pytest.approx(2.0)
    stated = timed(0.0, 10.0, usage=Usage(10, cache_read_tokens=0))
    uncached = msgspec.structs.replace(PAID, cache="none")
    for made, provider in ((stated, PAID), (timed(0.0, 10.0), uncached)):
        assert cost_interval({"cost_usd": [0.12345678904, None]}, made, provider) == (0.123456789, 0.123456789)
