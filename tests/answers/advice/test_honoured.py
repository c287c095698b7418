"""Recorded compactions that contradict what is set are a line of their own."""

from __future__ import annotations

from ctxsim.answers.advice.honoured import OFF, contradictions
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


def test_what_is_off_by_the_share_is_as_set_and_half_of_the_transcripts_is_not_most() -> None:
    near = [recorder(100_000, round(100_000 * (1 + sign * OFF))) for sign in (1, -1)]
    assert contradictions(near) == [] and contradictions([recorder(100_000, peak=round(100_000 * (1 + OFF)))]) == []
    assert contradictions([recorder(100_000, round(100_000 * (1 + OFF)) + 1)]) != []
    assert contradictions([recorder(100_000, peak=round(100_000 * (1 + OFF)) + 1)]) != []
    off, right = recorder(100_000, 50_000), recorder(100_000, 100_000)
    assert contradictions([off, right]) == [] and len(contradictions([off, off, right])) == 1
    # As many came elsewhere as never: where they came is told.
    assert "came at 50K in 1 of 2" in contradictions([off, recorder(100_000, peak=900_000)])[0]
    assert contradictions([recorder(None, 40_000), recorder(None, 60_000)]) == [
        "Not as set: no compaction expected before a refusal, but it came at 50K tokens in 2 transcripts."
    ]
