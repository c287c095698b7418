"""Mistral Vibe, by hand."""

from __future__ import annotations

import pytest
from by_hand import SUMMARY, Driven

from ctxsim.transcript import Usage

OLD = "mistral-vibe:version=3.0.2"


def test_usage_with_its_output_decides_and_the_prompt_that_begins_a_turn_is_kept_among_the_earlier_ones() -> None:
    driven = Driven(OLD, 1_000)
    driven.user("The task.")
    driven.calls("A result.")
    driven.sees.usage = Usage(790, 9)
    assert SUMMARY not in driven.sent(), "799 of 800"
    driven.sees.usage = Usage(790, 10)
    driven.user("And now this.")
    assert driven.sent() == ["The task.", "And now this.", SUMMARY]


def test_user_texts_stay_within_their_budget_the_oldest_without_its_middle() -> None:
    # 20 tokens are 80 characters: the newest takes 40 of them, 23 of the others are the mark, and 8 stay on each side.
    driven = Driven(f"{OLD},keep_user_tokens=20", 1_000)
    driven.user("gone")
    driven.user("a" * 30 + "b" * 30)
    driven.user("c" * 40)
    driven.calls("A result.", used=900)
    assert driven.sent() == ["a" * 8 + "\n\n[... truncated ...]\n\n" + "b" * 8, "c" * 40, SUMMARY]
    full = Driven(f"{OLD},keep_user_tokens=20", 1_000)
    full.user("gone")
    full.user("c" * 80)
    full.calls("A result.", used=900)
    assert full.sent() == ["c" * 80, SUMMARY]


def test_nothing_happens_where_it_may_not_or_where_there_is_only_what_stays() -> None:
    driven = Driven(f"{OLD},auto_compact_threshold=0", 1_000)
    driven.user("x" * 9_000)
    driven.calls("r", used=990)
    assert driven.sent() == ["x" * 9_000, "{}", "r"] and not driven.asked
    driven = Driven(OLD, 1_000)
    driven.user("x" * 9_000)
    assert driven.sent() == ["x" * 9_000] and not driven.asked
    driven = Driven(OLD, 1_000, refuses=lambda items: True)
    driven.user("x" * 9_000)
    driven.calls("r", used=990)
    assert driven.sent() == ["x" * 9_000, "{}", "r"] and len(driven.asked) == 1


@pytest.mark.parametrize(
    ("task", "estimated", "asked"),
    # Exchanges of 6 and 94: the oldest ones leave as long as what is left is 800 or more.
    [(499, None, ""), (500, 800, "bc"), (599, 899, "bc"), (600, 900, "c"), (700, 1_000, "")],
)
def test_the_oldest_exchanges_leave_the_summary_request(task: int, estimated: int | None, asked: str) -> None:
    driven = Driven(f"{OLD},estimator=chars:ratio=1", 1_000)
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


def test_from_3_0_3_on_the_newest_response_and_what_follows_stay_behind_the_summary() -> None:
    driven = Driven("mistral-vibe", 20_000)
    driven.user("The task.")
    driven.calls("Old.")
    driven.calls("One.", "Two.", said="I look.")
    driven.sees.usage = Usage(9_999)
    assert SUMMARY not in driven.sent(), "9,999 of 10,000"
    driven.sees.usage = Usage(10_000)
    assert driven.sent() == ["The task.", SUMMARY, "I look.", "{}", "{}", "One.", "Two."]
    assert [item.text for item in driven.asked[0]] == ["The task.", "{}", "Old.", "I look.", "{}", "{}"]
    driven.says("Done.", used=10_000)
    driven.user("And now this.")
    assert driven.sent() == ["The task.", SUMMARY, "Done.", "And now this."]


def test_from_3_0_3_on_the_estimate_grows_as_the_last_one_was_too_low() -> None:
    # 1,000 + 6 + 998 + 6 = 2,010 were estimated, 6,000 reported. Then 3,349 x 6,000 / 2,010 are 9,998, one more 10,000.
    for more, compacts in ((1_339, False), (1_340, True)):
        driven = Driven("mistral-vibe:estimator=chars:ratio=1", 20_000)
        driven.user("t" * 1_000)
        driven.calls("o" * 998)
        driven.calls("r" * more, used=6_000)
        assert (SUMMARY in driven.sent()) is compacts


def test_from_3_0_3_on_results_that_keep_the_request_at_its_threshold_lose_their_middle_unread() -> None:
    # The task's 480, the summary's 14, the newest response's 100 + 6, and 9,399 or 9,400 of its result: 10,000.
    for size, cut in ((9_399, False), (9_400, True)):
        driven = Driven("mistral-vibe:estimator=chars:ratio=1", 20_000)
        driven.user("t" * 480)
        driven.calls("o" * 998)
        driven.calls("r" * size, said="s" * 100)
        stub = "r" * 50 + f"[CONTENT OMITTED FOR SIZE: {size - 100:,} MORE CHARACTERS]" + "r" * 50
        assert driven.sent()[1:] == [SUMMARY, "s" * 100, "{}", stub if cut else "r" * size]


@pytest.mark.parametrize(("last", "asked"), [(13_987, "ab"), (13_988, "b")])
def test_from_3_0_3_on_a_summary_request_is_as_large_as_three_quarters_of_a_small_window(last: int, asked: str) -> None:
    # 15,000 of 20,000: the task's 500, exchanges of 6 + 494 and 6 + LAST, and the newest call's 6.
    driven = Driven("mistral-vibe:max_result_chars=20000,estimator=chars:ratio=1", 20_000)
    driven.user("t" * 500)
    driven.calls("a" * 494)
    driven.calls("b" * last)
    driven.calls("c")
    assert SUMMARY in driven.sent()
    assert "".join(item.text[0] for item in driven.asked[0] if item.kind == "tool_result") == asked
