"""Mistral Vibe, by hand."""

from __future__ import annotations

import pytest
from by_hand import SUMMARY, Driven

from ctxsim.transcript import Usage


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
