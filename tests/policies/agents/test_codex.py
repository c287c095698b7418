"""Codex, by hand."""

from __future__ import annotations

from by_hand import SUMMARY, Driven

from ctxsim.policies.agents.codex.policy import middle_truncated


def test_a_long_output_loses_its_middle_by_bytes() -> None:
    # 12 bytes to 4: two at each end, eight between are ceil(8 / 4) = 2 tokens. An é has two bytes and isn't halved.
    assert middle_truncated("abcdefghijkl", 4) == "ab…2 tokens truncated…kl"
    assert middle_truncated("aébcdefghéz!", 4) == "a…3 tokens truncated…z!"
    assert middle_truncated("abcd", 4) == "abcd"


def test_what_a_recording_holds_is_not_cut_again() -> None:
    cut = middle_truncated("x" * 50_000, 10_000)
    driven = Driven("codex", 100_000)
    driven.user()
    (place,) = driven.calls(cut)
    assert driven.text(place) == cut
    (whole,) = driven.calls("y" * 50_000)
    assert len(driven.text(whole)) < 10_100


def test_users_texts_and_a_summary_are_all_that_stays() -> None:
    driven = Driven("codex", 1_000)
    driven.user("The task.")
    driven.calls("result one", used=100)
    driven.says("Half done.", used=950)
    driven.user("And now?")
    # 950 of 1,000 are over 0.9: before the new text, which comes after the summary.
    assert driven.sent() == ["The task.", SUMMARY, "And now?"]


def test_a_text_of_the_user_is_not_counted_before_its_turn() -> None:
    driven = Driven("codex", 1_000)
    driven.user("The task.")
    driven.says("Done.", used=600)
    driven.user("word " * 400)  # 2,000 bytes: 500 tokens and more
    assert SUMMARY not in driven.sent()
    driven.calls("r", used=860)
    driven.calls("word " * 40, used=870)  # the same as a result: 870 + 200 bytes / 4 and fields
    assert SUMMARY in driven.sent()


def test_the_newest_texts_stay_within_their_limit_and_the_one_that_crosses_loses_its_middle() -> None:
    driven = Driven("codex:keep_user_tokens=10", 1_000)
    driven.user("first " * 10)
    driven.says(used=100)
    driven.user("a" * 40)  # 10 tokens, of which 7 are left
    driven.says(used=100)
    driven.user("b" * 12)  # 3 tokens
    driven.calls("r", used=950)
    assert driven.sent() == [f"{'a' * 14}…3 tokens truncated…{'a' * 14}", "b" * 12, SUMMARY]


def test_a_summary_request_that_overflows_loses_its_oldest_item_again_and_again() -> None:
    driven = Driven("codex", 1_000, refuses=lambda items: len(items) > 3)
    driven.user("The task.")
    driven.calls("one", used=100)
    driven.calls("two", used=950)
    assert driven.sent() == ["The task.", SUMMARY]
    # The task first, then a call with its result: 5, 4, 2 items.
    assert [len(items) for items in driven.asked] == [5, 4, 2]


def test_a_refused_request_ends_the_turn() -> None:
    driven = Driven("codex", 1_000)
    driven.user()
    driven.calls("r", used=100)
    assert driven.refused() is None


def test_a_limit_may_be_beside_the_first_request() -> None:
    # The first request had 300 tokens: 400 more are 700. After the summary the next request is the first.
    driven = Driven(
        "codex:model_auto_compact_token_limit=400,model_auto_compact_token_limit_scope=body_after_prefix", 1_000
    )
    driven.user("The task.")
    driven.calls("r", used=300)
    driven.calls("r", used=600)
    assert SUMMARY not in driven.sent()
    driven.calls("r", used=700)
    assert SUMMARY in driven.sent()
    driven.calls("r", used=500)
    driven.calls("r", used=800)
    assert len(driven.asked) == 1
    driven.sent()
    assert len(driven.asked) == 1, "500 + 400 are more than 800 and a result"
    driven.calls("r", used=890)
    driven.sent()
    assert len(driven.asked) == 2
