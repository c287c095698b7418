"""Gemini CLI, by hand."""

from __future__ import annotations

from by_hand import SUMMARY, Driven

from ctxsim.policies import Stop, open_policy
from ctxsim.policies.agents.gemini_cli.policy import ACKNOWLEDGED, MASKED
from ctxsim.transcript import Item


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


def test_the_newest_three_tenths_stay_from_a_prompt_on() -> None:
    # 1,000 characters of history; its prompts begin at 0, 600, 700 and 997, and a call has 2. The first with seven
    # tenths before it is 3.
    driven = Driven("gemini-cli", 10_000)
    for prompt, answer in (("1" * 10, "a" * 590), ("2" * 10, "b" * 90), ("3" * 10, "c" * 287)):
        driven.user(prompt)
        driven.says(answer, used=100)
    driven.user("4")
    driven.calls("d", used=6_000)
    assert driven.sent() == [SUMMARY, ACKNOWLEDGED, "3" * 10, "c" * 287, "4", "{}", "d"]


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


def test_old_results_become_previews_once_enough_of_them_have_aged() -> None:
    # 1,200 characters are 300 tokens. The newest result isn't looked at; of the four before it the newest two are
    # within 600, which leaves two: 600 tokens.
    driven = Driven("gemini-cli:protect=600,prunable=600", 1_000_000)
    driven.user("The task.")
    for number in range(5):
        text = "\n".join(f"line {number}.{line:03}" for line in range(120))
        driven.calls(text[:1_200], used=100)
        assert any(MASKED in text for text in driven.sent()) is (number == 4)
    masked = [text for text in driven.sent() if MASKED in text]
    assert len(masked) == 2 and "line 0.000" in masked[0] and "lines omitted" in masked[0]


def test_what_does_not_fit_the_rest_of_the_window_stops_the_agent() -> None:
    driven = Driven("gemini-cli:compression_threshold=1", 1_000)
    driven.user("The task.")
    driven.calls("x" * 400, used=900)
    assert not isinstance(driven.request(), Stop)
    driven.calls("x" * 404, used=900)
    assert isinstance(driven.request(), Stop)


def test_of_a_file_that_is_read_so_many_lines_and_characters_of_each_are_shown() -> None:
    (policy,) = open_policy("gemini-cli").create()

    def arrived(text: str, tool: str = "read_file") -> list[str]:
        return policy.on_tool_result(Item("tool_result", 1, 1, text, tool, 0)).text.split("\n")

    fits = "\n".join(["x" * 2_000] * 2_000)
    assert arrived(fits) == fits.split("\n")
    # One line more, and the second line one character longer.
    told, first, second, *_, last = arrived("\n".join(["a", "x" * 2_000 + "y", *["b"] * 1_997, "c", "d"]))
    assert (told, first, last) == ("[1 more lines]", "a", "c")
    assert second.startswith("x" * 2_000) and "y" not in second
    assert arrived("x" * 3_000, "grep") == ["x" * 3_000]
