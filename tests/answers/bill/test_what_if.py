"""What-ifs: each is the replay that it says it is."""

from __future__ import annotations

import msgspec
import pytest
from samples import basis_of, conversation, run

from ctxsim.answers.bill.what_if import IDLE, PINGS, Otherwise, Outcome, large_tools, otherwise, savings, without
from ctxsim.policies import open_policy
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.prices import Prices
from ctxsim.transcript import Transcript

PRICED = Provider(
    cache="anthropic", vendor="anthropic", framing="anthropic", breakpoints="automatic", model="claude-sonnet-4-5",
    prices=Prices(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75, cache_write_long=6.0),
)  # fmt: skip

BIG = "the value of key 4711 is xyzzy-plugh\n" * 400


def timed(transcript: Transcript, *seconds: float) -> Transcript:
    calls = tuple(
        msgspec.structs.replace(call, time_s=time) for call, time in zip(transcript.calls, seconds, strict=True)
    )
    return msgspec.structs.replace(transcript, calls=calls)


def test_large_results_of_a_tool_never_come_in() -> None:
    made = conversation(BIG, "small", BIG)
    sent = run(made, "without:tool=tool,bytes=10240")
    texts = [item.text for item in sent[-1].view if item.kind == "tool_result"]
    size = len(BIG)
    assert texts == [f"[a result of {size} bytes was left out]", "small", f"[a result of {size} bytes was left out]"]
    other = run(made, "without:tool=other")
    assert other[-1].tokens_sent == run(made, "keep-all")[-1].tokens_sent
    assert without("tool", 10_240).label == open_policy("without:tool=tool").label


def test_a_limit_is_in_bytes_and_not_over_itself() -> None:
    assert large_tools(conversation("ö" * 10), 19) == ["tool"]
    assert large_tools(conversation("ö" * 10), 20) == []


def test_without_a_tool_is_that_policys_bill() -> None:
    made = conversation(BIG, "small")
    found = otherwise(basis_of(made, PRICED), 10_240)
    label = "without:tool=tool,bytes=10240"
    replayed = run(made, label, **{name: getattr(PRICED, name) for name in PRICED.__struct_fields__})
    assert found.then[label].usd == pytest.approx(sum(one.cost_usd or 0.0 for one in replayed))
    assert (found.now.usd or 0.0) > (found.then[label].usd or 0.0) > 0


def test_idle_time_costs_what_has_to_be_written_again() -> None:
    # Ten minutes between calls: the default lifetime of five has passed each time, an hour has not.
    made = timed(conversation(BIG, BIG, BIG), 0, 600, 1200, 1800)
    found = otherwise(basis_of(made, PRICED), 1 << 30)
    idle, longer = found.then[IDLE].usd or 0.0, found.then["cache for 60 minutes"].usd or 0.0
    assert idle < longer < (found.now.usd or 0.0)
    # Without any gap a longer life only costs more to write.
    busy = otherwise(basis_of(timed(made, 0, 1, 2, 3), PRICED), 1 << 30)
    assert busy.then[IDLE].usd == busy.now.usd == pytest.approx(idle)
    assert (busy.then["cache for 60 minutes"].usd or 0.0) > (busy.now.usd or 0.0)


def test_pings_cost_a_read_each_and_spare_the_writing() -> None:
    made = conversation(BIG, BIG, BIG)
    # Ten minutes: pings after 4.5 and 9, and one minute later the next request finds everything.
    found = otherwise(basis_of(timed(made, 0, 600, 1200, 1800), PRICED), 1 << 30)
    rows = basis_of(made, PRICED).keep_all.rows
    reads = sum(2 * (0.3 * row.tokens_sent + 15) / 1e6 for row in rows[:3] if row.tokens_sent >= 1024)
    assert found.then[PINGS].usd == pytest.approx((found.then[IDLE].usd or 0.0) + reads)
    assert (found.then[PINGS].usd or 0.0) < (found.now.usd or 0.0)
    # Writing costs 3.75, reading 0.3 for each token: after (3.75 - 0.3) / 0.3 = 11 pings it isn't worth another.
    night = otherwise(basis_of(timed(made, 0, 1, 2, 36_000), PRICED), 1 << 30)
    lost = 11 * (0.3 * rows[2].tokens_sent + 15) / 1e6
    assert night.then[PINGS].usd == pytest.approx((night.now.usd or 0.0) + lost)


def test_no_pause_and_no_times_need_no_ping() -> None:
    made = conversation(BIG, BIG)
    assert PINGS not in otherwise(basis_of(timed(made, 0, 269, 538), PRICED), 1 << 30).then
    assert PINGS not in otherwise(basis_of(made, PRICED), 1 << 30).then


def test_without_prices_or_cache_nothing_is_said_of_dollars() -> None:
    made = timed(conversation(BIG), 0, 600)
    found = otherwise(basis_of(made, Provider()), 10_240)
    assert found.now.usd is None and list(found.then) == ["without:tool=tool,bytes=10240"]
    assert savings([found]) == []


def test_savings_are_shares_of_the_whole_bill() -> None:
    # 10 becomes 4, and 30 stays: 34 of 40. Kept: 0.5 and 1.0; a transcript without needs says nothing.
    one = Otherwise(Outcome(10.0, 1.0), {"a": Outcome(4.0, 0.5), "b": Outcome(9.0, None)})
    two = Otherwise(Outcome(30.0, 1.0), {})
    three = Otherwise(Outcome(None, None), {"a": Outcome(None, 0.0)})
    first, second = savings([one, two, three])
    assert (first.name, first.transcripts, first.usd, first.share, first.kept) == ("a", 1, 34.0, 0.85, 0.75)
    assert (second.name, second.share, second.kept) == ("b", 39 / 40, 1.0)
