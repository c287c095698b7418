"""Gemini CLI, by hand."""

from __future__ import annotations

import json

import pytest
from by_hand import SUMMARY, Driven

from ctxsim.counting.estimators import open_estimator
from ctxsim.policies import Stop
from ctxsim.policies.agents.gemini_cli.policy import ACKNOWLEDGED, MASKED, preview
from ctxsim.transcript import Item, Media


def test_in_one_long_prompt_nothing_is_ever_compressed() -> None:
    driven = Driven("gemini-cli:prunable=1000000", 1_000)
    driven.user("The task.")
    for _ in range(5):
        driven.calls("x" * 400, used=600)
        assert SUMMARY not in driven.sent()


def test_what_follows_the_newest_text_of_the_user_stays() -> None:
    driven = Driven("gemini-cli", 1_000)
    driven.user("One.")
    driven.calls("a" * 400, used=100)
    driven.says("Done.", used=300)
    driven.user("Two.")
    driven.calls("b", used=499)
    assert SUMMARY not in driven.sent()
    driven.calls("c", used=500)
    assert driven.sent() == [SUMMARY, ACKNOWLEDGED, "Two.", "{}", "b", "{}", "c"]
    assert len(driven.asked) == 2, "a second request judges the first one's summary"


def test_between_two_prompts_the_whole_history_is_compressed() -> None:
    driven = Driven("gemini-cli", 1_000)
    driven.user("One.")
    driven.calls("a" * 400, used=100)
    driven.says("Done.", used=600)
    driven.user("Two.")
    assert driven.sent() == [SUMMARY, ACKNOWLEDGED, "Two."]


def test_a_summary_that_makes_it_larger_is_thrown_away_and_no_other_is_tried() -> None:
    # A prompt of 8 tokens is over half of 10; summary and acknowledgement are 3 + 10, and the rest.
    driven = Driven("gemini-cli", 10)
    driven.user("a")
    driven.says("b", used=8)
    driven.user("c")
    for _ in range(3):
        assert driven.sent() == ["a", "b", "c"]
    assert len(driven.asked) == 2


def test_what_does_not_fit_the_rest_of_the_window_stops_the_agent() -> None:
    driven = Driven("gemini-cli:compression_threshold=1", 1_000)
    driven.user("The task.")
    driven.calls("x" * 400, used=900)
    assert not isinstance(driven.request(), Stop)
    driven.calls("x" * 404, used=900)
    assert isinstance(driven.request(), Stop)


@pytest.mark.parametrize(
    ("text", "tokens"),
    # A quarter for each ASCII character and 1.5 for each other UTF-16 unit, down; over 100,000 a quarter for each.
    [("a" * 7, 1), ("a" * 8, 2), ("\u00e9", 1), ("\u00e9\u00e9", 3), ("abcd\u00e9\u00e9", 4), ("\U0001f600", 3),
     ("\u00e9" * 100_000, 150_000), ("\u00e9" * 100_001, 25_000)],
    ids=lambda value: str(value)[:6],
)  # fmt: skip
def test_its_weights_of_a_text(text: str, tokens: int) -> None:
    assert open_estimator("gemini").text(text) == tokens


def test_calls_and_results_count_a_quarter_whatever_their_script() -> None:
    gemini, image = open_estimator("gemini"), (Media("image", 85),)
    assert gemini.item(Item("tool_call", 1, 1, "{\u00e9}", "bash")) == 7 // 4
    assert gemini.item(Item("tool_result", 2, 2, "\u00e9" * 8, media=image)) == 2 + 85
    assert gemini.item(Item("user", 0, 0, "\u00e9" * 8, media=image)) == 12 + 85


def test_a_preview_in_full() -> None:
    def shown(tool: str, text: str) -> str:
        whole = preview(Item("tool_result", 3, 3, text, tool, 2))
        end = "\n\nOutput too large. Full output available at: tool-3.txt\n</tool_output_masked>"
        assert whole.startswith("<tool_output_masked>\n") and whole.endswith(end)
        return whole[len("<tool_output_masked>\n") : -len(end)]

    lines = [str(number) for number in range(21)]
    assert shown("bash", "\n".join(lines[:20])) == "\n".join(lines[:20])
    assert shown("bash", "\n".join(lines)) == "\n".join([*lines[:10], "... [1 lines omitted] ...", *lines[11:]])
    assert shown("grep", "a" * 500) == "a" * 500
    assert shown("grep", "a" * 250 + "x" + "b" * 250) == "a" * 250 + "\n... [TRUNCATED] ...\n" + "b" * 250


@pytest.mark.parametrize(("more", "masked"), [(0, False), (1, True)])
def test_a_result_is_masked_if_that_makes_it_shorter(more: int, masked: bool) -> None:
    # As JSON, whose line ends are two characters; two quotes are around either.
    length = len(json.dumps(preview(Item("tool_result", 2, 2, "x" * 999, "grep", 1)))) - 2
    driven = Driven("gemini-cli:protect=0,prunable=1", 1_000_000)
    driven.user()
    driven.calls("x" * (length + more), tool="grep", used=100)
    driven.calls("newest", used=100)
    assert (MASKED in "".join(driven.sent())) is masked


@pytest.mark.parametrize(("prunable", "masked"), [(300, 1), (301, 0)])
def test_results_are_masked_once_so_many_tokens_are_too_old(prunable: int, masked: int) -> None:
    # 300 each: the newest isn't looked at, of the others one is protected.
    driven = Driven(f"gemini-cli:protect=300,prunable={prunable}", 1_000_000)
    driven.user()
    for _ in range(3):
        driven.calls("x" * 1_200, tool="grep", used=100)
    assert sum(MASKED in text for text in driven.sent()) == masked


@pytest.mark.parametrize(
    ("refused", "asked", "compressed"), [((), 2, True), ((1,), 1, False), ((2,), 2, True)], ids=str
)
def test_a_judgement_that_fails_leaves_the_first_summary(
    refused: tuple[int, ...], asked: int, compressed: bool
) -> None:
    driven = Driven("gemini-cli", 1_000, refuses=lambda items: len(driven.asked) in refused)
    driven.user("One.")
    driven.says("a" * 400, used=600)
    driven.user("Two.")
    assert driven.sent() == ([SUMMARY, ACKNOWLEDGED, "Two."] if compressed else ["One.", "a" * 400, "Two."])
    assert len(driven.asked) == asked


@pytest.mark.parametrize(("used", "compressed"), [(13, True), (12, False)])
def test_a_summary_may_be_as_large_as_the_prompt(used: int, compressed: bool) -> None:
    # Summary and acknowledgement are 3 and 10.
    driven = Driven("gemini-cli:compression_threshold=0.2", 60)
    driven.user("a")
    driven.says("b", used=used)
    driven.user("c")
    assert (driven.sent() == [SUMMARY, ACKNOWLEDGED, "c"]) is compressed


@pytest.mark.parametrize(("first", "start"), [(690, "3"), (689, "4")])
def test_a_prompt_with_seven_tenths_before_it_begins_what_stays(first: int, start: str) -> None:
    # 10 and 690 are 700 of 1,000.
    driven = Driven("gemini-cli", 10_000)
    driven.user("2" * 10)
    driven.says("a" * first, used=100)
    driven.user("3" * 10)
    driven.says("b" * (977 - first), used=100)
    driven.user("4")
    driven.calls("c", used=6_000)
    assert driven.sent()[2][0] == start


def test_texts_of_the_user_in_a_row_are_one_message() -> None:
    # Of 85 characters 58 are before the second text, 78 before the third, which doesn't begin a message.
    driven = Driven("gemini-cli", 1_000)
    driven.user("1" * 10)
    driven.says("a" * 48, used=100)
    driven.user("2" * 20)
    driven.user("3" * 5)
    driven.calls("r", used=600)
    assert [text[0] for text in driven.sent()[2:]] == ["2", "3", "{", "r"]


def test_a_history_that_begins_with_a_response_has_no_split() -> None:
    driven = Driven("gemini-cli", 1_000)
    driven.says("a" * 400)
    driven.calls("r", used=600)
    assert driven.sent() == ["a" * 400, "{}", "r"] and not driven.asked
