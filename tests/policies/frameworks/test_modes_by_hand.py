"""Frameworks' windows, tiers and summaries on conversations small enough to do in the head."""

from __future__ import annotations

from by_hand import Driven

from ctxsim.policies import open_policy
from ctxsim.transcript import Head


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


def test_agent_framework_summarizes_whole_groups_that_its_model_may_see() -> None:
    # Seven messages are one too many: two groups of two stay. Of the task and a group of two a summary is made.
    assert results(of_calls("af-summarize", 3)) == "S{2{3"
    assert results(of_calls("af-summarize:threshold_count=3", 3)) == "T{1{2{3"
    # The instructions are 148 tokens. The task is 1. [user] The task. (19 characters): 4, with a group in front of
    # which it stands 152 are no more; without room for it nothing is asked.
    driven = of_calls("af-summarize:max_summary_input_tokens=152", 3)
    assert results(driven) == "S{1{2{3"
    assert [[item.text for item in asked] for asked in driven.asked] == [["The task."]]
    assert results(of_calls("af-summarize:max_summary_input_tokens=151", 3)) == "T{1{2{3"


def test_agent_framework_spends_a_budget_on_lines_then_on_the_newest_groups() -> None:
    # By four characters: the task 3, a call of bash and {} 2, results 2,000 and 100. In a line, cut at 4,096
    # characters, the first is 1,024: 1,129 with the rest. Over that the task leaves, which isn't enough, then the line.
    for budget, sent in ((1_200, ["The", "[To", "{}", "222"]), (1_100, ["{}", "222"])):
        driven = Driven(f"af-budget:token_budget={budget},estimator=chars", 10_000)
        driven.user("The task.")
        driven.calls("1" * 8_000)
        driven.calls("2" * 400)
        assert [text[:3] for text in driven.sent()] == sent
    last = of_calls("af-budget:token_budget=12,keep_last_groups=2,estimator=chars", 3)
    # The lines of two groups are 8 each, the newest group is 4.
    assert results(last) == "[{3"


def test_a_prompt_over_the_budget_is_counted_once() -> None:
    # 50 tokens of a prompt are over 40: all but the newest group leaves, and the prompt isn't counted again.
    driven = Driven("af-budget:token_budget=40,estimator=chars", 10_000)
    driven.sees.head = Head(system="p" * 200)
    driven.user("The task.")
    driven.calls("1" * 8)
    assert results(driven) == "{1"
    driven.calls("2" * 8)
    assert results(driven) == "{1{2"


def test_haystack_clears_the_oldest_results_until_the_target_is_met() -> None:
    # Lines of 812, 33 and 16 characters, with a line feed between: 1,485 tokens. From 1,400 of 2,000 on 800 may stay.
    driven = Driven("haystack-prune:context_window=2000", 2_000)
    driven.user("The task.")
    for n in range(1, 8):
        driven.calls(str(n) * 800)
    texts = driven.sent()
    gone = [text for text in texts if text.startswith("[Tool result removed") and "`bash`" in text]
    # A placeholder of 75 characters frees 203 - 21: three of them aren't enough, four are.
    assert len(gone) == 4 and texts[-1][0] == "7"


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


def test_pydantic_ai_keeps_the_task_beside_the_summary_and_clears_before_it_drops() -> None:
    # Nine messages are over eight: the last three would begin with a result, so its call stays.
    assert results(of_calls("pydantic-summarize:max_messages=8,keep_messages=3", 4)) == "TS{3{4"
    # 9 + 2 x (6 + 400) characters are 205 tokens, with one result cleared (21 characters) 110.
    driven = of_calls("pydantic-tiered:max_tokens=120,keep_pairs=1,keep_messages=2", 2, 400)
    assert results(driven) == "T{[{2"
    small = of_calls("pydantic-tiered:max_tokens=100,keep_pairs=1,keep_messages=2", 2, 400)
    assert results(small) == "T{2"


def test_pydantic_ai_cuts_what_the_model_wrote_alone() -> None:
    driven = Driven(
        "pydantic-clamp:max_part_chars=10,keep_head_chars=2,keep_tail_chars=1,clamp_tool_call_args=False", 10
    )
    driven.user("u" * 90)
    driven.says("abc" + "x" * 86 + "z")
    assert driven.sent() == ["u" * 90, "ab\n[clamped: removed 87 of 90 characters]\nz"]


def test_semantic_kernel_shows_its_summarizer_texts_alone() -> None:
    driven = Driven("sk-summarize:target_count=3", 10_000)
    driven.user("The task.")
    driven.calls("1")
    driven.says("Done.")
    driven.user("More.")
    # Five messages: the last three begin among calls, which move the cut back to the first of them.
    assert results(driven) == "S{1DM"
    assert [item.text for item in driven.asked[0]] == ["The task."]


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


def test_langchain_summarizes_from_tokens_on_or_where_it_is_told_from_messages_on() -> None:
    # Seven messages of few tokens.
    assert results(of_calls("langchain-summarize:trigger=9000,keep=2", 3)) == "T{1{2{3"
    assert results(of_calls("langchain-summarize:trigger=9000,keep=2,trigger_messages=8", 3)) == "T{1{2{3"
    assert results(of_calls("langchain-summarize:trigger=9000,keep=2,trigger_messages=7", 3)) == "H{3"


def test_deepagents_counts_tools_at_four_characters_a_token() -> None:
    # A tenth of 1,000; the messages are 7, 21 and 7 by LangChain's count, so 65 are left: 257 characters, rounded up.
    label = "deepagents:trigger=0.1,keep_messages=1"
    for characters, sent in ((256, "T{1"), (257, "H{1")):
        driven = of_calls(label, 1, window=1_000)
        driven.sees.head = Head("", ("x" * characters,))
        assert results(driven) == sent
