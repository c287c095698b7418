"""Which window held: what the log states, else what all sessions of a project with a model show together.

How one session ended tells nothing: whoever was compacted and whoever wasn't has the same window.
"""

from __future__ import annotations

from ctxsim.readers.accepted import Accepted, of_project
from ctxsim.simulator.provider.vendor import load_vendor
from ctxsim.transcript import Transcript

WINDOWS = (200_000, 256_000, 400_000, 1_000_000, 2_000_000)
"""Windows that models have had: the smallest that holds what was accepted, where the model's own doesn't."""

MARK = "[1m]"
"""Ends the name of a model that was asked for with a window of a million tokens."""


def recorded_window(
    transcript: Transcript, own: int | None, vendor: str, accepted: Accepted | None
) -> tuple[int, str] | None:
    """Return the window that held, and how it is known; None where the model's `own` is all that is known.

    `accepted`: by project and model the largest request that any session had accepted, in tokens, and how many had one.
    Where a vendor offers a model with several windows, it is the smallest that holds that.
    """
    stated = [call.window for call in transcript.calls if call.window]
    if stated:
        return max(stated), f"window {max(stated):,} stated by the log"
    if transcript.model.endswith(MARK):
        return 1_000_000, "window 1,000,000 stated by the model's name"
    largest = max((call.usage.input_tokens for call in transcript.calls if call.usage), default=0)
    others, sessions = (accepted or {}).get(of_project(transcript.project, transcript.model), (0, 1))
    largest = max(largest, others)
    among = "this session" if sessions == 1 else f"{sessions} sessions of this project with this model"
    if own is None or largest > own:
        window = next((window for window in WINDOWS if window >= largest), None)
        if not largest or window is None:
            return None
        return window, f"window {window:,} inferred: {largest:,} tokens were accepted in {among}"
    offered = [window for window in load_vendor(vendor).windows if window < own]
    smaller = next((window for window in offered if largest <= window), None)
    if smaller is None:
        return None
    return smaller, f"window {smaller:,} of {smaller:,} and {own:,}: holds all of {among}, up to {largest:,} tokens"
