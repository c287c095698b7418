"""The oracle that loses nothing."""

from __future__ import annotations

from hypothesis import given, settings
from samples import summarized
from strategies import transcripts

from ctxsim.transcript import Transcript


@settings(max_examples=40)
@given(transcript=transcripts())
def test_the_lossless_oracle_loses_nothing(transcript: Transcript) -> None:
    summary = summarized(transcript, "oracle-lossless")
    assert {summary.survival, summary.survival_loose, summary.survival_fresh} <= {None, 1.0}
