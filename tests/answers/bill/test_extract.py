"""What is extracted of a recording for a bill: who used older results, and what large results there are."""

from __future__ import annotations

import msgspec
import pytest
from samples import ASK, TASK, chat

from ctxsim.answers.bill.changes import Effect
from ctxsim.answers.bill.extract import LARGE, facts_of
from ctxsim.answers.bill.facts import Large, Session
from ctxsim.answers.bill.offers import Offer
from ctxsim.transcript import Usage


def session(*turns: tuple[str, str], tokens: int = 1_000) -> Session:
    """Each call with 100 more tokens than the one before."""
    made = chat(*turns)
    calls = tuple(
        msgspec.structs.replace(call, usage=Usage(tokens + 100 * n, 5), model="gpt-4.1")
        for n, call in enumerate(made.calls)
    )
    found = facts_of(msgspec.structs.replace(made, calls=calls))
    return found


def test_uses_of_what_is_a_call_old_or_older_are_counted_where_they_are_and_on_the_way() -> None:
    found = session(
        TASK, ASK, ("tool_result", "key abc12345 here"), ASK, ("tool_result", "value zz99887 now"),
        ("assistant", "It is abc12345 with zz99887."), ("user", "And?"), ("assistant", "Still abc12345."),
    )  # fmt: skip
    # The third response uses a result of the first call; what came right before it is fresh. The fourth uses what the
    # third has said since: nothing of a result alone.
    assert [one.needs for one in found.responses] == [0, 0, 1, 0]
    assert [one.crossing for one in found.responses] == [0, 1, 1, 0]
    assert [one.turn for one in found.responses] == [False, False, False, True] and found.uses == {"read": 2}


def test_large_results_are_told_with_their_calls_and_uses() -> None:
    text = "word " * (2 * LARGE) + "key abc12345 here"
    found = session(
        TASK, ASK, ("tool_result", text), ASK, ("tool_result", "small"), ("assistant", "It is abc12345."),
        tokens=3 * LARGE,
    )  # fmt: skip
    (one,) = found.large
    assert found.parts[one.part] == "results of read" and one.tokens > LARGE
    assert one == Large(1, 3, one.tokens, one.part, 1)


@pytest.mark.parametrize(("keeps", "effect", "words"), [
    (True, Effect(2, 20, 1), "keeps 95% at least"), (True, Effect(2, 20, 40), "keeps 0% at least"),
    (True, Effect(), "keeps 100% at least"), (True, Effect(2, 400, 1), "keeps 99% at least"),
    (False, Effect(2, 20, 1), "2 of 20, 10%"), (False, Effect(), "0 of 0, 0%"),
])  # fmt: skip
def test_an_offer_says_what_it_costs(keeps: bool, effect: Effect, words: str) -> None:
    offer = Offer("x", 1, lambda session, requests, effect: requests, "", keeps=keeps,
                  told="{times} of {chances}, {share:.0%}")  # fmt: skip
    assert offer.loses(effect) == words
