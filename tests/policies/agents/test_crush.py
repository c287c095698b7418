"""Crush, by hand."""

from __future__ import annotations

import pytest
from by_hand import SUMMARY, Driven

from ctxsim.transcript import Usage


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


@pytest.mark.parametrize(
    ("window", "used", "written", "compacted"),
    [
        # What the response took counts.
        (1_000, 700, 99, False), (1_000, 700, 100, True),
        # 200,000 is small: a fifth, 40,000. One more is large.
        (200_000, 159_999, 0, False), (200_000, 160_000, 0, True), (200_001, 180_000, 0, False),
        (200_001, 180_001, 0, True),
    ],
)  # fmt: skip
def test_what_is_left_by_the_window(window: int, used: int, written: int, compacted: bool) -> None:
    driven = Driven("crush", window)
    driven.user("The task.")
    driven.calls("r")
    driven.moments.after_call(Usage(used, written), driven.view[-2:-1])
    sent = driven.sent()
    assert (SUMMARY in sent) is compacted
    left = f"{window - used - written:,}"
    assert driven.told == ([f"Compacted 3 items into a summary: {left} tokens are left"] if compacted else [])


def test_once_a_run_has_ended_nothing_is_asked_again() -> None:
    driven = Driven("crush", 1_000)
    driven.user("The task.")
    driven.says("Done.", used=900)
    assert driven.sent() == [SUMMARY]
    driven = Driven("crush", 1_000)
    driven.user("The task.")
    driven.calls("r", used=900)
    driven.user("More.")
    assert driven.sent() == [SUMMARY, "More."]
    driven = Driven("crush", 1_000)
    driven.user("The task.")
    driven.says("Done.", used=900)
    driven.user("More.")
    assert driven.sent() == [SUMMARY, "More."]
