"""Inspect's messages and usage, one by one."""

from __future__ import annotations

from typing import Any

import pytest

from ctxsim.readers.assembly import Assembly, Part
from ctxsim.readers.formats.inspect_ai.events import (
    Message,
    ModelUsage,
    ToolCall,
    add_message,
    vendor_of,
    with_attachments,
)
from ctxsim.transcript import Usage


@pytest.mark.parametrize(("counted", "usage"), [
    # The total less the output, if both are there; else the parts of the prompt.
    (ModelUsage(10, 3, 20, 4, 5, 2), Usage(17, 3, 4, 5, 2)), (ModelUsage(10, None, 20, 4, 5), Usage(19, None, 4, 5)),
    # Gemini's thoughts stand beside the output, OpenAI's in it.
    (ModelUsage(10, 3, 15, None, None, 2), Usage(10, 5, None, None, 2)),
    (ModelUsage(6, 3, 15, 4, None, 2), Usage(10, 5, 4, None, 2)),
    (ModelUsage(10, 5, 15, None, None, 2), Usage(10, 5, None, None, 2)),
    (ModelUsage(10, 0, 20), Usage(20, 0)), (ModelUsage(10, 3, 0, 4), Usage(14, 3, 4)),
    (ModelUsage(10, 3, None, None, 5), Usage(15, 3, None, 5)), (ModelUsage(0, 3, None, 4), None), (ModelUsage(), None),
])  # fmt: skip
def test_tokens_of_the_whole_prompt(counted: ModelUsage, usage: Usage | None) -> None:
    assert counted.whole() == usage


@pytest.mark.parametrize(("value", "found"), [
    ("attachment://a", "text"), ("tc://a", "text"), ("http://a", "http://a"), ("attachment://b", "attachment://b"),
    (5, 5),
    ([{"x": "tc://a"}, "a"], [{"x": "text"}, "a"]),
])  # fmt: skip
def test_texts_that_were_moved_out_are_put_back(value: Any, found: Any) -> None:
    assert with_attachments(value, {"a": "text"}) == found


def test_images_by_the_provider_that_a_name_begins_with() -> None:
    names = ("anthropic/x", "google/x", "vertex/x", "openai/x", "x", "")
    assert [vendor_of(name) for name in names] == ["anthropic", *["gemini"] * 2, *["openai"] * 3]


def test_results_by_id_or_by_function_and_errors_in_place_of_the_content() -> None:
    made = Assembly("t")
    made.response([Part("tool_call", "{}", name, call_id) for name, call_id in (("a", ""), ("b", "c2"), ("c", ""))])
    add_message(made, Message("tool", "of c", tool_call_id=5, function="c"), "openai")
    add_message(made, Message("tool", "half", tool_call_id="c2", function="a", error={"message": "broke"}), "openai")
    add_message(made, Message("tool", "half", tool_error="broke, too"), "openai")
    assert [(item.text, item.answers) for item in made.items[3:]] == [("of c", 2), ("broke", 1), ("broke, too", 0)]


def test_messages_of_other_roles() -> None:
    made = Assembly("t")
    add_message(made, Message("system", "Be brief."), "openai")
    add_message(made, Message("user", ""), "openai")
    add_message(made, Message("user", [{"type": "image", "image": "x"}]), "gemini")
    add_message(made, Message("assistant", "Hi."), "openai")
    for _ in range(2):
        add_message(made, Message("system", "Be kind."), "openai")
    assert made.system == ["Be brief."]
    assert made.counts == {"system message(s) in mid-conversation kept as user text": 2}
    assert [(item.kind, item.text, [one.tokens for one in item.media]) for item in made.items] == [
        ("user", "", []), ("user", "", [258]), ("assistant", "Hi.", []), *[("user", "Be kind.", [])] * 2
    ]  # fmt: skip
    assert not made.transcript().calls[0].comparable


def test_what_of_a_message_stays_the_same_when_it_comes_back() -> None:
    calls = [ToolCall(id="c1", function="f", arguments={"x": 1})]
    shown: list[Any] = [{"type": "text", "text": "a"}, {"type": "image", "image": "x"}, "b"]
    hidden = [{"type": "reasoning", "reasoning": "r"}, {"type": "data", "data": {}}]
    message = Message("assistant", [*hidden, *shown], calls, tool_call_id=None)
    assert (
        message.key
        == Message("assistant", shown, calls).key
        == ("assistant", "a\nb", 1, (("c1", "f", '{"x":1}'),), "None")
    )
    assert message.key != Message("assistant", shown).key and Message("user", "").blocks == []
    assert (
        Message("user", "x", metadata={"summary": True}).summary
        and not Message("user", "x", metadata={"summary": 0}).summary
    )
