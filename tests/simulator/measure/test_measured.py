"""One transcript under one policy: what is told on the way and shared with keep-all; errors of calls no fit saw."""

from __future__ import annotations

import msgspec
import pytest
from samples import basis_of, conversation, summarized

from ctxsim.policies import open_policy
from ctxsim.simulator.measure import measured
from ctxsim.simulator.measure.measured import Size, measure
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.prices import Prices
from ctxsim.transcript import UNLOGGED, Media, Usage

PRICES = Prices(input=1.0, output=1.0)
LONG = "zebra_one " + "word " * 300


def test_how_far_it_is_is_told_after_so_many_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "TOLD_CALLS", 2)
    told: list[int] = []
    basis = basis_of(conversation("a", "b", "c", "d"))
    measure(basis, open_policy("keep-all"), told.append)
    # Five calls: after the second and the fourth.
    assert told == [2, 4]
    measure(basis, open_policy("mask:keep=1"))
    assert told == [2, 4], "nobody is told any more"


def test_what_all_policies_have_in_common_is_shared() -> None:
    basis = basis_of(conversation(LONG, LONG, "c"), Provider(prices=PRICES))
    kept, masked = (measure(basis, open_policy(label)) for label in ("keep-all", "mask:keep=1"))
    # The second result makes it replace the first, before call 3.
    assert kept.events == []
    assert [(event.call, event.item, event.action) for event in masked.events] == [(3, 2, "edited"), (4, 4, "edited")]
    assert masked.calls["tokens_full"] is kept.calls["tokens_full"]


def test_media_that_no_log_holds_are_hidden_tokens() -> None:
    made = conversation("a", "b")
    media = (Media(UNLOGGED, 5), Media("image", 11)), (Media(UNLOGGED, 7),)
    items = [msgspec.structs.replace(item, media=media[at]) for at, item in enumerate(made.items[1:3])]
    made = msgspec.structs.replace(made, items=(made.items[0], *items, *made.items[3:]))
    assert basis_of(made).against_recorded["tokens_hidden"] == 5 + 7


def test_errors_of_calls_that_no_fit_saw() -> None:
    # Of 1 to 20 %: half of them are at most 10 %, 95 % of them at most 19 %.
    errors = tuple(percent / 100 for percent in range(20, 0, -1))
    assert Size("fitted", later_errors=errors).unseen() == {
        "calls_unseen": 20, "unseen_median": 0.1, "unseen_p95": 0.19,
    }  # fmt: skip
    assert Size("counted").unseen() == {"calls_unseen": None, "unseen_median": None, "unseen_p95": None}


def test_a_bound_that_loses_something_fetches_nothing_again() -> None:
    asked = conversation(LONG, "b", "c", "zebra_one " + "d")
    row = summarized(asked, "drop-all", Provider(prices=PRICES))
    assert (row.calls_refetched, row.cost_refetch_usd, row.survival) == (0, 0, None), "nothing is needed here"
    from closed_loop import ONE

    row = summarized(ONE, "drop-all", Provider(prices=PRICES))
    assert row.survival == 0
    assert (row.calls_refetched, row.calls_refetched_changed, row.tokens_refetch, row.cost_refetch_usd) == (None,) * 4


def test_dollars_are_compared_where_requests_are() -> None:
    # The second request isn't as it was sent: neither its tokens nor its dollars are recorded of it.
    made = conversation("a", "b")
    calls = [
        msgspec.structs.replace(call, usage=Usage(9, 1, cost_usd=usd), comparable=usd != 2.0)
        for call, usd in zip(made.calls, (1.0, 2.0, 4.0), strict=True)
    ]
    found = basis_of(msgspec.structs.replace(made, calls=tuple(calls))).against_recorded
    assert (found["calls_recorded"], found["cost_recorded_usd"]) == (2, 5.0)
