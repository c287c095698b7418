"""aider, by hand."""

from __future__ import annotations

import pytest
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


BY_CHARACTERS = "estimator=chars:ratio=1"


def tens(options: str, window: int = 1_000_000) -> Driven:
    """Seven finished messages of ten characters each, and a new text of the user."""
    driven = Driven(f"aider:{options},{BY_CHARACTERS}", window)
    for kind in ("u1", "r1", "u2", "r2", "s2", "u3", "r3"):
        (driven.user if kind[0] == "u" else driven.says)(kind * 5)
    driven.user("New.")
    return driven


@pytest.mark.parametrize(
    ("budget", "sent"),
    [
        (70, ["u1", "r1", "u2", "r2", "s2", "u3", "r3", "Ne"]),
        # Two messages are less than half of 60, three are not. Five are old.
        (60, ["Wh", "u3", "r3", "Ne"]),
        # Of 20 one would stay, but what is old ends with a response: the same five.
        (22, ["Wh", "u3", "r3", "Ne"]),
        # Three are less than half of 61: four messages would be old, which is too few to keep the others apart.
        (61, ["Wh", "Ne"]), (69, ["Wh", "Ne"]),
    ],
)  # fmt: skip
def test_less_than_half_of_the_budget_stays_where_more_than_four_messages_are_old(budget: int, sent: list[str]) -> None:
    assert [text[:2] for text in tens(f"max_chat_history_tokens={budget}").sent()] == sent


@pytest.mark.parametrize(("room", "asked"), [(29, ["u1", "r1"]), (30, ["u1", "r1", "u2"]), (9, [])])
def test_the_summariser_reads_what_fits_beside_512_tokens(room: int, asked: list[str]) -> None:
    driven = tens(f"max_chat_history_tokens=60,summarizer_tokens={512 + room}")
    sent = driven.sent()
    # What is old and wasn't read is lost; where nothing fits nobody is asked, and all stays.
    assert [text[:2] for text in sent[:1]] == (["Wh"] if asked else ["u1"])
    assert [[item.text[:2] for item in one] for one in driven.asked] == ([asked] if asked else [])


@pytest.mark.parametrize(("window", "asked"), [(541, 2), (542, 3), (1_000_000, 5)])
def test_the_summarisers_window_is_the_models_unless_it_is_given(window: int, asked: int) -> None:
    driven = tens("max_chat_history_tokens=60", window)
    driven.sent()
    assert [len(items) for items in driven.asked] == [asked]


def test_a_summary_that_fails_is_asked_for_again_when_the_user_speaks_and_a_lone_summary_never() -> None:
    driven = Driven(f"aider:max_chat_history_tokens=9,{BY_CHARACTERS}", 1_000_000, refuses=lambda items: True)
    driven.user("One.")
    driven.says("Done.")
    assert driven.sent() == ["One.", "Done."]
    driven.says("Still.")
    driven.user("Two.")
    assert driven.sent() == ["One.", "Done.", "Still.", "Two."] and len(driven.asked) == 1
    driven.calls("r")
    assert len(driven.sent()) == 6 and len(driven.asked) == 1
    made = Driven(f"aider:max_chat_history_tokens=9,{BY_CHARACTERS}", 1_000_000)
    made.user("One.")
    made.says("Done. ")
    made.user("Two.")
    assert made.sent() == made.sent() == [SUMMARY, "Two."] and len(made.asked) == 1


def test_taken_as_a_whole_all_but_the_newest_exchange_is_finished() -> None:
    # A task of 10; a call, bash and {}, with its result is 16: 42 with two of them.
    driven = Driven(f"aider:whole=True,max_chat_history_tokens=42,{BY_CHARACTERS}", 1_000_000)
    driven.user("t" * 10)
    assert driven.sent() == ["t" * 10]
    for letter in "abc":
        driven.calls(letter * 10)
        assert SUMMARY not in driven.sent()
    driven.calls("d" * 10)
    assert driven.sent() == [SUMMARY, "{}", "d" * 10]


@pytest.mark.parametrize(("window", "tokens"), [(1_000, 1_024), (16_400, 1_025), (64_000, 4_000), (1_000_000, 8_192)])
def test_the_budget_is_a_sixteenth_of_the_window_within_bounds(window: int, tokens: int) -> None:
    for over in (0, 1):
        driven = Driven(f"aider:{BY_CHARACTERS}", window)
        driven.user("w" * (tokens - 5 + over))
        driven.says("Done.")
        driven.user("Two.")
        assert (SUMMARY in driven.sent()) is (over > 0)
