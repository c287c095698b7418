"""Codex, by hand."""

from __future__ import annotations

import pytest
from by_hand import SUMMARY, Driven

from ctxsim.policies import open_policy
from ctxsim.policies.agents.codex.policy import Codex, middle_truncated

AFTER_PREFIX = "model_auto_compact_token_limit={},model_auto_compact_token_limit_scope=body_after_prefix"


def test_a_long_output_loses_its_middle_by_bytes() -> None:
    # 12 bytes to 4: two at each end, eight between are ceil(8 / 4) = 2 tokens. An é has two bytes and isn't halved.
    assert middle_truncated("abcdefghijkl", 4) == "ab…2 tokens truncated…kl"
    assert middle_truncated("aébcdefghéz!", 4) == "a…3 tokens truncated…z!"
    assert middle_truncated("abcd", 4) == "abcd"


def test_users_texts_and_a_summary_are_all_that_stays() -> None:
    driven = Driven("codex", 1_000)
    driven.user("The task.")
    driven.calls("result one", used=100)
    driven.says("Half done.", used=950)
    driven.user("And now?")
    # 950 of 1,000 are over 0.9: before the new text, which comes after the summary.
    assert driven.sent() == ["The task.", SUMMARY, "And now?"]


def test_a_text_of_the_user_is_not_counted_before_its_turn() -> None:
    driven = Driven("codex", 1_000)
    driven.user("The task.")
    driven.says("Done.", used=600)
    driven.user("word " * 400)  # 2,000 bytes: 500 tokens and more
    assert SUMMARY not in driven.sent()
    driven.calls("r", used=860)
    driven.calls("word " * 40, used=870)  # the same as a result: 870 + 200 bytes / 4 and fields
    assert SUMMARY in driven.sent()


def test_the_newest_texts_stay_within_their_limit_and_the_one_that_crosses_loses_its_middle() -> None:
    driven = Driven("codex:keep_user_tokens=10", 1_000)
    driven.user("first " * 10)
    driven.says(used=100)
    driven.user("a" * 40)  # 10 tokens, of which 7 are left
    driven.says(used=100)
    driven.user("b" * 12)  # 3 tokens
    driven.calls("r", used=950)
    assert driven.sent() == [f"{'a' * 14}…3 tokens truncated…{'a' * 14}", "b" * 12, SUMMARY]


@pytest.mark.parametrize(
    ("options", "window", "first", "threshold"),
    [
        ("", 1_001, 900, 900), ("model_auto_compact_token_limit=899", 1_001, 899, 899),
        ("model_auto_compact_token_limit=901", 1_001, 900, 900),
        # Beside the first request's 300 tokens, once it is answered; never over 95 %.
        (AFTER_PREFIX.format(400), 1_010, 959, 700), (AFTER_PREFIX.format(700), 1_010, 959, 959),
        (AFTER_PREFIX.format(0), 1_010, 959, 959),
    ],
)  # fmt: skip
def test_thresholds_before_and_after_a_response(options: str, window: int, first: int, threshold: int) -> None:
    driven = Driven(f"codex:{options}" if options else "codex", window)
    driven.user("The task.")
    assert driven.threshold == first
    driven.says("Done.", used=300)
    driven.says("Done.", used=500)
    assert driven.threshold == threshold


@pytest.mark.parametrize(("used", "compacted"), [(899, False), (900, True)])
def test_usage_that_reaches_the_limit_is_enough(used: int, compacted: bool) -> None:
    driven = Driven("codex", 1_000)
    driven.user("The task.")
    driven.says("Done.", used=used)
    driven.user("More.")
    assert (SUMMARY in driven.sent()) is compacted
    told = "Compacted 1 items into a summary: 900 tokens are 900 or more"
    assert driven.told == ([told] if compacted else [])


def test_what_nobody_summarises_stays_and_a_lone_summary_is_not_summarised_again() -> None:
    driven = Driven("codex", 1_000, refuses=lambda items: True)
    driven.user("The task.")
    driven.says("Done.", used=950)
    driven.user("More.")
    assert driven.sent() == ["The task.", "Done.", "More."]
    assert [len(items) for items in driven.asked] == [2, 1]
    driven = Driven("codex:keep_user_tokens=1000", 1_000)
    driven.user("a" * 4_000)
    driven.calls("r", used=1_000)
    assert driven.sent() == driven.sent() == ["a" * 4_000, SUMMARY] and len(driven.asked) == 1


@pytest.mark.parametrize(("label", "tokens"), [("codex:keep_user_tokens=10", 10), ("codex:remote=True", 64_000)])
def test_a_text_that_fills_the_limit_leaves_no_room_for_another(label: str, tokens: int) -> None:
    for over in (0, 1):
        driven = Driven(label, 1_000_000)
        driven.user("gone")
        driven.user("a" * (4 * tokens + over))
        driven.calls("r", used=950_000)
        half = "a" * (2 * tokens)
        assert driven.sent() == [half + ("…1 tokens truncated…" if over else "") + half, SUMMARY]


def test_a_limit_may_be_beside_the_first_request() -> None:
    # The first request had 300 tokens: 400 more are 700. After the summary the next request is the first.
    driven = Driven(
        "codex:model_auto_compact_token_limit=400,model_auto_compact_token_limit_scope=body_after_prefix", 1_000
    )
    driven.user("The task.")
    driven.calls("r", used=300)
    driven.calls("r", used=600)
    assert SUMMARY not in driven.sent()
    driven.calls("r", used=700)
    assert SUMMARY in driven.sent()
    driven.calls("r", used=500)
    driven.calls("r", used=800)
    assert len(driven.asked) == 1
    driven.sent()
    assert len(driven.asked) == 1, "500 + 400 are more than 800 and a result"
    driven.calls("r", used=890)
    driven.sent()
    assert len(driven.asked) == 2


def test_where_nothing_stands_before_the_first_text_nothing_is_summarised() -> None:
    driven = Driven("codex", 1_000, head=2_000)
    driven.user("The task.")
    assert driven.sent() == ["The task."] and driven.asked == []


def test_of_a_summary_request_that_overflows_a_call_leaves_with_its_own_result_alone() -> None:
    driven = Driven("codex", 1_000, refuses=lambda items: True)
    driven.user("The task.")
    driven.calls("one", "two", said="I look.", used=950)
    driven.sent()
    whole = ["The task.", "I look.", "{}", "{}", "one", "two"]
    assert [[item.text for item in asked] for asked in driven.asked] == [
        whole, whole[1:], whole[2:], ["{}", "two"],
    ]  # fmt: skip


@pytest.mark.parametrize(("version", "model", "remote"), [
    ("0.142.2", "gpt-5.3-codex-spark", True), ("0.171.0", "gpt-6", True), ("0.142.1", "gpt-5.3-codex", False),
    ("0.171.0", "qwen3-coder", False), ("0.171.0", "", False),
])  # fmt: skip
def test_the_server_compacts_for_openais_models_since_it_was_recorded(version: str, model: str, remote: bool) -> None:
    for label, expected in (("codex", remote), ("codex:remote=False", False)):
        (codex,) = open_policy(label).as_shipped("codex-rollout", version, model).create()
        assert isinstance(codex, Codex) and codex.remote is expected
