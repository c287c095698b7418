"""pi, by hand."""

from __future__ import annotations

import pytest
from by_hand import SUMMARY, Driven

from ctxsim.transcript import Usage

# 1,000 less 400: 600; the tail is 50 tokens, 200 characters.
SMALL = "pi:reserve_tokens=400,keep_recent_tokens=50"


def test_it_looks_before_each_request_and_before_0_84_4_only_where_a_run_ends() -> None:
    for version, compacted in (("0.84.3", False), ("0.84.4", True), ("0.87.1", True)):
        driven = Driven(f"{SMALL},version={version}", 1_000)
        driven.user("The task.")
        driven.calls("o" * 400, used=100)
        driven.calls("x" * 40, used=590)  # and 10 of the result: 600 isn't over 600
        assert SUMMARY not in driven.sent()
        driven.calls("x" * 44, used=590)
        assert (SUMMARY in driven.sent()) is compacted
    driven = Driven(f"{SMALL},version=0.73.1", 1_000)
    driven.user("The task.")
    for _ in range(3):
        driven.calls("x" * 400, used=900)
        assert SUMMARY not in driven.sent()
    driven.says("Done.", used=600)
    assert SUMMARY not in driven.sent()
    driven.user("More.")
    driven.says("Done.", used=601)
    assert SUMMARY in driven.sent()


def test_a_usage_of_zero_is_none_and_what_is_there_is_estimated() -> None:
    for version, compacted in (("0.79.10", False), ("0.80.2", True)):
        driven = Driven(f"{SMALL},version={version},within_runs=True", 1_000)
        driven.user("The task.")
        for size in (900, 900, 900, 40):
            driven.calls("x" * size, used=0)
        assert (SUMMARY in driven.sent()) is compacted


def test_what_the_response_took_counts_too() -> None:
    # 600 is the limit: 500 of input and 100 of output are not over it.
    for written, compacted in ((100, False), (101, True)):
        driven = Driven(SMALL, 1_000)
        driven.user("The task.")
        driven.calls("x" * 400, used=100)
        driven.says("Done.")
        driven.moments.after_call(Usage(500, written), driven.view[-1:])
        assert (SUMMARY in driven.sent()) is compacted


def test_where_a_result_crosses_the_limit_the_tail_begins_after_it() -> None:
    driven = Driven(SMALL, 1_000)
    driven.user("The task.")
    driven.calls("a" * 400, used=100)  # 100 tokens: the newest exchange and this one cross 50 within this result
    driven.calls("b" * 100, used=100)  # 25 and 1 and, for the call's name and arguments, 2
    driven.says("Done.", used=700)  # 2
    assert driven.sent() == [SUMMARY, "{}", "b" * 100, "Done."]


def test_a_turn_that_is_cut_has_a_summary_of_its_own() -> None:
    driven = Driven(SMALL, 1_000)
    driven.user("One.")
    driven.says("Done one.", used=100)
    driven.user("Two.")
    driven.calls("a" * 400, used=100)
    driven.calls("b" * 100, used=100)
    driven.says("Done two.", used=700)
    assert driven.sent()[0] == f"{SUMMARY}\n\n{SUMMARY}"
    assert [[item.text[:8] for item in asked] for asked in driven.asked] == [
        ["One.", "Done one"],
        ["Two.", "{}", "aaaaaaaa"],
    ]


def test_a_refusal_is_mended_once_per_run() -> None:
    driven = Driven(SMALL, 1_000)
    driven.user("One.")
    driven.sent()
    for number in range(2):
        driven.calls("a" * 400, used=100)
        driven.calls("b" * 40, used=100)
        assert (driven.refused() is not None) is (number == 0)
    driven.says("Done.", used=100)
    driven.user("Two.")
    driven.sent()
    assert driven.refused() is not None


def test_switched_off_it_leaves_runs_and_refusals_alone() -> None:
    for more, compacted in (("", True), (",enabled=False", False)):
        driven = Driven(SMALL + more, 1_000)
        driven.user("The task.")
        driven.calls("a" * 400, used=100)
        driven.calls("b" * 100, used=100)
        driven.says("Done.", used=700)
        assert (SUMMARY in driven.sent()) is compacted
        driven = Driven(SMALL + more, 1_000)
        driven.user("The task.")
        driven.calls("a" * 400, used=100)
        driven.calls("b" * 100, used=100)
        assert (driven.refused() is not None) is compacted


def by_characters(keep: int, *said: str) -> Driven:
    """Texts by turns of the user and of the model, of which so many characters are the tail."""
    driven = Driven(f"pi:reserve_tokens=400,keep_recent_tokens={keep},estimator=chars:ratio=1", 1_000)
    for number, text in enumerate(said):
        driven.says(text) if number % 2 else driven.user(text)
    return driven


@pytest.mark.parametrize(
    ("keep", "left"),
    # A turn that is cut has a summary of its own, if there are others before it. 40 characters are all: nothing leaves.
    [(1, "SSd"), (10, "SSd"), (11, "Scd"), (20, "Scd"), (21, "Sbcd"), (30, "Sbcd"), (31, None), (40, None),
     (41, None), (50, None)],
)  # fmt: skip
def test_the_tail_to_the_character(keep: int, left: str | None) -> None:
    answer = by_characters(keep, "a" * 10, "b" * 10, "c" * 10, "d" * 10).refused()
    if left is None:
        assert answer is None
    else:
        assert answer is not None
        assert "".join("S" * item.text.count(SUMMARY) or item.text[0] for item in answer) == left


def test_a_tail_that_begins_with_a_turn_has_one_summary_of_what_came_before() -> None:
    driven = by_characters(20, "a" * 10, "b" * 10, "c" * 10, "d" * 10)
    driven.refused()
    assert [[item.text[0] for item in asked] for asked in driven.asked] == [["a", "b"]]
    # One that begins with the answer has two, whoever speaks next.
    driven = by_characters(11, "a" * 10, "b" * 10, "c" * 10, "d" * 10, "e" * 10)
    driven.refused()
    assert [[item.text[0] for item in asked] for asked in driven.asked] == [["a", "b"], ["c"]]
    driven = by_characters(10, "a" * 10, "b" * 10, "c" * 10, "d" * 10)
    driven.refused()
    assert [[item.text[0] for item in asked] for asked in driven.asked] == [["a", "b"], ["c"]]
    # Where the tail begins with a response, the turn that it cuts is the one before, whoever speaks next.
    driven = by_characters(20, "a" * 10, "b" * 10, "c" * 10, "d" * 10, "e" * 10)
    driven.refused()
    assert [[item.text[0] for item in asked] for asked in driven.asked] == [["a", "b"], ["c"]]


def test_where_one_of_two_summaries_fails_nothing_changes() -> None:
    driven = Driven(SMALL, 1_000, refuses=lambda items: items[0].text == "Two.")
    driven.user("One.")
    driven.says("Done one.")
    driven.user("Two.")
    driven.calls("a" * 400)
    driven.calls("b" * 100)
    assert driven.refused() is None and len(driven.asked) == 2


def test_where_no_tail_can_begin_nothing_is_done() -> None:
    # The newest result alone is too large, and nothing stands behind it.
    driven = Driven(SMALL, 1_000)
    driven.user("The task.")
    driven.calls("a" * 400, used=900)
    assert driven.sent() == ["The task.", "{}", "a" * 400] and not driven.asked
    nothing = Driven(SMALL, 1_000, head=700)
    assert nothing.sent() == []


def test_a_history_that_begins_with_a_response_is_a_turn_of_its_own() -> None:
    driven = Driven(SMALL, 1_000)
    driven.says("Hello.")
    driven.calls("a" * 400)
    driven.calls("b" * 100)
    answer = driven.refused()
    assert answer is not None and [item.text for item in answer] == [SUMMARY, "{}", "b" * 100]
    assert [[item.text[:2] for item in asked] for asked in driven.asked] == [["He", "{}", "aa"]]


def test_the_summariser_gets_2_000_characters_of_a_result() -> None:
    driven = Driven(SMALL, 1_000_000)
    driven.user("u" * 2_001)
    driven.calls("a" * 2_001)
    driven.calls("b" * 40)
    driven.refused()
    assert [len(item.text) for item in driven.asked[0]] == [2_001, 2, 2_000]
