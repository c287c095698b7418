"""Qwen Code, by hand."""

from __future__ import annotations

import json

from by_hand import SUMMARY, Driven

from ctxsim.policies.agents.qwen_code.policy import ACKNOWLEDGED
from ctxsim.transcript import CLEARED


def test_33_000_tokens_are_kept_free_of_a_small_window() -> None:
    # 80,000 - 33,000 = 47,000. A pending result of 3,936 characters counts (3,936 + 64) / 4 = 1,000.
    for used, compacted in ((45_999, False), (46_000, True)):
        driven = Driven("qwen-code", 80_000)
        driven.user("The task.")
        driven.calls("x" * 3_936, used=used)
        assert (SUMMARY in driven.sent()) is compacted


def test_a_pending_call_and_its_result_stay_behind_the_summary() -> None:
    driven = Driven("qwen-code", 80_000)
    driven.user("The task.")
    driven.calls("one", used=100)
    driven.calls("two", "three", used=60_000)
    assert driven.sent() == [SUMMARY, ACKNOWLEDGED, "{}", "{}", "two", "three"]
    assert "two" in [item.text for item in driven.asked[0]], "the summariser sees them all the same"


def test_after_a_refusal_the_result_is_in_the_summary_alone() -> None:
    driven = Driven("qwen-code", 80_000)
    driven.user("The task.")
    driven.calls("one", used=100)
    for _ in range(3):
        driven.calls("two", used=100)
        answer = driven.refused()
        assert answer is not None and [item.text for item in answer] == [SUMMARY, ACKNOWLEDGED]


def test_files_that_were_read_last_come_again() -> None:
    driven = Driven("qwen-code:max_recent_files_to_retain=1", 80_000)
    driven.user("The task.")
    for name in ("a", "b"):
        driven.calls(f"content of {name}", tool="read_file", used=100, arguments=json.dumps({"path": name}))
    driven.says("Done.", used=60_000)
    driven.user("More.")
    assert driven.sent() == [SUMMARY, ACKNOWLEDGED, "content of b", "More."]


def test_idle_is_the_time_between_two_requests() -> None:
    driven = Driven("qwen-code:tool_results_num_to_keep=1", 200_000)
    driven.user("The task.")
    for number in range(2):
        driven.calls(f"result {number}", used=100)
    for now, cleared in ((0, 0), (3_000, 0), (3_700, 0), (7_299, 0), (10_899, 1)):
        driven.sees.now_s = now
        assert driven.sent().count(CLEARED) == cleared, now
    few = Driven("qwen-code:tool_results_num_to_keep=3", 200_000)
    few.user("The task.")
    few.calls("one", "two", used=100)
    few.sent()
    few.sees.now_s = 3_600
    assert CLEARED not in few.sent(), "fewer than may stay"


def test_of_the_items_that_wait_the_last_response_stays_with_its_text_and_its_calls() -> None:
    driven = Driven("qwen-code", 80_000)
    driven.user("The task.")
    driven.says("First.", used=100)
    driven.calls("one", used=60_000, said="I look.")
    assert driven.sent() == [SUMMARY, ACKNOWLEDGED, "I look.", "{}", "one"]
    assert driven.told == ["Compacted 2 items into a summary: 60,017 tokens are 47,000 or more"]
    alone = Driven("qwen-code", 80_000)
    alone.user("The task.")
    alone.calls("one", used=60_000)
    assert alone.sent() == [SUMMARY, ACKNOWLEDGED, "{}", "one"]


def test_after_three_failures_it_goes_on_above_the_hard_limit_until_it_succeeds() -> None:
    # Of 80,000 it begins at 47,000; the hard limit is 80,000 - 20,000 - 3,000. A result of 1 counts (1 + 64) / 4 = 17.
    refusing = True
    driven = Driven("qwen-code", 80_000, refuses=lambda items: refusing)
    driven.user("The task.")
    for used, asked in ((50_000, 3), (56_982, 3), (56_983, 6)):
        for _ in range(3):
            driven.calls("r", used=used)
            assert SUMMARY not in driven.sent()
        assert len(driven.asked) == asked
    refusing = False
    assert SUMMARY in driven.sent()
    driven.calls("r", used=50_000)
    driven.sent()
    assert len(driven.asked) == 8, "the count begins again"
