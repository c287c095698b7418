"""Anthropic's and OpenAI's servers, by hand."""

from __future__ import annotations

import pytest
from by_hand import SUMMARY, Driven


@pytest.mark.parametrize("label", ["anthropic-compact:trigger=100", "openai-compact:compact_threshold=100"])
def test_over_the_threshold_a_summary_stands_for_everything(label: str) -> None:
    driven = Driven(label, 1_000)
    driven.user("x" * 360)  # 90 tokens of four characters
    driven.calls("y" * 32)  # 8, 2 for the call: 100
    assert SUMMARY not in driven.sent()
    driven.calls("z")
    assert driven.sent() == [SUMMARY]
    driven.calls("after")
    assert driven.sent() == [SUMMARY, "{}", "after"]
