"""goose, by hand."""

from __future__ import annotations

from by_hand import SUMMARY, Driven

from ctxsim.policies.agents.goose.policy import GO_ON


def test_it_looks_only_when_the_user_speaks() -> None:
    driven = Driven("goose", 1_000)
    driven.user("One.")
    for _ in range(3):
        driven.calls("r", used=990)
        assert SUMMARY not in driven.sent()
    driven.says("Done.", used=800)
    driven.user("Two.")
    assert SUMMARY not in driven.sent(), "800 aren't over 0.8 of 1,000"
    driven.says("Done.", used=801)
    driven.user("Three.")
    assert driven.sent() == [SUMMARY, GO_ON, "Three."]


def test_the_summariser_gets_ever_fewer_responses_from_the_middle_outwards() -> None:
    # Of four: 0, then 1 (10 % of 4, at least one), 1 (20 %), 2 (50 %), 4. Middle-out: the second, third, first, fourth.
    driven = Driven("goose", 1_000, refuses=lambda items: any(item.text == "d" for item in items))
    driven.user("One.")
    for text in "abcd":
        driven.calls(text, used=100)
    driven.says("Done.", used=900)
    driven.user("Two.")
    assert SUMMARY in driven.sent()
    left = ["".join(item.text for item in asked if item.kind == "tool_result") for asked in driven.asked]
    assert left == ["abcd", "acd", "acd", "ad", ""]


def test_of_an_odd_number_the_newest_response_is_never_left_out() -> None:
    driven = Driven("goose", 1_000, refuses=lambda items: any(item.text == "c" for item in items))
    driven.user("One.")
    for text in "abc":
        driven.calls(text, used=100)
    driven.says("Done.", used=900)
    driven.user("Two.")
    assert SUMMARY not in driven.sent() and len(driven.asked) == 5


def test_a_refusal_is_mended_once_per_turn() -> None:
    driven = Driven("goose", 1_000)
    driven.user("One.")
    driven.sent()
    driven.calls("r", used=100)
    answer = driven.refused()
    assert answer is not None and [item.text for item in answer] == [SUMMARY, GO_ON, "One."]
    driven.calls("r", used=100)
    assert driven.refused() is None


def test_a_threshold_of_0_or_1_is_off() -> None:
    for threshold in (0, 1):
        driven = Driven(f"goose:auto_compact_threshold={threshold}", 1_000)
        driven.user("The task.")
        driven.says("Done.", used=1_001)
        driven.user("More.")
        assert SUMMARY not in driven.sent()


def test_the_shares_that_are_left_out() -> None:
    driven = Driven("goose", 1_000, refuses=lambda items: True)
    driven.user("One.")
    driven.calls(*["r"] * 100)
    driven.says("Done.", used=900)
    driven.user("Two.")
    assert SUMMARY not in driven.sent()
    shown = [sum(item.kind == "tool_result" for item in asked) for asked in driven.asked]
    assert shown == [100, 90, 80, 50, 0]


def test_without_usage_its_own_count_decides() -> None:
    for size, compacted in ((795, False), (796, True)):
        driven = Driven("goose:estimator=chars:ratio=1", 1_000)
        driven.user("x" * size)
        driven.says("y")
        driven.user("Two.")  # 800 of 1,000 are not over 0.8
        assert (SUMMARY in driven.sent()) is compacted
        told = "Compacted 2 items into a summary: 801 tokens are over 80% of the window"
        assert driven.told == ([told] if compacted else [])


def test_a_refusal_keeps_the_users_last_text_and_nothing_where_there_is_none() -> None:
    driven = Driven("goose", 1_000)
    driven.user("One.")
    driven.says("Done.")
    driven.user("Two.")
    driven.calls("r")
    answer = driven.refused()
    assert answer is not None and [item.text for item in answer] == [SUMMARY, GO_ON, "Two."]
    driven = Driven("goose", 1_000)
    driven.calls("r")
    answer = driven.refused()
    assert answer is not None and [item.text for item in answer] == [SUMMARY, GO_ON]
