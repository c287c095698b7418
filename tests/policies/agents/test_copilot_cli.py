"""GitHub Copilot CLI, by hand."""

from __future__ import annotations

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


def test_a_large_output_becomes_a_notice() -> None:
    driven = Driven("copilot-cli", 100_000)
    driven.user()
    (small,), (large,) = driven.calls("x" * 20_479), driven.calls("line\n" * 5_000)
    assert len(driven.text(small)) == 20_479 and len(driven.text(large)) < 900
    assert driven.text(large).count("line\n") == 4


def test_a_refused_request_ends_the_turn() -> None:
    driven = Driven("copilot-cli", 100_000)
    driven.user()
    driven.calls("r")
    assert driven.refused() is None
