"""opencode, by hand."""

from __future__ import annotations

import msgspec
import pytest
from by_hand import SUMMARY, Driven

from ctxsim.counting.estimators import open_estimator
from ctxsim.policies.agents.opencode.policy import GO_ON
from ctxsim.transcript import CLEARED, Item, Media

# 1,000 less 200 of output: 800 usable, of which 200 tokens may stay.
SMALL = "opencode:output=200,preserve_recent_tokens=200"


def test_the_usage_of_a_step_decides_and_results_since_do_not_count() -> None:
    driven = Driven(SMALL, 1_000)
    driven.user("The task.")
    driven.calls("x" * 4_000, used=799)
    assert SUMMARY not in driven.sent()
    driven.calls("y", used=800)
    assert SUMMARY in driven.sent()
    assert SUMMARY not in [text for text in driven.sent() if text != SUMMARY], "once, until usage is told again"


def test_where_the_newest_is_too_large_nothing_stays() -> None:
    driven = Driven(SMALL, 1_000)
    driven.user("The task.")
    driven.calls("a", used=100)
    driven.calls("b" * 4_000, used=800)
    assert driven.sent() == [SUMMARY, GO_ON]
    # The summariser gets 2,000 characters of it.
    assert max(len(item.text) for item in driven.asked[0]) == 2_000


def test_a_refused_request_is_compacted_every_time() -> None:
    driven = Driven("opencode:output=200", 1_000)
    # All that came fits the tail: then nothing stays, also behind a summary.
    driven.user("The task.")
    for _ in range(3):
        driven.calls("a" * 800, "b" * 800, used=100)
        answer = driven.refused()
        assert answer is not None and SUMMARY in [item.text for item in answer]


def test_a_window_no_larger_than_the_output_is_never_compacted() -> None:
    driven = Driven("opencode", 32_000)
    driven.user("The task.")
    driven.calls("a", used=31_000)
    assert SUMMARY not in driven.sent()


@pytest.mark.parametrize(
    ("older", "newer", "cleared", "tool"),
    # Characters by 4, rounded. The newer one is within 40,000, or one over it; of the older ones more than 20,000 go.
    [
        (80_001, 160_001, "", "bash"), (80_002, 160_001, "0", "bash"), (80_002, 160_002, "01", "bash"),
        (79_996, 160_002, "01", "bash"), (80_002, 160_002, "", "skill"),
    ],
)  # fmt: skip
def test_when_a_turn_ends_pruning_clears_what_is_older_than_the_last_two_and_much_newer_text(
    older: int, newer: int, cleared: str, tool: str
) -> None:
    driven = Driven("opencode:prune=True,max_bytes=200000", 10_000_000)
    driven.user("one")
    sizes = [older, newer]
    for number, size in enumerate(sizes):
        driven.calls(str(number) * size, used=100, tool=tool)
    for text in ("two", "three", "four"):
        assert CLEARED not in driven.sent()
        driven.says(used=100)
        driven.user(text)
    results = [text for text in driven.sent() if text == CLEARED or len(text) > 1_000]
    assert results == [CLEARED if str(n) in cleared else str(n) * size for n, size in enumerate(sizes)]


def test_pruning_stops_at_what_is_cleared_already() -> None:
    # Behind 40,000 tokens 19,996 aren't enough; the results that were cleared before don't count with them.
    driven = Driven("opencode:prune=True,max_bytes=200000", 10_000_000)
    driven.user("one")
    for size in (80_004, 160_000):
        driven.calls("x" * size, used=100)
    for text in ("two", "three", "four"):
        driven.says(used=100)
        driven.user(text)
    assert driven.sent().count(CLEARED) == 1
    driven.calls("x" * 80_000, used=100)
    driven.calls("x" * 79_984, used=100)
    for text in ("five", "six", "seven"):
        driven.says(used=100)
        driven.user(text)
    # The newest 39,996 stay, and the 40,000 before them are more than enough.
    assert driven.sent().count(CLEARED) == 2
    small = Driven("opencode:prune=True,max_bytes=200000", 10_000_000)
    small.user("one")
    for size in (80_004, 79_984, 160_000):
        small.calls("x" * size, used=100)
    for text in ("two", "three", "four"):
        small.says(used=100)
        small.user(text)
    assert small.sent().count(CLEARED) == 2


def test_without_auto_not_even_a_refusal_compacts() -> None:
    # Seen in 1.18.33: the refused request ended the run.
    driven = Driven(f"{SMALL},auto=False", 10_000)
    driven.user("The task.")
    driven.calls("r" * 20_000, used=9_999)
    assert SUMMARY not in driven.sent()
    assert driven.refused() is None


def test_the_tail_has_so_many_turns() -> None:
    def kept(label: str) -> list[str]:
        driven = Driven(label, 10_000)
        for text in ("First.", "Second.", "Third."):
            driven.user(text)
            driven.says(f"Done with {text}", used=9_900 if text == "Third." else 100)
        driven.user("More.")
        return [text for text in driven.sent() if text != SUMMARY]

    assert kept("opencode:output=200,preserve_recent_tokens=50,tail_turns=0") == ["More."]
    assert kept(f"{SMALL},tail_turns=1") == ["Third.", "Done with Third.", "More."]
    assert kept(f"{SMALL},tail_turns=2") == ["Second.", "Done with Second.", "Third.", "Done with Third.", "More."]


@pytest.mark.parametrize(
    ("preserve", "usable", "stay"),
    [
        (999, 12_000, 1), (1_000, 12_000, 2), (6_000, 12_000, 12),
        # Unset it is a quarter, but at least 2,000 and at most 15,000; where all would stay, nothing does.
        (-1, 12_000, 6), (-1, 7_996, 4), (-1, 62_000, 30), (15_500, 62_000, 31), (30_000, 62_000, 0),
    ],
)  # fmt: skip
def test_messages_that_fill_the_tokens_stay(preserve: int, usable: int, stay: int) -> None:
    # Exchanges of 6 and 494.
    label = f"opencode:output=200,preserve_recent_tokens={preserve},estimator=chars:ratio=1"
    driven = Driven(label, usable + 200)
    driven.user("The task.")
    for _ in range(32):
        driven.calls("r" * 494, used=usable)
    assert driven.sent() == [SUMMARY, *["{}", "r" * 494] * stay, GO_ON]
    reason = f"{usable:,} tokens are {usable:,} or more"
    assert driven.told == [f"Compacted {65 - 2 * stay} items into a summary: {reason}"]


@pytest.mark.parametrize(
    ("item", "written"),
    [
        (Item("user", 0, 0, "Hi \u6570"), '{"role":"user","content":[{"type":"text","text":"Hi \u6570"}]}'),
        (
            Item("tool_result", 0, 0, "\u6570", "bash", None, "c1"),
            '{"role":"tool","content":[{"type":"tool-result","toolCallId":"c1","toolName":"bash",'
            '"output":{"type":"text","value":"\u6570"}}]}',
        ),
        (Item("summary", 0, 0, "Hi"), '{"role":"assistant","content":[{"type":"text","text":"Hi"}]}'),
        (
            Item("tool_call", 0, 0, '{"a": [1, 2]}', "bash", None, "c1"),
            '{"role":"assistant","content":[{"type":"tool-call","toolCallId":"c1","toolName":"bash",'
            '"input":{"a":[1,2]}}]}',
        ),
        (
            Item("tool_call", 0, 0, "no JSON at all", "bash", None, "c1"),
            '{"role":"assistant","content":[{"type":"tool-call","toolCallId":"c1","toolName":"bash",'
            '"input":"no JSON at all"}]}',
        ),
    ],
)
def test_every_kind_of_message_counts_as_it_is_written(item: Item, written: str) -> None:
    estimator = open_estimator("opencode")
    assert estimator.item(item) == int(len(written) / 4 + 0.5)
    image = msgspec.structs.replace(item, media=(Media("image", 85),))
    assert estimator.item(image) == estimator.item(item) + 85
