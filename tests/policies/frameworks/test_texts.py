"""Texts that frameworks make, what their summarizers are shown, and what a system prompt changes."""

from __future__ import annotations

import json

import pytest
from by_hand import SUMMARY, Driven

from ctxsim.counting.estimators import open_estimator
from ctxsim.policies import open_policy
from ctxsim.policies.frameworks.chat import first_that
from ctxsim.policies.frameworks.vercel_ai.policy import _thought_for
from ctxsim.transcript import Head, Item, Media, Usage

BY = "estimator=chars:ratio=1"
CONTEXT = "af-context-window:max_context_window_tokens=50,keep_last_tool_call_groups=9"


def of_calls(label: str, *sizes: int, window: int = 10_000, system: str = "") -> Driven:
    """A task of ten characters, and a call with a result of each size."""
    driven = Driven(label, window)
    driven.sees.head = Head(system=system)
    driven.user("t" * 10)
    for number, size in enumerate(sizes):
        driven.calls(str(number) * size)
    return driven


@pytest.mark.parametrize(
    ("label", "refused", "most", "shown"),
    # Characters of a result of 3,000 that the summarizer sees, and the tokens that its answer may have.
    [
        ("adk-compact:token_threshold=1,event_retention_size=1", False, 1_000, 2_000),
        ("openclaw:keep_recent_tokens=3", True, 1_500, 2_000),
        ("openhands-condenser:max_size=4,keep_first=0", False, 1_000, 500),
        ("pydantic-summarize:max_messages=1,keep_messages=1", False, 1_000, 500),
        ("openai-compaction-session:candidates=1", False, 1_000, 3_000),
        ("af-summarize:target_count=1,threshold_count=0", False, 1_000, 3_000),
        ("crewai-summarize", True, 1_000, 3_000), ("inspect-summary:at=500", False, 1_000, 3_000),
        ("langchain-summarize:trigger=1,keep=1", False, 1_000, 3_000),
        ("deepagents:keep_messages=1", True, 1_000, 3_000),
        ("langmem:max_tokens=800", False, 256, 3_000), ("llamaindex-summary:token_limit=1", False, 1_000, 3_000),
        ("haystack-summarize:context_window=500", False, 1_024, 3_000),
        ("strands-summarizing:preserve_recent_messages=1,summary_ratio=0.7", True, 1_000, 3_000),
    ],
    ids=lambda value: str(value).partition(":")[0],
)  # fmt: skip
def test_what_a_summarizer_sees_and_may_write(label: str, refused: bool, most: int, shown: int) -> None:
    driven = of_calls(label, 3_000, 5)
    driven.refused() if refused else driven.sent()
    assert driven.most == [most]
    results = [len(item.text) for item in driven.asked[0] if item.kind == "tool_result"]
    assert max(results) == shown


def test_a_crowded_window_cuts_the_oldest_results_first() -> None:
    driven = of_calls("strands-sliding", 401, 500)
    answer = driven.refused()
    assert answer is not None
    cut = f"{'0' * 200}...\n\n... [truncated: 1 chars removed] ...\n\n...{'0' * 200}"
    assert [item.text for item in answer.results] == [cut, "1" * 500]
    assert of_calls("strands-sliding:should_truncate_results=False", 401, 500).refused() != answer
    # Only the oldest result is looked at: where it is short, messages leave.
    short = of_calls("strands-sliding", 400, 500).refused()
    assert short is not None and [item.text for item in short.results] == ["1" * 500]


def test_pinned_results_are_not_cut() -> None:
    answer = of_calls("strands-sliding:pin_first=3", 401, 500).refused()
    assert answer is not None and len(answer.results[0].text) == 401
    assert "[truncated: 100 chars removed]" in answer.results[1].text


@pytest.mark.parametrize(("window", "slid"), [(2, "t(0(1d"), (3, "(1d"), (4, "(1d"), (5, "(0(1d"), (6, "t(0(1d")])
def test_a_window_slides_once_the_model_has_answered(window: int, slid: str) -> None:
    # Six messages. What stays begins with a text of the user or with a call, if there is one behind the cut.
    driven = Driven(f"strands-sliding:window_size={window}", 10_000)
    driven.user("t")
    for number in (0, 1):
        driven.calls(str(number), used=9)
    assert len(driven.sent()) == 5, "it calls tools: nothing slides yet"
    driven.says("d", used=9)
    assert "".join("(" if text == "{}" else text for text in driven.sent()) == slid


def test_what_is_cleared_takes_the_calls_arguments_if_it_is_to() -> None:
    for label, kept in (
        ("pydantic-clear:max_tokens=1,keep_pairs=1,clear_tool_inputs=true", "{}"),
        ("pydantic-clear:max_tokens=1,keep_pairs=1", '{"a":1}'),
        ("langchain-clear:trigger=1,keep=1,clear_tool_inputs=true", "{}"),
        ("langchain-clear:trigger=1,keep=1", '{"a":1}'),
    ):
        driven = Driven(label, 10_000)
        driven.user("t")
        for number in (0, 1):
            driven.calls(str(number) * 90, arguments='{"a":1}')
        cleared = "[tool result cleared]" if label.startswith("pydantic") else "[cleared]"
        assert driven.sent() == ["t", kept, cleared, '{"a":1}', "1" * 90], label


def test_a_clamped_part_says_how_much_left() -> None:
    driven = Driven("pydantic-clamp:max_part_chars=90,keep_head_chars=3,keep_tail_chars=2", 10_000)
    driven.user("u" * 99)
    driven.says("abc" + "x" * 90 + "yz")
    driven.calls("r" * 99, arguments="{" + "a" * 98 + "}")
    said, called = driven.sent()[1:3]
    assert said == "abc\n[clamped: removed 90 of 95 characters]\nyz"
    assert json.loads(called) == {"_clamped": "{aa\n[clamped: removed 95 of 100 characters]\na}"}
    by_tokens = Driven(
        f"pydantic-clamp:max_part_chars=0,max_part_tokens=99,keep_head_chars=3,keep_tail_chars=2,{BY}", 9
    )
    by_tokens.user("u")
    by_tokens.says("x" * 99)
    by_tokens.says("x" * 100)
    assert [len(text) for text in by_tokens.sent()] == [
        1,
        99,
        3 + 2 + len("\n[clamped: removed 95 of 100 characters]\n"),
    ]


@pytest.mark.parametrize(
    ("label", "threshold"),
    [
        ("pydantic-clear", 10_000), ("pydantic-clear:max_messages=5", None), ("pydantic-clear:max_tokens=7", 7),
        ("pydantic-clear:max_fraction=0.3", 3_000), ("pydantic-clear:max_fraction=0.3,max_messages=5", 3_000),
        ("adk-compact", 10_000), ("adk-compact:token_threshold=7", 7), ("ag2-token-limiter", 10_000),
        ("ag2-token-limiter:max_tokens=7", 7), ("ag2-tail-window", None), ("ag2-tail-window:max_tokens=7", 7),
        ("af-truncation", 10_000), ("af-truncation:max_n=7", 7), ("af-truncation:tokenizer=false", None),
        ("af-context-window", 5_000), ("af-context-window:max_output_tokens=3000", 3_500),
        ("af-context-window:max_context_window_tokens=100", 50), ("af-budget", 10_000), ("af-budget:token_budget=7", 7),
        ("haystack-sliding", 7_000), ("haystack-prune:context_window=100,compact_at=0.5", 50),
        ("inspect-edit", 9_000), ("inspect-edit:at=1", 10_000), ("inspect-edit:at=2", 2),
        ("langchain-clear:trigger=7", 7), ("langchain-summarize", 10_000), ("langchain-summarize:trigger=7", 7),
        ("deepagents", 8_500), ("openhands-condenser", None), ("openhands-condenser:max_tokens=7", 7),
        ("strands-sliding", None), ("strands-sliding:proactive_compression=0.5", 5_000), ("vercel-prune", None),
        ("vercel-prune:trigger=7", 7),
    ],
)  # fmt: skip
def test_thresholds(label: str, threshold: float | None) -> None:
    assert Driven(label, 10_000).threshold == threshold


@pytest.mark.parametrize(
    ("label", "system", "left"),
    [
        # A task of 10 and two calls with results, 10 each: 30. The prompt is paid for, or counts as a message.
        (f"langchain-trim:max_tokens=30,{BY}", 10, 5),
        (f"langchain-trim:max_tokens=30,include_system=true,{BY}", 10, 4),
        (f"langchain-trim:max_tokens=29,include_system=true,{BY}", 40, 0),
        (f"af-truncation:max_n=40,compact_to=30,{BY}", 10, 5), (f"af-truncation:max_n=39,compact_to=30,{BY}", 10, 4),
        ("af-truncation:tokenizer=false,max_n=6,compact_to=3", 10, 5),
        ("af-truncation:tokenizer=false,max_n=5,compact_to=3", 10, 2),
        (f"{CONTEXT},truncation_threshold=0.8,{BY}", 10, 5), (f"{CONTEXT},truncation_threshold=0.78,{BY}", 10, 2),
        (f"litellm-trim:max_tokens=41,{BY}", 10, 5), (f"litellm-trim:max_tokens=9,{BY}", 10, 1),
        (f"haystack-sliding:context_window=50,compact_at=0.8,compact_to=0.7,{BY}", 10, 4),
        (f"haystack-sliding:context_window=51,compact_at=0.8,compact_to=0.7,{BY}", 10, 5),
    ],
)  # fmt: skip
def test_what_a_system_prompt_leaves(label: str, system: int, left: int) -> None:
    assert len(of_calls(label, 4, 4, system="p" * system).sent()) == left


def test_vercel_takes_the_thoughts_too() -> None:
    for option, kept in (("all", "t"), ("none", "thh"), ("before-last-message", "th")):
        driven = Driven(f"vercel-prune:reasoning={option},tool_calls=none", 10_000)
        driven.user("t")
        for _ in range(2):
            driven._join("reasoning", "h")
            driven._join("assistant", "s", same=True)
        assert "".join(driven.sent()).replace("s", "") == kept


@pytest.mark.parametrize(
    ("response", "pruned", "gone"),
    # Of reasoning r, calls c and a text s, by place: what leaves with calls that do, up to the next reasoning.
    [("rcrc", {1}, [0]), ("rrc", {2}, [0, 1]), ("rcc", {1}, []), ("rcs", {1}, []), ("crc", {0}, []), ("cr", {0}, []),
     ("r", set(), []), ("", set(), [])],
)  # fmt: skip
def test_vercel_takes_thoughts_that_nothing_follows_but_pruned_calls(
    response: str, pruned: set[int], gone: list[int]
) -> None:
    kinds = {"r": "reasoning", "c": "tool_call", "s": "assistant"}
    items = [Item(kinds[kind], place, 0, "x") for place, kind in enumerate(response)]  # type: ignore[arg-type]
    assert _thought_for(items, pruned) == gone


@pytest.mark.parametrize(("first", "found"), [(0, 3), (3, 3), (5, 5), (9, 7)])
def test_the_first_that_fits_lies_between_both_ends(first: int, found: int) -> None:
    assert first_that(lambda number: number >= first, 3, 7) == found and first_that(lambda _: True, 3, 3) == 3


def test_semantic_kernel_summarizes_a_lone_summary_only_with_a_prompt() -> None:
    # It counts as one of the two messages that stay.
    for system, stay, asked in (("", ["c", "d"], 1), ("p", ["d"], 2)):
        driven = Driven("sk-summarize:target_count=2,threshold_count=0", 10_000)
        driven.sees.head = Head(system=system)
        for letter in "abcd":
            driven.user(letter)
        assert driven.sent() == [SUMMARY, *stay]
        driven.sent()
        assert len(driven.asked) == asked


def test_usage_stands_for_what_was_sent() -> None:
    # 100 were reported; a result of 10 joined.
    for limit, cleared in ((110, False), (109, True)):
        driven = Driven(f"pydantic-clear:max_tokens={limit},keep_pairs=0,{BY}", 10_000)
        driven.user("t")
        driven.calls("r" * 10, used=100)
        assert ("[tool result cleared]" in driven.sent()) is cleared
    for used, summarized in ((109, False), (110, True)):
        driven = Driven(f"haystack-summarize:context_window=200,compact_at=0.6,compact_to=0.01,{BY}", 10_000)
        driven.user("t" * 10)
        driven.calls("q" * 10)
        driven.calls("r" * 10, used=used)
        assert bool(driven.sent() and driven.asked) is summarized


@pytest.mark.parametrize(
    ("item", "tokens"),
    [
        # The frame of a message is 46 characters, its role and msg_ with the number beside it; that of a text 54, its
        # quotes with it; a call's 107 and a result's 83 without their quoted parts.
        (Item("user", 5, 5, "abcd"), (46 + len("msg_5user") + 53 + 6) // 4),
        (Item("assistant", 5, 5, "\u6570"), (46 + len("msg_5assistant") + 53 + 3) // 4),
        (Item("summary", 5, 5, ""), (46 + len("msg_5user")) // 4),
    ],
)
def test_agent_frameworks_frames(item: Item, tokens: int) -> None:
    counter = open_estimator("agent-framework")
    assert len('{"additional_properties": {}, "text": , "type": "text"}') == 55
    frame = {
        "contents": [],
        "message_id": f"msg_{item.place}",
        "role": "assistant" if item.kind == "assistant" else "user",
    }
    parts = [{"additional_properties": {}, "text": item.text, "type": "text"}] if item.text else []
    written = json.dumps(frame | {"contents": parts}, ensure_ascii=False)
    assert counter.item(item) == max(1, len(written) // 4)
    assert abs(counter.item(item) - tokens) <= 1


def test_agent_frameworks_calls_and_results() -> None:
    counter = open_estimator("agent-framework")
    call = Item("tool_call", 3, 3, '{"a":1}', "bash", None, "c1")
    said = Item("assistant", 2, 3, "Hm.")
    silent = Item("assistant", 2, 3, "")
    result = Item("tool_result", 4, 4, "", "bash", 3, "c1", (Media("image", 85),))
    of_call = {"additional_properties": {}, "arguments": call.text, "call_id": "c1", "hosted": False}
    of_call |= {"name": "bash", "type": "function_call"}
    of_text = {"additional_properties": {}, "text": "Hm.", "type": "text"}

    def size(place: int, role: str, *contents: object) -> int:
        return len(json.dumps({"contents": contents, "message_id": f"msg_{place}", "role": role})) // 4

    assert counter.item(call) == size(3, "assistant", of_call)
    assert counter.messages([[said, call]]) == size(2, "assistant", of_text, of_call)
    assert counter.messages([[silent, call]]) == size(2, "assistant", of_call)
    of_result = {"additional_properties": {}, "call_id": "c1", "result": "", "type": "function_result"}
    assert counter.item(result) == size(4, "tool", of_result) + 85
    of_prompt = {"additional_properties": {}, "text": "be kind", "type": "text"}
    prompt = size(0, "system", of_prompt)
    assert counter.head(Head(system="be kind")) == prompt and counter.head(Head(hidden=9)) == 0
    assert counter.messages([[said]], "be kind") == prompt + counter.messages([[said]])
    assert (counter.text(""), counter.text("abc"), counter.text("a" * 9)) == (1, 1, 2)


def test_haystacks_arguments_are_sorted_and_media_count() -> None:
    haystack = open_estimator("haystack")
    call = Item("tool_call", 1, 1, '{"bb":1,"a":[2,3]}', tool="find")
    assert haystack.item(call) == len('[assistant -> tool_call] find({"a": [2, 3], "bb": 1})') // 4
    assert haystack.item(Item("user", 0, 0, "abcd", media=(Media("image", 85),))) == len("[user] abcd") // 4 + 85


def test_inspects_counter_adds_a_tenth() -> None:
    assert open_policy("inspect-edit").estimator.text("word " * 100) in (110, 111, 112)
    plain = open_estimator("tokenizer:vocabulary=o200k_base").text("word " * 100)
    assert open_estimator("inspect").text("word " * 100) == int(plain * 1.1 + 0.999999)


def test_inspect_begins_anew_from_what_the_provider_counted() -> None:
    driven = Driven(f"inspect-trim:at=100,preserve=0.5,{BY}", 10_000)
    driven.user("t")
    driven.calls("r" * 10)
    # The response to this request is the last message, and counts as new.
    driven.says("s" * 10)
    driven.moments.after_call(Usage(85, 0), driven.view[-1:])
    assert len(driven.sent()) == 4, "95"
    driven.user("u" * 5)
    assert len(driven.sent()) == 5, "100"
    driven.user("u")
    assert len(driven.sent()) < 5


@pytest.mark.parametrize(
    ("keep", "prompt", "left"), [(1, 0, "1"), (9, 40, "01"), (6, 40, "01"), (5, 40, "1"), (4, 40, "")]
)
def test_litellm_pays_for_the_prompt_first(keep: int, prompt: int, left: str) -> None:
    # A prompt as large as the limit leaves nothing for messages.
    driven = Driven(f"litellm-trim:max_tokens={10 * keep},{BY}", 10_000)
    driven.sees.head = Head(system="p" * prompt)
    driven.user("0" * 10)
    driven.says("1" * 10)
    assert "".join(text[:1] for text in driven.sent()) == left


def test_langmem_goes_on_from_its_summary_and_keeps_it_for_the_next_request() -> None:
    driven = Driven(f"langmem:max_tokens=30,max_summary_tokens=5,{BY}", 10_000)
    for letter in "ab":
        driven.user(letter * 10)
    assert len(driven.sent()) == 2, "20 are under 30"
    driven.user("c" * 10)
    # The three are 30: the first two and a half leave room for 25.
    assert [text[-1] for text in driven.sent()] == ["."]
    assert [[item.text[0] for item in asked] for asked in driven.asked] == [["a", "b", "c"]]
    driven.user("d" * 10)
    sent = driven.sent()
    assert len(sent) == 2 and SUMMARY in sent[0] and sent[1] == "d" * 10 and len(driven.asked) == 1
