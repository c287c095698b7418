"""What calls will need, for policies that may know it."""

from __future__ import annotations

from samples import ASK, TASK, chat

from ctxsim.simulator.ledger import Ledger
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.replay.foresight import Foresight


def test_what_calls_will_need_is_known_from_that_call_on_soonest_first() -> None:
    # Call 3 uses zebra_two of the first result, call 4 zebra_one.
    transcript = chat(
        TASK, ASK, ("tool_result", "zebra_one zebra_two"), ASK, ("tool_result", "b"),
        ("tool_call", '{"x": "zebra_two"}'), ("tool_result", "c"), ("assistant", "zebra_one"),
    )  # fmt: skip
    provider, first = Provider(), transcript.items[2]
    ahead = Foresight(Ledger(transcript, provider, provider.counter()), None)
    wanted = [ahead.wanted(number, [first]) for number in (1, 3, 4, 5)]
    assert wanted == [["zebra_two", "zebra_one"], ["zebra_two", "zebra_one"], ["zebra_one"], []]
    # Of what is left of it, what is left; of others nothing.
    assert ahead.wanted(1, [first.with_text("only zebra_one")]) == ["zebra_one"]
    assert ahead.wanted(1, [transcript.items[4]]) == []
