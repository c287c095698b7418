"""Crush, by hand."""

from __future__ import annotations

from by_hand import SUMMARY, Driven


def test_a_fifth_of_a_small_window_is_left_at_most() -> None:
    for used, compacted in ((799, False), (800, True)):
        driven = Driven("crush", 1_000)
        driven.user("The task.")
        driven.calls("r", used=used)
        assert (SUMMARY in driven.sent()) is compacted


def test_20_000_tokens_are_left_of_a_large_one() -> None:
    for used, compacted in ((979_999, False), (980_000, True)):
        driven = Driven("crush", 1_000_000)
        driven.user("The task.")
        driven.calls("r", used=used)
        assert (SUMMARY in driven.sent()) is compacted


def test_what_was_written_to_the_cache_is_not_counted() -> None:
    driven = Driven("crush", 1_000)
    driven.user("The task.")
    driven.calls("r", used=950, written=200)
    assert SUMMARY not in driven.sent()


def test_the_first_request_is_asked_again_with_one_more_line_around_it_each_time() -> None:
    driven = Driven("crush", 1_000)
    driven.user("The task.")
    driven.calls("r", used=900)
    once = driven.sent()
    assert len(once) == 2 and once[0] == SUMMARY and "`The task.`" in once[1]
    driven.calls("r", used=900)
    assert once[1] in driven.sent()[1]


def test_without_usage_its_own_count_stands_for_it() -> None:
    driven = Driven("crush", 1_000)
    driven.user("x" * 3_600)  # 900 tokens of four bytes
    driven.calls("r", used=0)
    assert SUMMARY in driven.sent()


def test_switched_off_nothing_is_summarised() -> None:
    driven = Driven("crush:disable_auto_summarize=True", 1_000)
    driven.user("The task.")
    driven.calls("r", used=990)
    assert SUMMARY not in driven.sent()
