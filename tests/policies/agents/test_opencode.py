"""opencode, by hand."""

from __future__ import annotations

import json

from by_hand import SUMMARY, Driven

from ctxsim.counting.estimators import open_estimator
from ctxsim.policies.agents.opencode.policy import GO_ON
from ctxsim.policies.agents.shared.cuts import CLEARED
from ctxsim.transcript import Item

# 1,000 less 200 of output: 800 usable, of which a quarter, 200 tokens, may stay.
SMALL = "opencode:output=200"


def test_the_usage_of_a_step_decides_and_results_since_do_not_count() -> None:
    driven = Driven(SMALL, 1_000)
    driven.user("The task.")
    driven.calls("x" * 4_000, used=799)
    assert SUMMARY not in driven.sent()
    driven.calls("y", used=800)
    assert SUMMARY in driven.sent()
    assert SUMMARY not in [text for text in driven.sent() if text != SUMMARY], "once, until usage is told again"


def test_summary_then_the_newest_exchanges_then_the_request_to_go_on() -> None:
    # With the fields of two messages in JSON, about 56 tokens: of 160 characters (96) two fit 200, of 240 (116) one.
    for chars, stay in ((160, "cd"), (240, "d")):
        driven = Driven(SMALL, 1_000)
        driven.user("The task.")
        for letter in "abc":
            driven.calls(letter * chars, used=100)
        driven.calls("d" * chars, used=800)
        assert driven.sent() == [SUMMARY, *(text for letter in stay for text in ("{}", letter * chars)), GO_ON]
        assert all(len(item.text) <= 2_000 for item in driven.asked[0])


def test_messages_count_as_the_agents_library_writes_them() -> None:
    part = {"type": "tool-result", "toolCallId": "call_1", "toolName": "bash"}
    message = {"role": "tool", "content": [part | {"output": {"type": "text", "value": "数" * 100}}]}
    item = Item("tool_result", 1, 1, "数" * 100, tool="bash", call_id="call_1")
    written = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    assert open_estimator("opencode").item(item) == int(len(written) / 4 + 0.5)


def test_where_the_newest_is_too_large_nothing_stays() -> None:
    driven = Driven(SMALL, 1_000)
    driven.user("The task.")
    driven.calls("a", used=100)
    driven.calls("b" * 4_000, used=800)
    assert driven.sent() == [SUMMARY, GO_ON]
    # The summariser gets 2,000 characters of it.
    assert max(len(item.text) for item in driven.asked[0]) == 2_000


def test_a_refused_request_is_compacted_every_time() -> None:
    driven = Driven(SMALL, 1_000)
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


def test_pruning_clears_what_is_older_than_two_turns_and_much_newer_text() -> None:
    driven = Driven("opencode:prune=True,max_bytes=100000", 10_000_000)
    driven.user("one")
    for _ in range(4):
        driven.calls("x" * 80_000, used=100)  # 20,000 tokens each: the newest two are 40,000
    for text in ("two", "three"):
        assert CLEARED not in driven.sent()
        driven.says(used=100)
        driven.user(text)
    assert [text for text in driven.sent() if text == CLEARED] == [CLEARED, CLEARED]


def test_what_is_reserved_counts_from_the_models_input() -> None:
    # 1,000 - 300 = 700 where the model declares its input; else 10,000 - 200, whatever is reserved.
    for more, at in ((",input=1000,reserved=300", 700), (",input=1000", 800), (",reserved=300", 9_800)):
        for used, compacted in ((at - 1, False), (at, True)):
            driven = Driven(SMALL + more, 10_000)
            driven.user("The task.")
            driven.calls("r" * 20_000, used=used)
            assert (SUMMARY in driven.sent()) is compacted, more


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

    assert kept(f"{SMALL},tail_turns=1") == ["Third.", "Done with Third.", "More."]
    assert kept(f"{SMALL},tail_turns=2") == ["Second.", "Done with Second.", "Third.", "Done with Third.", "More."]
