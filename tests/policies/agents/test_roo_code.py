"""Roo Code, by hand."""

from __future__ import annotations

import pytest
from by_hand import SUMMARY, Driven


def test_usage_and_half_as_much_again_as_the_last_message_decide() -> None:
    # 10,000 less a tenth and less 2,000 of output is 7,000. 100 tokens count 150.
    for used, compacted in ((6_849, False), (6_850, False), (6_851, True)):
        driven = Driven("roo-code:max_tokens=2000", 10_000)
        driven.user("The task.")
        driven.calls("word " * 99 + "word", used=used)
        assert (SUMMARY in driven.sent()) is compacted


@pytest.mark.parametrize(
    ("given", "allowed"), [("", 351_808), ("model=gpt-5.2,", 232_000), ("max_tokens=90000,", 270_000)]
)
def test_the_reserved_output_is_the_models_and_has_no_limit(given: str, allowed: int) -> None:
    for used, compacted in ((allowed - 1, False), (allowed, True)):
        driven = Driven(f"roo-code:{given}estimator=chars:ratio=1", 400_000)
        driven.user("The task.")
        driven.calls("r", used=used)
        assert (SUMMARY in driven.sent()) is compacted


def test_results_in_one_message_count_together() -> None:
    driven = Driven("roo-code:max_tokens=2000", 10_000)
    driven.user("The task.")
    driven.calls("word " * 50, "word " * 50, used=6_860)
    assert driven.sent() == [SUMMARY]


def test_where_the_summary_fails_half_of_the_messages_are_hidden() -> None:
    driven = Driven("roo-code:max_tokens=2000", 10_000, refuses=lambda items: True)
    driven.user("The task.")
    for number in range(4):
        driven.calls(f"result {number}", used=9_000 if number == 3 else 100)
    # Nine messages: (9 - 1) / 2 = 4 after the first are hidden.
    note = "[Sliding window truncation: 4 messages hidden to reduce context]"
    assert driven.sent() == ["The task.", note, "{}", "result 2", "{}", "result 3"]


def test_a_refusal_under_both_thresholds_sends_the_same_again() -> None:
    """Upstream's defect: the request that was refused at 19,474 of 200,000 tokens goes out three more times."""
    driven = Driven("roo-code", 200_000)
    driven.user("The task.")
    driven.calls("r", used=19_474)
    assert driven.refused() is None and not driven.asked
    driven.calls("r", used=151_000)
    assert driven.refused() is not None


def test_without_usage_nothing_is_done() -> None:
    driven = Driven("roo-code", 1_000)
    driven.user("word " * 5_000)
    driven.calls("r", used=0)
    assert SUMMARY not in driven.sent()
    first = Driven("roo-code", 1_000)
    first.user("word " * 5_000)
    assert SUMMARY not in first.sent()
    first.says("Done.", used=0)
    first.user("word " * 5_000)
    assert SUMMARY not in first.sent()


def test_a_result_whose_call_is_hidden_goes_with_it() -> None:
    driven = Driven("roo-code:max_tokens=2000", 10_000, refuses=lambda items: True)
    driven.user("The task.")
    driven.says("I look.", used=100)
    driven.calls("result 0", used=100)
    driven.calls("result 1", used=9_000)
    # Six messages: (6 - 1) // 2 is 2, the text and the first call.
    assert driven.sent()[2:] == ["{}", "result 1"]


@pytest.mark.parametrize(("used", "compacted"), [(4_998, False), (4_999, True)])
def test_its_own_share_is_a_second_threshold(used: int, compacted: bool) -> None:
    # The last message is one more.
    driven = Driven("roo-code:auto_condense_context_percent=50,max_tokens=2000,estimator=chars:ratio=1", 10_000)
    driven.user("The task.")
    driven.calls("r", used=used)
    assert (SUMMARY in driven.sent()) is compacted
    if compacted:
        # Until usage is told again nothing else happens.
        driven.user("x" * 9_000)
        assert driven.sent() == [SUMMARY, "x" * 9_000] and len(driven.asked) == 1
    assert driven.told == ["Compacted 3 items into a summary: 5,000 tokens of 10,000"] * compacted


@pytest.mark.parametrize(
    ("calls", "used", "left"),
    [
        # 7,000 with the last message aren't over 7,000; one more is.
        (4, 6_999, "t01234"), (4, 7_000, "t*34"),
        # Of ten messages (10 - 1) // 2 are four, of six two, of four none. What a call brought goes too.
        (2, 7_000, "t*2"), (1, 7_000, "t01"),
    ],
)  # fmt: skip
def test_without_condensing_half_of_the_messages_are_hidden_once(calls: int, used: int, left: str) -> None:
    driven = Driven("roo-code:auto_condense_context=False,max_tokens=2000,estimator=chars:ratio=1", 10_000)
    driven.user("task")
    driven.says("0")
    for number in range(1, calls + 1):
        driven.calls(str(number), used=used)
    for _ in range(2):
        sent = [text for text in driven.sent() if text != "{}"]
        assert "".join("*" if text.startswith("[Sliding") else text[0] for text in sent) == left
    driven.user("x" * 9_000)
    assert len(driven.sent()) - len(sent) <= calls + 1


def test_the_task_stays_in_front_of_the_notice_however_often_messages_are_hidden() -> None:
    driven = Driven("roo-code:auto_condense_context=False,max_tokens=2000,estimator=chars:ratio=1", 10_000)
    driven.user("The task.")
    for _ in range(3):
        for _ in range(3):
            driven.calls("r", used=7_000)
        task, notice, *rest = driven.sent()
        assert task == "The task." and notice.startswith("[Sliding")
        assert not any(text.startswith("[Sliding") for text in rest)
