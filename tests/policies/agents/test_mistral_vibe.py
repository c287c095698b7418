"""Mistral Vibe, by hand."""

from __future__ import annotations

import pytest
from by_hand import SUMMARY, Driven

from ctxsim.transcript import Usage


def test_the_threshold_is_upstreams() -> None:
    assert Driven("mistral-vibe", 80_000).threshold == 64_000
    assert Driven("mistral-vibe:auto_compact_threshold=50000", 80_000).threshold == 50_000
    assert Driven("mistral-vibe:auto_compact_threshold=80000", 80_000).threshold == 64_000, "it could never fire"
    assert Driven("mistral-vibe:auto_compact_threshold=0", 80_000).threshold is None, "0 is never"


def test_usage_with_its_output_decides_and_the_prompt_that_begins_a_turn_is_kept_among_the_earlier_ones() -> None:
    driven = Driven("mistral-vibe", 1_000)
    driven.user("The task.")
    driven.calls("A result.")
    driven.sees.usage = Usage(790, 9)
    assert SUMMARY not in driven.sent(), "799 of 800"
    driven.sees.usage = Usage(790, 10)
    driven.user("And now this.")
    assert driven.sent() == ["The task.", "And now this.", SUMMARY]


def test_user_texts_stay_within_their_budget_the_oldest_without_its_middle() -> None:
    # 20 tokens are 80 characters: the newest takes 40 of them, 23 of the others are the mark, and 8 stay on each side.
    driven = Driven("mistral-vibe:keep_user_tokens=20", 1_000)
    driven.user("gone")
    driven.user("a" * 30 + "b" * 30)
    driven.user("c" * 40)
    driven.calls("A result.", used=900)
    assert driven.sent() == ["a" * 8 + "\n\n[... truncated ...]\n\n" + "b" * 8, "c" * 40, SUMMARY]
    full = Driven("mistral-vibe:keep_user_tokens=20", 1_000)
    full.user("gone")
    full.user("c" * 80)
    full.calls("A result.", used=900)
    assert full.sent() == ["c" * 80, SUMMARY]


def test_a_result_that_is_too_long_as_json_keeps_its_ends() -> None:
    driven = Driven("mistral-vibe:max_result_chars=40,excerpt_chars=10", 200_000)
    driven.user("The task.")
    # A line end is two characters as JSON, and two quotes stand around the text.
    assert driven.text(driven.calls("x" * 18 + "\n" * 10)[0]) == "x" * 18 + "\n" * 10
    assert driven.text(driven.calls("x" * 19 + "\n" * 10)[0]).startswith("xxxxx\n[")
    assert driven.text(driven.calls("a" * 30 + "b" * 30)[0]) == ("aaaaa\n[... 50 characters omitted ...]\nbbbbb")


def test_what_is_not_ascii_counts_once_in_a_result() -> None:
    driven = Driven("mistral-vibe:max_result_chars=40,excerpt_chars=10", 200_000)
    driven.user("The task.")
    assert driven.text(driven.calls("\u00e9" * 38)[0]) == "\u00e9" * 38
    assert driven.text(driven.calls("\u00e9" * 39)[0]) != "\u00e9" * 39


def test_nothing_happens_where_it_may_not_or_where_there_is_only_what_stays() -> None:
    driven = Driven("mistral-vibe:auto_compact_threshold=0", 1_000)
    driven.user("x" * 9_000)
    driven.calls("r", used=990)
    assert driven.sent() == ["x" * 9_000, "{}", "r"] and not driven.asked
    driven = Driven("mistral-vibe", 1_000)
    driven.user("x" * 9_000)
    assert driven.sent() == ["x" * 9_000] and not driven.asked
    driven = Driven("mistral-vibe", 1_000, refuses=lambda items: True)
    driven.user("x" * 9_000)
    driven.calls("r", used=990)
    assert driven.sent() == ["x" * 9_000, "{}", "r"] and len(driven.asked) == 1


@pytest.mark.parametrize(
    ("task", "estimated", "asked"),
    # Exchanges of 6 and 94: the oldest ones leave as long as what is left is 800 or more.
    [(499, None, ""), (500, 800, "bc"), (599, 899, "bc"), (600, 900, "c"), (700, 1_000, "")],
)
def test_the_oldest_exchanges_leave_the_summary_request(task: int, estimated: int | None, asked: str) -> None:
    driven = Driven("mistral-vibe:estimator=chars:ratio=1", 1_000)
    driven.user("t" * task)
    for letter in "abc":
        driven.calls(letter * 94)
    sent = driven.sent()
    if estimated is None:
        assert not driven.asked
        return
    assert sent == ["t" * task, SUMMARY]
    assert "".join(item.text[0] for item in driven.asked[0] if item.kind == "tool_result") == asked
    reason = f"0 reported or {estimated:,} estimated tokens are 800 or more"
    assert driven.told == [f"Compacted 6 items into a summary: {reason}"]
