"""What a call says of itself: dollars and waits with its summaries, and what was recorded of it."""

from __future__ import annotations

import msgspec
import pytest
from samples import RESULT, conversation, run

from ctxsim.simulator.provider.prices import Prices
from ctxsim.simulator.provider.rules import RateLimit
from ctxsim.transcript import Usage

PRICES = Prices(input=3.0, output=15.0)
SUMMARY = "summary:at=0.1,keep_last=1,max_tokens=20"


def test_a_summary_is_paid_beside_the_call_that_follows_it() -> None:
    calls = run(conversation(*[RESULT] * 8), SUMMARY, prices=PRICES, window=4_000)
    asked = [sent for sent in calls if sent.summary_calls]
    assert asked and len(asked) < len(calls)
    for sent in asked:
        assert sent.bill.cost is not None and sent.cost_usd is not None
        own = sum(one.cost.total for one in sent.tally.summaries if one.cost)
        assert sent.cost_summary_usd == pytest.approx(own) and own > 0
        assert sent.cost_usd - own == pytest.approx((3 * sent.tokens_sent + 15 * sent.tokens_output) / 1e6)
        assert sent.compactions == 1 and sent.edits


def test_waits_of_summaries_are_the_calls_own() -> None:
    limit = RateLimit(tokens_per_minute=1_000)
    calls = run(conversation(*[RESULT] * 8), SUMMARY, rate_limit=limit, window=4_000)
    plain = [one for one in calls if not one.summary_calls]
    assert all((one.http_429, one.wait_s) == (one.verdict.http_429, one.verdict.wait_s) for one in plain)
    waited = [one for one in calls if any(each.verdict.wait_s for each in one.tally.summaries)]
    assert waited
    for one in waited:
        asked = [each.verdict for each in one.tally.summaries]
        assert one.wait_s == pytest.approx(one.verdict.wait_s + sum(each.wait_s for each in asked))
        assert one.http_429 == one.verdict.http_429 + sum(each.http_429 for each in asked)


def test_what_was_recorded_is_told_of_the_same_request_alone() -> None:
    made = conversation("a", "b")
    first, second, third = made.calls
    calls = (
        msgspec.structs.replace(first, usage=Usage(70)),
        msgspec.structs.replace(second, usage=Usage(80), comparable=False),
        third,
    )
    found = run(msgspec.structs.replace(made, calls=calls), "keep-all")
    assert [one.tokens_recorded for one in found] == [70, None, None]


def test_calls_can_be_in_a_set() -> None:
    calls = run(conversation("a", "b"), "keep-all")
    assert len({*calls, *calls}) == 3
