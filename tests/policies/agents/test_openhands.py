"""OpenHands, by hand."""

from __future__ import annotations

from by_hand import SUMMARY, Driven

from ctxsim.policies.agents.openhands.policy import events


def test_a_call_with_its_text_is_one_event() -> None:
    driven = Driven("keep-all", 1_000)
    driven.user()
    driven.says("I look.")
    driven.calls("one", "two")
    assert [len(event) for event in events(list(driven.view))] == [1, 1, 1, 1, 1, 1]


def test_over_its_number_of_events_the_middle_becomes_a_summary() -> None:
    # Ten events may be. With the system prompt, the task and five exchanges there are twelve: the tail is
    # 10 // 2 - 2 - 1 = 2 of them.
    driven = Driven("openhands:max_size=10,keep_first=2", 100_000, head=10)
    driven.user("The task.")
    for number in range(4):
        driven.calls(f"result {number}")
        assert SUMMARY not in driven.sent()
    driven.calls("result 4")
    assert driven.sent() == ["The task.", SUMMARY, "{}", "result 4"]


def test_a_cut_never_parts_calls_from_their_results() -> None:
    # A tail of two events would begin with the second of three parallel results; it begins behind them.
    driven = Driven("openhands:max_size=10,keep_first=2", 100_000, head=10)
    driven.user("The task.")
    for _ in range(2):
        driven.calls("a", "b", "c")
    assert driven.sent() == ["The task.", SUMMARY]


def test_too_many_tokens_leave_half_of_the_limit() -> None:
    # "word " is a token: five exchanges of 103 with the call's, 515 and the task over 500. 250 and more must go, but
    # for the first two events: three exchanges.
    driven = Driven("openhands:max_tokens=500,keep_first=2", 100_000, head=1)
    driven.user("The task.")
    for _ in range(5):
        driven.calls("word " * 100)
    assert driven.sent() == ["The task.", SUMMARY, *["{}", "word " * 100] * 2]


def test_less_than_a_tenth_is_not_worth_it_unless_the_request_was_refused() -> None:
    # The first three events end within a response: the first legal cut behind them is the end.
    driven = Driven("openhands:max_size=12,keep_first=3", 100_000, head=10)
    driven.user("The task.")
    driven.calls(*"abcdef")
    assert SUMMARY not in driven.sent()
    answer = driven.refused()
    assert answer is not None and [item.text for item in answer] == [SUMMARY]
