"""Recorded compactions that contradict what is set are a line of their own."""

from __future__ import annotations

from ctxsim.answers.advice.honoured import contradictions
from ctxsim.results.run_info import Recorder


def recorder(fires_at: int | None, at: int | None = None, peak: int | None = None) -> Recorder:
    return Recorder("t", "claude-code", "2.1.5", "m", fires_at, at, peak)


def test_earlier_in_most_is_told_with_what_was_expected() -> None:
    ones = [*[recorder(167_000, 155_000, 155_000)] * 9, *[recorder(167_000, 166_000, 166_000)] * 2]
    assert contradictions(ones) == [
        "Not as set: compaction expected at 167K tokens, but it came at 155K in 9 of 11 transcripts."
    ]


def test_where_most_come_as_set_nothing_is_said() -> None:
    ones = [recorder(167_000, 155_000), recorder(167_000, 166_000), recorder(167_000, 170_000), recorder(167_000)]
    assert contradictions(ones) == []


def test_larger_requests_without_a_compaction_are_never() -> None:
    ones = [recorder(100_000, peak=150_000), recorder(100_000, peak=140_000), recorder(100_000, peak=90_000)]
    assert contradictions(ones) == [
        "Not as set: compaction expected at 100K tokens, but 2 of 2 transcripts grew larger without one."
    ]


def test_a_compaction_that_nothing_sets_off_is_told() -> None:
    assert contradictions([recorder(None, 150_000), recorder(None)]) == [
        "Not as set: no compaction expected before a refusal, but it came at 150K tokens in 1 transcript."
    ]
    assert contradictions([recorder(None, peak=900_000)]) == []


def test_each_threshold_is_judged_by_its_own_sessions() -> None:
    ones = [recorder(167_000, 167_500), recorder(967_000, 200_000)]
    assert contradictions(ones) == [
        "Not as set: compaction expected at 967K tokens, but it came at 200K in 1 of 1 transcripts."
    ]
