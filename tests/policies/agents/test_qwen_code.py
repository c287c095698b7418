"""Qwen Code, by hand."""

from __future__ import annotations

import json

from by_hand import SUMMARY, Driven

from ctxsim.policies.agents.qwen_code.policy import ACKNOWLEDGED
from ctxsim.policies.agents.shared.cuts import CLEARED


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


def test_three_failures_in_a_row_are_enough() -> None:
    driven = Driven("qwen-code", 80_000, refuses=lambda items: True)
    driven.user("The task.")
    for _ in range(6):
        driven.calls("r", used=60_000)
        assert SUMMARY not in driven.sent()
    assert len(driven.asked) == 3


def test_an_idle_hour_clears_all_but_the_newest_five_results() -> None:
    driven = Driven("qwen-code", 200_000)
    driven.user("The task.")
    for number in range(6):
        driven.calls(f"result {number}", used=100)
    driven.sent()
    driven.sees.now_s = 3_600
    assert driven.sent().count(CLEARED) == 1
