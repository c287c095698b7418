"""A policy knows nothing of the future: a transcript cut at any call leaves all earlier edits as they were."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import transcripts

from ctxsim.policies import open_policy
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.replay import Sent, replay
from ctxsim.transcript import Transcript

POLICIES = (
    "token-budget:budget=60,retain=10", "truncate-after-use:retain=5", "retry", "max-result-chars:chars=20",
    "max-messages:n=3", "head-tail:lines=2,bytes=30", "fifo:budget=100", "summary:at=0.3,keep_last=2", "mask:keep=1",
    "clear-tool-uses:trigger=50,keep=1", "three-layer:at=0.2,stop=0.4", "round-summary:every=2", "claude-code", "codex",
    "fifo:budget=90,estimator=usage-tail", "gemini-cli", "opencode",
)  # fmt: skip


def cut(transcript: Transcript, calls: int) -> Transcript:
    """Its first calls, with what had joined by the last of them."""
    kept = transcript.calls[:calls]
    return msgspec.structs.replace(transcript, calls=kept, items=transcript.items[: kept[-1].end])


def told(found: list[Sent]) -> list[object]:
    return [(one.status, one.tokens_sent, one.edits, one.bill) for one in found]


@pytest.mark.parametrize("label", POLICIES)
@settings(max_examples=12, deadline=None)
@given(transcript=transcripts(), window=st.sampled_from([60, 300, 100_000]), data=st.data())
def test_earlier_edits_stay_as_they_were(label: str, transcript: Transcript, window: int, data: st.DataObject) -> None:
    if not transcript.calls:
        return
    calls = data.draw(st.integers(1, len(transcript.calls)))
    provider = Provider(window=window, cache="anthropic", pace_s=5)
    whole, part = (list(replay(one, open_policy(label), provider)) for one in (transcript, cut(transcript, calls)))
    # What follows the last response joins after it, so only edits before that are told of.
    assert told(whole)[: calls - 1] == told(part)[: calls - 1]
    last, same = whole[calls - 1], part[-1]
    assert (last.status, last.tokens_sent, [*last.view]) == (same.status, same.tokens_sent, [*same.view])
