"""Policies of frameworks on conversations small enough to do in the head."""

from __future__ import annotations

import pytest
from by_hand import SUMMARY, Driven

from ctxsim.policies.foreign.shortener import Shorten, shortener
from ctxsim.policies.frameworks.strands.adapter import FRAMEWORK as STRANDS
from ctxsim.transcript import Usage


def test_haystack_keeps_the_newest_steps_that_fit() -> None:
    # By four characters the task is 10 tokens, a step 102: a call of 1 and 1, a result of 100. From 700 on 400 stay.
    driven = Driven("haystack-sliding:estimator=chars", 1_000)
    driven.user("t" * 40)
    for number in range(6):
        driven.calls(str(number) * 400)
    assert len(driven.sent()) == 13, "622 tokens"
    driven.calls("6" * 400)
    # 724. Behind the task 390 are free: three steps (306), not four (408).
    task, note, *steps = driven.sent()
    assert task == "t" * 40 and note.startswith("[8 earlier messages were removed")
    assert [text[0] for text in steps] == ["{", "4", "{", "5", "{", "6"]


def test_haystack_keeps_whole_turns_where_the_newest_steps_leave_room() -> None:
    # Four turns of 165 tokens: a task of 10, a step of 105 (1, 1 and 103), an answer of 50. The newest task is 10.
    driven = Driven("haystack-sliding:estimator=chars", 1_000)
    for number in range(4):
        driven.user(f"{number}" * 40)
        driven.calls("r" * 412)
        driven.says("a" * 200)
    driven.user("n" * 40)
    assert len(driven.sent()) == 17, "670 tokens"
    driven.calls("z" * 112)
    # 700. The newest task and its step (30) leave 360 of 400: two turns.
    note, *kept = driven.sent()
    assert note.startswith("[8 earlier messages were removed")
    assert [text[0] for text in kept] == [*"2{ra", *"3{ra", *"n{z"]


def test_openhands_condenses_half_of_the_events_after_a_refusal() -> None:
    # The task is an event, a call with its result two: 21. Half of them is 10, less the 3 first and the summary: 6 stay
    # at the end, calls 8 to 10. At the beginning the task and call 1 are 3.
    driven = Driven("openhands-condenser:keep_first=3", 1_000)
    driven.user("The task.")
    for number in range(1, 11):
        driven.calls(f"result {number}")
    assert driven.refused() is not None
    tail = [text for number in (8, 9, 10) for text in ("{}", f"result {number}")]
    assert driven.sent() == ["The task.", "{}", "result 1", SUMMARY, *tail]


@pytest.mark.parametrize("label", ["openhands", "openhands-condenser"])
def test_openhands_summarizes_everything_where_too_little_may_leave_and_too_many_tokens_are_sent(label: str) -> None:
    # The task alone is over 500, and it is the second event, which stays.
    driven = Driven(f"{label}:max_tokens=500,keep_first=2,estimator=chars:ratio=1", 1_000, head=1)
    driven.user("t" * 600)
    assert driven.sent() == [SUMMARY]


def test_inspect_counts_all_that_came_after_what_was_reported() -> None:
    # 500 were reported of the task, a call and its result; 800 characters more are 200: at 700 nothing happens yet.
    for more, left in ((800, 4), (804, 2)):
        driven = Driven("inspect-trim:at=700,preserve=0.1,estimator=chars", 10_000)
        driven.user("Do.")
        driven.calls("r")
        # The response to this request was empty.
        driven.moments.after_call(Usage(500, 0), [])
        driven.user("x" * more)
        # Nine tenths of the three messages behind the task are two.
        assert len(driven.sent()) == left


def test_an_adapter_sends_a_refused_request_again_as_often_as_its_framework() -> None:
    # A policy of foreign code doesn't say by itself how often.
    cls = shortener("strands:Any", "", (), lambda policy: Shorten(lambda messages, context: messages), False, False, 9)
    assert cls().retries == 9
    assert STRANDS.retries == Driven("strands-sliding", 1_000).moments.retries


@pytest.mark.parametrize(("size", "summaries"), [(6, 1), (7, 2)])
def test_adk_summarizes_again_only_what_is_longer_than_the_summary_before(size: int, summaries: int) -> None:
    # The summary has 14 characters; beside it leave the first task's 6 or 7, and those of another.
    driven = Driven("adk-compact:token_threshold=1,event_retention_size=1", 1_000)
    driven.user("t" * 20)
    driven.says("a")
    assert driven.sent() == [SUMMARY, "a"]
    driven.user("u" * size)
    driven.says("b" * size)
    driven.user("v")
    driven.sent()
    assert len(driven.asked) == summaries
