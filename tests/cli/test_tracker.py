"""The token tracker, by hand."""

from __future__ import annotations

from ctxsim.cli.tracker import TokenTracker


def test_token_tracker() -> None:
    tracker = TokenTracker(1_000_000)
    assert (tracker.used, tracker.average, tracker.calls_left) == (0, 0.0, None)
    nothing = "        0 / 1,000,000 (0.0% used) | this call +0, output 0 | average +0 per call"
    assert tracker.report() == nothing
    # 5K, then 20K more per call: 955K left are 47 calls.
    for used in (5_000, 25_000, 45_000):
        tracker.record(used, 850)
    assert (tracker.average, tracker.calls_left, tracker.percent_used) == (20_000, 47, 4.5)
    assert "45,000 / 1,000,000 (4.5% used)" in tracker.report() and "~47 calls left" in tracker.report()
