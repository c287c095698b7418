"""OpenHands, by hand."""

from __future__ import annotations

import pytest
from by_hand import SUMMARY, Driven

from ctxsim.policies.agents.openhands.policy import events
from ctxsim.transcript import Item


def test_a_call_with_its_text_is_one_event() -> None:
    driven = Driven("keep-all", 1_000)
    driven.user()
    driven.says("I look.")
    driven.calls("one", "two")
    assert [len(event) for event in events(list(driven.view))] == [1, 1, 1, 1, 1, 1]
    driven.calls("one", "two", said="I look.")
    driven.says("Done.")
    assert [len(event) for event in events(list(driven.view))[6:]] == [2, 1, 1, 1, 1]
    thought = Item("reasoning", 0, 0, "hm"), Item("assistant", 1, 0, "I look."), Item("tool_call", 2, 0, "{}", "bash")
    assert [len(event) for event in events(thought)] == [3] and events([]) == []


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


def test_less_than_a_tenth_is_not_worth_it_unless_the_request_was_refused() -> None:
    # The first three events end within a response: the first legal cut behind them is the end.
    driven = Driven("openhands:max_size=12,keep_first=3", 100_000, head=10)
    driven.user("The task.")
    driven.calls(*"abcdef")
    assert SUMMARY not in driven.sent()
    answer = driven.refused()
    assert answer is not None and [item.text for item in answer] == [SUMMARY]


def steps(options: str, count: int, head: int, task: int = 10, last: str = "") -> Driven:
    """By the character: a task, calls that are 6 with results of 94, and a text of the user at the end."""
    driven = Driven(f"openhands:{options},estimator=chars:ratio=1", 100_000, head=head)
    driven.user("t" * task)
    for number in range(count):
        driven.calls(f"{number}" * 94)
    if last:
        driven.user(last)
    return driven


def shown(driven: Driven) -> str:
    """What is sent: the first character of each text but of calls."""
    return "".join("S" if text == SUMMARY else text[0] for text in driven.sent() if text != "{}")


@pytest.mark.parametrize(
    ("limit", "head", "sent"),
    [
        (510, 0, "t01234"),
        # Of 509 half are 254: 256 must go, from behind the first two events, or the first one where there is no prompt.
        (509, 0, "t0S34"),
        # 300 are met with the third result, 301 with the call behind it: what begins with a result begins behind it.
        (500, 1, "tS34"), (500, 40, "tS34"), (500, 41, "tS4"),
    ],
)  # fmt: skip
def test_so_few_events_leave_that_half_of_the_tokens_stay(limit: int, head: int, sent: str) -> None:
    assert shown(steps(f"max_tokens={limit},keep_first=2", 5, head)) == sent


def test_a_task_that_is_too_large_leaves_nothing_behind_the_summary() -> None:
    assert shown(steps("max_tokens=500,keep_first=2", 1, 1, task=1_000, last="New.")) == "tS"


def test_where_the_first_event_alone_is_the_system_prompt_the_task_is_summarised_too() -> None:
    driven = steps("max_tokens=500,keep_first=1", 5, 40)
    assert shown(driven) == "S34"
    assert driven.told == ["Compacted 7 items into a summary: 12 events, 550 tokens"]


@pytest.mark.parametrize(("first", "sent"), [(2, "tSn"), (3, "t0Sn"), (4, "t0S")])
def test_the_tail_is_half_of_the_events_less_what_stands_before_it(first: int, sent: str) -> None:
    # With the system prompt eleven events, of which ten may be. Half of ten less the first and one are 2, 1 and none.
    assert shown(steps(f"max_size=10,keep_first={first}", 4, 10, last="new")) == sent


@pytest.mark.parametrize(("users", "worth"), [(2, True), (3, False)])
def test_a_tenth_of_the_events_is_worth_it(users: int, worth: bool) -> None:
    # What stays at the beginning ends behind seven parallel calls: but for one, two events are left to go, of 20 or 21.
    driven = Driven("openhands:max_size=14,keep_first=5", 100_000, head=10)
    for _ in range(users):
        driven.user("u")
    driven.calls(*"abcdefg")
    for text in ("one", "two", "new"):
        driven.user(text)
    assert (driven.sent()[-2:] == [SUMMARY, "new"]) is worth


def test_the_summariser_gets_500_characters_of_each_event() -> None:
    driven = Driven("openhands", 100_000)
    driven.user("u" * 501)
    driven.calls("r" * 501)
    assert driven.refused() is not None
    assert [len(item.text) for item in driven.asked[0]] == [500, 2, 500]


def test_few_events_within_one_response_become_a_summary_after_a_refusal() -> None:
    driven = Driven("openhands:keep_first=3", 100_000, head=10)
    driven.user("The task.")
    driven.calls("a", "b")
    answer = driven.refused()
    assert answer is not None and [item.text for item in answer] == [SUMMARY]
    assert driven.told == ["Compacted 5 items into a summary: the provider refused: window exceeded"]


def test_a_conversation_that_begins_with_calls_is_not_cut_within_them() -> None:
    driven = Driven("openhands:max_size=6,keep_first=1", 100_000)
    driven.calls("a", "b")
    for letter in "cd":
        driven.calls(letter)
    assert driven.sent() == ["{}", "{}", "a", "b", SUMMARY]
