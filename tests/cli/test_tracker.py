"""The token tracker, by hand."""

from __future__ import annotations

from ctxsim.cli.tracker import TokenTracker


def test_token_tracker() -> None:
    tracker = TokenTracker(1_000_000)
    assert (tracker.used, tracker.average, tracker.calls_left) == (0, 0.0, None)
    assert tracker.report() == "         0   0.0%        +0        +0      -       0"
    # 5K, then 20K more per call: 955K left are 47 calls.
    for used in (5_000, 25_000, 45_000):
        tracker.record(used, 850)
    assert (tracker.average, tracker.calls_left, tracker.percent_used) == (20_000, 47, 4.5)
    assert tracker.report() == "    45,000   4.5%   +20,000   +20,000     47     850"
