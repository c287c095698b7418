"""Zed, by hand."""

from __future__ import annotations

import pytest
from by_hand import SUMMARY, Driven

from ctxsim.errors import LabelError


@pytest.mark.parametrize(
    ("threshold", "at"), [("90%", 90_000), ("55.5%", 55_500), ("40000", 40_000), ("-20000", 80_000)]
)
def test_a_share_tokens_used_and_tokens_left(threshold: str, at: int) -> None:
    for used, compacted in ((at - 1, False), (at, True)):
        driven = Driven(f"zed:threshold={threshold}", 100_000)
        driven.user("The task.")
        driven.calls("r" * 40_000, used=used)  # what joined since isn't counted
        assert (SUMMARY in driven.sent()) is compacted


def test_a_text_that_no_response_has_seen_stays() -> None:
    driven = Driven("zed", 100_000)
    driven.user("The task.")
    driven.says("Done.", used=95_000)
    driven.user("More.")
    assert driven.sent() == [SUMMARY, "More."]


def test_a_small_window_and_a_switch_keep_everything() -> None:
    for label, window, kept in (("zed", 79_999, True), ("zed", 80_000, False), ("zed:enabled=False", 100_000, True)):
        driven = Driven(label, window)
        driven.user("The task.")
        driven.says("Done.", used=window)
        assert driven.sent() == (["The task.", "Done."] if kept else [SUMMARY])


@pytest.mark.parametrize("threshold", ["0", "-0", "0.9", "x"])
def test_what_no_threshold_is_told(threshold: str) -> None:
    with pytest.raises(LabelError, match=rf"threshold={threshold}: write a share as 90%"):
        Driven(f"zed:threshold={threshold}", 100_000)
