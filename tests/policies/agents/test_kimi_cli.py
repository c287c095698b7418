"""Kimi CLI, by hand."""

from __future__ import annotations

from by_hand import SUMMARY, Driven


def test_two_messages_stay_with_their_results() -> None:
    driven = Driven("kimi-cli", 100_000)
    driven.user("The task.")
    for number in range(3):
        driven.calls(f"result {number}", used=49_000)
        assert SUMMARY not in driven.sent()
    # 49,998 and two tokens of the result: 50,000 are left of 100,000, long before 85 %.
    driven.calls("result 3", used=49_998)
    assert driven.sent() == [SUMMARY, "{}", "result 2", "{}", "result 3"]
    assert all(item.kind != "tool_call" for item in driven.asked[0])


def test_two_messages_are_never_summarised() -> None:
    driven = Driven("kimi-cli", 100_000)
    driven.user("The task.")
    driven.calls("one", used=90_000)
    assert driven.sent() == ["The task.", "{}", "one"] and not driven.asked
    driven.says("Done.", used=90_000)
    assert driven.sent() == [SUMMARY, "{}", "one", "Done."]
    assert driven.told == ["Compacted 1 items into a summary: 90,000 tokens are 50,000 or more"]
