"""Policies of frameworks on conversations small enough to do in the head, each bound from both sides."""

from __future__ import annotations

import pytest
from by_hand import SUMMARY, Driven

from ctxsim.errors import LabelError
from ctxsim.policies import open_policy
from ctxsim.transcript import Head, Usage

TRIMMED = "[Trimmed: grep output — {} chars → 10 char preview]\n" + "x" * 10 + "..."
"""65 characters with a number of two digits, 66 with one of three."""


@pytest.mark.parametrize(
    ("length", "most", "sent"),
    [
        # Not over the limit; over it, but a preview of 65 or 66 characters is no shorter; over it, and it is.
        (100, 100, "x" * 100), (101, 100, TRIMMED.format(101)),
        (65, 20, "x" * 65), (66, 20, TRIMMED.format(66)), (20, 20, "x" * 20), (21, 20, "x" * 21),
    ],
)  # fmt: skip
def test_openai_trimmer_cuts_what_gets_shorter(length: int, most: int, sent: str) -> None:
    driven = Driven(f"openai-trimmer:recent_turns=1,max_output_chars={most},preview_chars=10", 10_000)
    driven.user("one")
    driven.calls("x" * length, tool="grep")
    driven.user("two")
    assert driven.sent()[2] == sent


@pytest.mark.parametrize(("budget", "partly", "sent"), [
    # Of the text that doesn't fit the last lines that do come along, where that is allowed.
    (11, True, ["one\ntwo", "abc", "?"]), (10, True, ["two", "abc", "?"]), (10, False, ["abc", "?"]),
    (7, True, ["two", "abc", "?"]), (6, True, ["abc", "?"]),
])  # fmt: skip
def test_langchain_trim_may_keep_the_last_lines_of_a_message(budget: int, partly: bool, sent: list[str]) -> None:
    driven = Driven(f"langchain-trim:max_tokens={budget},allow_partial={partly},estimator=chars:ratio=1", 10_000)
    driven.user("one\ntwo")
    driven.says("abc")
    driven.user("?")
    assert driven.sent() == sent


@pytest.mark.parametrize(("turns", "cut"), [(1, [1, 2]), (2, [1]), (3, []), (4, [])])
def test_openai_trimmer_spares_the_last_turns(turns: int, cut: list[int]) -> None:
    # One result in each of three turns, numbered.
    driven = Driven(f"openai-trimmer:recent_turns={turns},max_output_chars=100,preview_chars=10", 10_000)
    for number in (1, 2, 3):
        driven.user()
        driven.calls(str(number) * 200)
    sent = driven.sent()
    assert [number for number in (1, 2, 3) if str(number) * 200 not in sent] == cut


@pytest.mark.parametrize(("candidates", "compacted"), [(4, True), (5, False)])
def test_openai_compaction_session_counts_what_is_no_users(candidates: int, compacted: bool) -> None:
    # Two calls with their results are four.
    driven = Driven(f"openai-compaction-session:candidates={candidates}", 10_000)
    driven.user("one")
    driven.calls("r1")
    driven.user("two")
    driven.calls("r2")
    whole = ["one", "{}", "r1", "two", "{}", "r2"]
    assert driven.sent() == (["one", "two", SUMMARY] if compacted else whole)
    assert [len(asked) for asked in driven.asked] == ([6] if compacted else [])


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        # Seven messages: the task, and three calls with their results. What the last N hold keeps its call or result.
        ("tool_calls=none", "123"), ("tool_calls=all", ""), ("tool_calls=before-last-message", "3"),
        ("tool_calls=before-last-1-messages", "3"), ("tool_calls=before-last-2-messages", "3"),
        ("tool_calls=before-last-3-messages", "23"), ("tool_calls=before-last-4-messages", "23"),
        ("tool_calls=before-last-7-messages", "123"), ("tool_calls=before-last-9-messages", "123"),
        # Only tools that are named; not between calls of one task; not up to the trigger.
        ("tool_calls=all,tools=b", "13"), ("tool_calls=all,tools=a/c", "2"), ("tool_calls=all,every_step=false", "123"),
        ("tool_calls=all,trigger=1000", "123"), ("tool_calls=all,trigger=1", ""),
    ],
)  # fmt: skip
def test_vercel_prunes_calls_by_messages_and_tools(options: str, kept: str) -> None:
    driven = Driven(f"vercel-prune:{options}", 10_000)
    driven.user("Do.")
    for number, tool in enumerate("abc", 1):
        driven.calls(f"r{number}", tool=tool)
    assert driven.sent() == ["Do.", *(text for number in kept for text in ("{}", f"r{number}"))]


def test_what_vercel_has_no_option_for_is_told() -> None:
    with pytest.raises(LabelError, match="before-last-N-messages"):
        Driven("vercel-prune:tool_calls=some", 10_000)


@pytest.mark.parametrize("label", ["openhands", "openhands-condenser"])
def test_openhands_summarizes_everything_where_too_little_may_leave_and_too_many_tokens_are_sent(label: str) -> None:
    # The task alone is over 500, and it is the second event, which stays.
    driven = Driven(f"{label}:max_tokens=500,keep_first=2,estimator=chars:ratio=1", 1_000, head=1)
    driven.user("t" * 600)
    assert driven.sent() == [SUMMARY]


def test_inspect_counts_all_that_came_after_what_was_reported() -> None:
    # 500 were reported of the task, a call and its result; 800 characters more are 200: at 700 nothing happens yet.
    for more, left in ((800, 4), (804, 2)):
        driven = Driven("inspect-trim:at=700,preserve=0.1,estimator=chars", 10_000)
        driven.user("Do.")
        driven.calls("r")
        # The response to this request was empty.
        driven.moments.after_call(Usage(500, 0), [])
        driven.user("x" * more)
        # Nine tenths of the three messages behind the task are two.
        assert len(driven.sent()) == left


@pytest.mark.parametrize(("size", "summaries"), [(6, 1), (7, 2)])
def test_adk_summarizes_again_only_what_is_longer_than_the_summary_before(size: int, summaries: int) -> None:
    # The summary has 14 characters; beside it leave the first task's 6 or 7, and those of another.
    driven = Driven("adk-compact:token_threshold=1,event_retention_size=1", 1_000)
    driven.user("t" * 20)
    driven.says("a")
    assert driven.sent() == [SUMMARY, "a"]
    driven.user("u" * size)
    driven.says("b" * size)
    driven.user("v")
    driven.sent()
    assert len(driven.asked) == summaries


def of_calls(label: str, number: int, size: int = 8, window: int = 10_000) -> Driven:
    """A task, and calls whose results are so many times their own number."""
    driven = Driven(label, window)
    driven.user("The task.")
    for n in range(1, number + 1):
        driven.calls(str(n) * size)
    return driven


def results(driven: Driven) -> str:
    """What is sent: a letter for each message, of a result its first one."""
    return "".join("S" if text.startswith(("What", "[CON", "<con")) else text[:1] for text in driven.sent())


def test_a_prompt_over_the_budget_is_counted_once() -> None:
    # 50 tokens of a prompt are over 40: all but the newest group leaves, and the prompt isn't counted again.
    driven = Driven("af-budget:token_budget=40,estimator=chars", 10_000)
    driven.sees.head = Head(system="p" * 200)
    driven.user("The task.")
    driven.calls("1" * 8)
    assert results(driven) == "{1"
    driven.calls("2" * 8)
    assert results(driven) == "{1{2"


def test_haystack_summarizes_turns_before_steps() -> None:
    label = "haystack-summarize:context_window=1000,approximate_summary_tokens=10,estimator=chars"
    driven = Driven(label, 1_000)
    # Turns of 10 + 101 + 100, a task of 10 with steps of 102: from 700 on, down to 400.
    for n in range(2):
        driven.user(f"{n}" * 40)
        driven.calls("r" * 396)
        driven.says("a" * 400)
    driven.user("n" * 40)
    driven.calls("x" * 400)
    driven.calls("y" * 400)
    driven.calls("z" * 400)
    # 738 without the first turn are 527, without both 316.
    assert results(driven) == "Sn{x{y{z"
    driven.calls("w" * 1_600)
    # 316, the summary's 16 and 402: three steps leave as well, and the newest alone is too large.
    assert results(driven) == "SnS{w"


def test_semantic_kernel_shows_its_summarizer_texts_alone() -> None:
    driven = Driven("sk-summarize:target_count=3", 10_000)
    driven.user("The task.")
    driven.calls("1")
    driven.says("Done.")
    driven.user("More.")
    # Five messages: the last three begin among calls, which move the cut back to the first of them.
    assert results(driven) == "S{1DM"
    assert [item.text for item in driven.asked[0]] == ["The task."]


def test_pydantic_ai_counts_a_summary_as_a_request_of_its_own() -> None:
    driven = Driven("pydantic-summarize:max_messages=4,keep_messages=1", 10_000)
    driven.user("a")
    driven.calls("b")
    driven.calls("c")
    driven.says("d")
    driven.user("e")
    assert driven.sent() == ["a", SUMMARY, "e"]
    # With a call and its result these are five, over four again: of the last one its call stays too.
    driven.calls("f")
    assert driven.sent() == ["a", SUMMARY, "{}", "f"]


def test_strands_summarizes_three_tenths_and_never_the_newest() -> None:
    # Of 21 messages six: the task, two pairs and a call; its result may not begin, so it goes too.
    driven = of_calls("strands-summarizing", 10)
    assert driven.refused() is not None
    assert results(driven)[:3] == "S{4"
    # Of eleven messages one is older than the newest ten, of nine none.
    assert results_after_refusal(5) == "S{1{2{3{4{5"
    assert of_calls("strands-summarizing", 4).refused() is None


def results_after_refusal(number: int) -> str:
    driven = of_calls("strands-summarizing", number)
    assert driven.refused() is not None
    return results(driven)


def test_openclaw_looks_before_a_turn_and_summarizes_a_cut_turn_apart() -> None:
    # A quarter of 400 tokens stays free. The first turn is 3, 2 and 200; the second 2 and 100: over 300.
    driven = Driven("openclaw:keep_recent_tokens=50", 400)
    driven.user("The task.")
    driven.calls("1" * 800)
    driven.user("More.")
    driven.calls("2" * 400)
    assert results(driven) == "T{1M{2", "no look between the steps of a turn"
    driven.user("Last.")
    # From behind: 2 and 100 are over 50 with the result; what may begin behind it is the user's text.
    assert results(driven) == "SL"
    assert len(driven.asked) == 1


def test_openclaw_summarizes_what_stands_behind_its_last_summary() -> None:
    driven = Driven("openclaw:keep_recent_tokens=50", 400)
    driven.user("The task.")
    for first, second in (("1", "2"), ("3", "4")):
        driven.calls(first * 800)
        driven.calls(second * 40)
        # The newest exchange is 12 tokens, and with the 200 before it over 50: it stays.
        assert driven.refused() is not None and results(driven) == f"S{{{second}"
    assert [item.text[:2] for item in driven.asked[1]] == ["{}", "22", "{}", "33"]


def test_openclaw_weighs_characters_of_east_asia() -> None:
    counter = open_policy("openclaw").estimator
    assert [counter.text(text) for text in ("word", "\u6570\u6570", "\uac00", "\u1100")] == [1, 2, 1, 3]


def test_deepagents_counts_tools_at_four_characters_a_token() -> None:
    # A tenth of 1,000; the messages are 7, 21 and 7 by LangChain's count, so 65 are left: 257 characters, rounded up.
    label = "deepagents:trigger=0.1,keep_messages=1"
    for characters, sent in ((256, "T{1"), (257, "H{1")):
        driven = of_calls(label, 1, window=1_000)
        driven.sees.head = Head("", ("x" * characters,))
        assert results(driven) == sent


@pytest.mark.parametrize("policy", ["langchain-summarize", "deepagents"])
def test_a_history_of_no_tokens_is_scaled_by_no_usage(policy: str) -> None:
    # Less than four characters are no token to this estimator.
    driven = Driven(f"{policy}:estimator=ag2", 1_000)
    driven.user("Hi.")
    driven.says("Ok.", used=10)
    driven.user("Go.")
    assert driven.sent() == ["Hi.", "Ok.", "Go."]


@pytest.mark.parametrize(("output", "sent"), [(915, "T{1"), (916, "H{1")])
def test_deepagents_summarizes_over_the_window_less_a_twentieth_and_the_output(output: int, sent: str) -> None:
    # The messages are 7, 21 and 7 by LangChain's count: 35 are not over 950 - 915.
    driven = of_calls(f"deepagents:keep_messages=1,output_tokens={output}", 1, window=1_000)
    assert results(driven) == sent


@pytest.mark.parametrize(
    ("label", "limit"),
    [
        ("llamaindex-summary", 7_500), ("llamaindex-summary:llm=False", 2_000), ("llamaindex-summary:token_limit=9", 9),
        ("llamaindex-buffer", 3_000), ("llamaindex-buffer:token_limit=0", 7_500),
    ],
)  # fmt: skip
def test_llamaindex_takes_its_limit_of_the_window_where_it_knows_the_model(label: str, limit: int) -> None:
    named = f"{label},estimator=chars:ratio=1" if ":" in label else f"{label}:estimator=chars:ratio=1"
    for newest, stays in ((limit - 5, True), (limit - 4, False)):
        driven = Driven(named, 10_000)
        for text in ("older", "n" * newest):
            driven.user(text)
        assert ("older" in driven.sent()) is stays


@pytest.mark.parametrize(
    ("window", "sizes", "asked"),
    [
        # 850 less 182 for the instructions are 668; parts of a longer message have 501.
        (1_000, [300, 368], [[300, 368]]), (1_000, [300, 369], [[300], [369]]), (1_000, [668], [[668]]),
        (1_000, [9, 669, 9], [[9], [501], [168, 9]]), (1_000, [1_100, 600], [[501], [501, 98], [600]]),
        (217, [1, 1], [[1, 1]]), (216, [1, 1], [[1], [1]]), (215, [1], []),
    ],
)  # fmt: skip
def test_crewai_asks_within_85_percent_of_the_window(window: int, sizes: list[int], asked: list[list[int]]) -> None:
    driven = Driven("crewai-summarize:estimator=chars:ratio=1", window)
    for size in sizes:
        driven.user("x" * size)
    driven.refused()
    assert [[len(item.text) for item in one] for one in driven.asked] == asked
