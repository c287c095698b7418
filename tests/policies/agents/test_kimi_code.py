"""Kimi Code, by hand."""

from __future__ import annotations

import pytest
from by_hand import SUMMARY, Driven


def test_the_users_texts_stay_before_the_summary_and_nothing_else() -> None:
    driven = Driven("kimi-code", 80_000)
    driven.user("The task.")
    driven.calls("result", used=29_997)
    # Two of the result's 6 characters: 29,999.
    assert SUMMARY not in driven.sent()
    driven.user("And now?")
    # Two more for 8 characters: 30,001.
    assert driven.sent() == ["The task.", "And now?", SUMMARY]
    assert [item.text for item in driven.asked[0]] == ["The task.", "{}", "result", "And now?"]
    assert driven.told == ["Compacted 2 items into a summary: 30,001 tokens are 30,000 or more"]


def test_a_reserve_that_is_not_below_the_window_counts_for_nothing() -> None:
    driven = Driven("kimi-code", 40_000)
    driven.user("The task.")
    driven.calls("x", used=33_998)
    assert SUMMARY not in driven.sent()
    driven.calls("x", used=33_999)
    assert SUMMARY in driven.sent()


def test_over_the_limit_the_beginning_and_the_end_of_the_users_texts_stay() -> None:
    driven = Driven("kimi-code:keep_user_tokens=20,keep_oldest_tokens=6", 80_000)
    driven.user("a" * 8)
    driven.user("é" + "b" * 80)
    driven.user("c" * 16)
    driven.calls("result", used=30_000)
    # A token is four bytes: 24 and 56 of them. The next request's estimate is the same again, so nothing happens then.
    expected = ["a" * 8, "é" + "b" * 14 + "\n[...]\n" + "b" * 40, "c" * 16, SUMMARY]
    assert driven.sent() == expected
    assert driven.sent() == expected and len(driven.asked) == 1


def test_the_summariser_gets_the_newest_items_that_fit_its_window() -> None:
    # 1,000 - 125 of output, x 0.85, less the head: 600 or 601 tokens. Two for each call, 198 or 199 for each result.
    for size, head, shown in ((792, 143, "{b{c{d"), (792, 144, "{c{d"), (796, 142, "{c{d")):
        driven = Driven("kimi-code", 1_000, head=head)
        driven.user("The task.")
        for letter in "abcd":
            driven.calls(letter * size, used=850)
        assert driven.sent() == ["The task.", SUMMARY]
        # A result isn't shown without its call.
        assert "".join(item.text[0] for item in driven.asked[0]) == shown
    huge = Driven("kimi-code", 1_000, refuses=lambda items: True, head=143)
    huge.user("The task.")
    huge.calls("a" * 2_404, used=850)
    assert huge.sent() == ["The task.", "{}", "a" * 2_404] and [len(items) for items in huge.asked] == [3]


def test_after_a_refusal_the_window_is_85_percent_of_the_requests_estimate() -> None:
    driven = Driven("kimi-code", 200_000, head=1_000)
    driven.user("x" * 36)
    driven.calls("y" * 49_996, used=60_000)
    assert SUMMARY not in driven.sent()
    assert driven.moments.retries == 3
    # 1,000 of the head, 9 of the task, 2 of the call and 12,499 of the result: 13,510, of which 85 % are 11,483.
    made = driven.refused()
    assert made is not None and [item.text for item in made] == ["x" * 36, SUMMARY]
    assert driven.threshold == pytest.approx(0.85 * 11_483)
    driven.calls("z", used=9_759)
    assert SUMMARY in driven.sent() and len(driven.asked) == 1
    driven.calls("z", used=9_760)
    assert driven.sent() == ["x" * 36, SUMMARY] and len(driven.asked) == 2


def test_what_a_compaction_left_is_not_compacted_at_once() -> None:
    driven = Driven("kimi-code", 50_010, head=1_000)
    driven.user("x" * 36)
    driven.calls("y", used=900)
    assert driven.sent() == ["x" * 36, SUMMARY]
    # It left 1,000 of the head, 9 of the task and 4 of the summary.
    driven.calls("y", used=1_012)
    assert len(driven.sent()) == 4
    driven.calls("y", used=1_013)
    assert len(driven.sent()) == 2


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a" * 50_000, "a" * 50_000),
        ("a" * 49_000 + "\n" + "b" * 1_000, "a" * 2_000 + "b" * 1_000),
        ("abc\n" * 12_501, ("abc\n" * 1_024) + "\n[...]\n" + ("abc\n" * 256)),
    ],
)
def test_a_long_result_loses_the_ends_of_lines_or_all_but_a_preview(text: str, shown: str) -> None:
    driven = Driven("kimi-code", 1_000_000)
    (place,) = driven.calls(text)
    assert driven.text(place) == shown
