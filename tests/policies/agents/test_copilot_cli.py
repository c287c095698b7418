"""GitHub Copilot CLI, by hand."""

from __future__ import annotations

import pytest
from by_hand import SUMMARY, Driven


def test_a_summary_is_asked_for_beside_a_request_and_stands_in_the_next() -> None:
    driven = Driven("copilot-cli:overhead=0", 100)
    driven.user("The task.")
    driven.calls("word " * 70, used=1)
    assert SUMMARY not in "".join(driven.sent()) and not driven.asked
    driven.calls("word " * 20, used=1)
    # Over 80 of 100 tokens: it goes out whole, while the summary is made.
    assert SUMMARY not in "".join(driven.sent()) and len(driven.asked) == 1
    driven.calls("made meanwhile", used=1)
    sent = driven.sent()
    assert len(sent) == 3 and sent[1:] == ["{}", "made meanwhile"]
    assert SUMMARY in sent[0] and "The task." in sent[0]


@pytest.mark.parametrize(("words", "asked"), [(69, False), (70, True)])
def test_what_its_tools_are_counts_too(words: int, asked: bool) -> None:
    # 80 of 100 tokens, of which its tools are 10.
    driven = Driven("copilot-cli:overhead=10,estimator=chars:ratio=1", 100)
    driven.user("x" * words)
    driven.sent()
    assert driven.threshold == 80 and bool(driven.asked) is asked


def test_a_summary_that_fails_is_asked_for_again_and_a_lone_one_never() -> None:
    driven = Driven("copilot-cli:overhead=0,estimator=chars:ratio=1", 10, refuses=lambda items: True)
    driven.user("The task.")
    assert driven.sent() == driven.sent() == ["The task."] and len(driven.asked) == 2
    driven = Driven("copilot-cli:overhead=0,estimator=chars:ratio=1", 10)
    driven.user("The task.")
    summary = f"User messages:\n\nThe task.\n\n{SUMMARY}"
    assert [driven.sent() for _ in range(3)] == [["The task."], [summary], [summary]] and len(driven.asked) == 1


def test_every_summary_quotes_all_texts_of_the_user() -> None:
    driven = Driven("copilot-cli:overhead=0,estimator=chars:ratio=1", 100)
    for task in ("First.", "Second.", "Third."):
        driven.user(task)
        driven.calls("r" * 80)
        driven.sent()
        driven.says()
        driven.sent()
    assert driven.sent()[0] == f"User messages:\n\nFirst.\n\nSecond.\n\nThird.\n\n{SUMMARY}"
