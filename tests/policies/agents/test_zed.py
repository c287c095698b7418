"""Zed, by hand."""

from __future__ import annotations

import pytest
from by_hand import SUMMARY, Driven

from ctxsim.errors import LabelError


@pytest.mark.parametrize(
    ("threshold", "output", "at"),
    [
        ("90%", 0, 900_000), ("90%", 32_000, 871_200), ("55.5%", 0, 555_000), ("40000", 32_000, 40_000),
        ("-20000", 0, 980_001), ("-20000", 32_000, 948_001),
    ],
)  # fmt: skip
def test_a_share_tokens_used_and_tokens_left(threshold: str, output: int, at: int) -> None:
    for used, compacted in ((at - 1, False), (at, True)):
        driven = Driven(f"zed:threshold={threshold},max_output_tokens={output}", 1_000_000)
        driven.user("The task.")
        driven.calls("r" * 40_000, used=used)  # what joined since isn't counted
        assert (SUMMARY in driven.sent()) is compacted


def test_a_text_that_no_response_has_seen_stays() -> None:
    driven = Driven("zed", 100_000)
    driven.user("The task.")
    driven.says("Done.", used=95_000)
    driven.user("More.")
    assert driven.sent() == ["The task.", SUMMARY, "More."]


@pytest.mark.parametrize(
    ("most", "kept"), [(9, ["two", "thrée"]), (8, ["tw", "thrée"]), (6, ["thrée"]), (5, ["thré"]), (0, [])]
)
def test_the_users_newest_texts_stay_before_the_summary_by_their_bytes(most: int, kept: list[str]) -> None:
    driven = Driven(f"zed:keep_user_bytes={most}", 100_000)
    for text in ("one", "two", "thrée"):
        driven.user(text)
        driven.says("Done.", used=95_000 if text == "thrée" else 100)
    assert driven.sent() == [*kept, SUMMARY]
    assert [item.text for item in driven.asked[0] if item.kind == "user"] == ["one", "two", "thrée"]


def test_a_small_window_and_a_switch_keep_everything() -> None:
    for label, window, kept in (
        ("zed", 79_999, True), ("zed", 80_000, False), ("zed:enabled=False", 100_000, True),
        ("zed:max_output_tokens=1", 80_000, True),
    ):  # fmt: skip
        driven = Driven(label, window)
        driven.user("The task.")
        driven.says("Done.", used=window)
        assert driven.sent() == (["The task.", "Done."] if kept else ["The task.", SUMMARY])


@pytest.mark.parametrize("threshold", ["0", "-0", "0.9", "x"])
def test_what_no_threshold_is_told(threshold: str) -> None:
    with pytest.raises(LabelError, match=rf"threshold={threshold}: write a share as 90%"):
        Driven(f"zed:threshold={threshold}", 100_000)
