"""Bodies of requests in both forms, written out by hand."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from samples import TASK, chat

from ctxsim.simulator.provider.wire import Format, request_body
from ctxsim.transcript import Head, Item, Media

MADE = chat(TASK, ("reasoning", "a"), ("reasoning", "b"), ("assistant", "c"), ("tool_call", '{"x": 1}'),
            ("tool_call", ""), ("tool_result", "r"), ("tool_result", "s"), ("user", "more"))  # fmt: skip
HEAD = Head("sys", ('{"name": "t"}', "no json"))


def messages(items: list[Item], format: Format) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = request_body(items, Head(), format)["messages"]
    return found


def test_a_response_is_one_message_of_chat_completions() -> None:
    calls = [{"id": f"call_{place}", "type": "function", "function": {"name": "read", "arguments": text}}
             for place, text in ((4, '{"x": 1}'), (5, ""))]  # fmt: skip
    assert request_body(list(MADE.items), HEAD, "openai") == {
        "messages": [
            {"role": "system", "content": "sys"}, {"role": "user", "content": "Do the task."},
            {"role": "assistant", "content": "c", "reasoning_content": "ab", "tool_calls": calls},
            {"role": "tool", "tool_call_id": "call_4", "content": "r"},
            {"role": "tool", "tool_call_id": "call_5", "content": "s"}, {"role": "user", "content": "more"},
        ],
        "tools": [{"name": "t"}, "no json"],
    }  # fmt: skip


def test_neighbours_of_one_role_are_one_message_of_anthropics() -> None:
    assert request_body(list(MADE.items), HEAD, "anthropic") == {
        "system": "sys",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Do the task."}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "a"}, {"type": "thinking", "thinking": "b"},
                {"type": "text", "text": "c"}, {"type": "tool_use", "id": "call_4", "name": "read", "input": {"x": 1}},
                {"type": "tool_use", "id": "call_5", "name": "read", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "call_4", "content": "r"},
                {"type": "tool_result", "tool_use_id": "call_5", "content": "s"}, {"type": "text", "text": "more"},
            ]},
        ],
        "tools": [{"name": "t"}, "no json"],
    }  # fmt: skip
    assert request_body([], Head(), "anthropic") == request_body([], Head(), "openai") == {"messages": []}


@pytest.mark.parametrize(
    ("text", "arguments"), [("[1]", {"input": "[1]"}), ("{", {"input": "{"}), ('{"a": 0}', {"a": 0})]
)
def test_arguments_that_are_no_object_are_wrapped(text: str, arguments: dict[str, Any]) -> None:
    call = Item("tool_call", 0, 0, text, "t")
    assert messages([call], "anthropic")[0]["content"][0]["input"] == arguments
    assert messages([call], "openai")[0]["tool_calls"][0]["function"]["arguments"] == text


def test_ids_are_the_sources_own_once() -> None:
    items = [Item("tool_call", place, 0, "{}", "t", call_id=own) for place, own in enumerate(("a", "a", "", "b"))]
    assert [one["id"] for one in messages(items, "anthropic")[0]["content"]] == ["a", "call_1", "call_2", "b"]
    # What answers a call that has gone is named as the source named it; media are told by their size.
    lone = Item("tool_result", 4, 1, "\nseen\n", "t", None, "gone", (Media("image", 85),))
    away = msgspec.structs.replace(lone, answers=9, media=())
    # Line ends at its edges are its own; media alone begin no second line.
    bare = msgspec.structs.replace(lone, text="")
    texts = ("\nseen\n\n[image, 85 tokens]", "\nseen\n", "[image, 85 tokens]")
    for one, text in zip((lone, away, bare), texts, strict=True):
        assert messages([one], "openai") == [{"role": "tool", "tool_call_id": "gone", "content": text}]
        [block] = messages([one], "anthropic")[0]["content"]
        assert block == {"type": "tool_result", "tool_use_id": "gone", "content": text}


def test_two_responses_are_two_messages_of_chat_completions() -> None:
    items = [Item("assistant", 0, 0, "a"), Item("assistant", 1, 0, "b"), Item("assistant", 2, 2, "c")]
    assert [one["content"] for one in messages(items, "openai")] == ["ab", "c"]
    assert len(messages(items, "anthropic")) == 1
    assert json.dumps(messages(items[:1], "openai")) == '[{"role": "assistant", "content": "a"}]'
