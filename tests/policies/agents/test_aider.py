"""aider, by hand."""

from __future__ import annotations

from by_hand import SUMMARY, Driven

WORDS = "word " * 50  # 51 tokens


def test_the_finished_part_alone_counts_and_only_when_the_user_speaks() -> None:
    driven = Driven("aider:max_chat_history_tokens=60", 1_000_000)
    driven.user("One.")
    driven.calls(WORDS, WORDS)
    assert SUMMARY not in driven.sent()
    driven.says("Done.")
    driven.user("Two.")
    assert driven.sent() == [SUMMARY, "Two."]


def test_about_half_of_the_budget_stays() -> None:
    # A turn is about 54 tokens, seven are over 350. Less than 175 may stay: three turns and a response, whose question
    # comes along: what is old ends with a response.
    driven = Driven("aider:max_chat_history_tokens=350", 1_000_000)
    for number in range(8):
        driven.user(WORDS + str(number))
        if number < 7:
            assert SUMMARY not in driven.sent()
            driven.says("Done.")
    sent = driven.sent()
    assert sent[0] == SUMMARY and [text[-1] for text in sent[1:]] == ["3", ".", "4", ".", "5", ".", "6", ".", "7"]


def test_what_the_summariser_has_no_room_for_is_lost() -> None:
    # 632 less 512 are 120: room for two turns of the three that go.
    driven = Driven("aider:max_chat_history_tokens=350,summarizer_tokens=632", 1_000_000)
    for number in range(8):
        driven.user(WORDS + str(number))
        driven.sent()
        if number < 7:
            driven.says("Done.")
    (asked,) = driven.asked
    assert [item.text[-1] for item in asked if item.kind == "user"] == ["0", "1"]
    assert SUMMARY in driven.sent() and WORDS + "2" not in driven.sent()


def test_the_budget_is_a_sixteenth_of_the_window_within_bounds() -> None:
    for window, tokens in ((1_000, 1_024), (64_000, 4_000), (1_000_000, 8_192)):
        for over in (-60, 10):
            driven = Driven("aider", window)
            driven.user("word " * (tokens + over))
            driven.says("Done.")
            driven.user("Two.")
            assert (SUMMARY in driven.sent()) is (over > 0)
