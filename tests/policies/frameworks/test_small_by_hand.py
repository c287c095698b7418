"""Small policies of frameworks: each bound from both sides."""

from __future__ import annotations

import pytest
from by_hand import SUMMARY, Driven

from ctxsim.errors import LabelError

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
