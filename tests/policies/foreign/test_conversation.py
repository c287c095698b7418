"""Messages of every kind, the names that they keep, and what an answer may say of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ctxsim.errors import ContractError
from ctxsim.policies import Policy
from ctxsim.policies.foreign import mapping
from ctxsim.policies.foreign.conversation import Conversation, Message, role_of, text_of
from ctxsim.policies.foreign.framework import Scribe, asking, finished
from ctxsim.policies.foreign.mapping import content_of
from ctxsim.policies.foreign.pipe import _encode
from ctxsim.policies.foreign.shortener import Context, Session, Written
from ctxsim.transcript import Head, Item, Media, Sizes
from ctxsim.view import View

ITEMS = (
    Item("user", 0, 0, "Do.", media=(Media("image", 85),)),
    Item("assistant", 1, 1, "First."), Item("assistant", 2, 1, "Second."),
    Item("tool_call", 3, 1, "{}", "read", None, "c"), Item("tool_call", 4, 1, '{"a":1}', "read", None, "c"),
    Item("tool_result", 5, 2, "one", "read", 3, "c"), Item("tool_result", 6, 2, "two", "read", 4, "c"),
    Item("reasoning", 7, 3, "Hm."), Item("reasoning", 8, 3, "So."), Item("assistant", 9, 3, "Done."),
    Item("assistant", 10, 4, "Really."),
)  # fmt: skip


def viewed(*items: Item) -> View:
    return View(Sizes(lambda item: len(item.text))).grow(items or ITEMS)


def edited(answer: list[Message], view: View, asked: list[tuple[list[int], int]] | None = None) -> View:
    def summarize(items: Iterable[Item], most: int) -> str:
        if asked is not None:
            asked.append(([item.place for item in items], most))
        return "SUM"

    conversation = Conversation()
    conversation.messages(view)
    return mapping.edited(conversation, view, answer, "test", summarize, Head())


def test_every_kind_of_message() -> None:
    def call(name: str, arguments: str) -> Message:
        return {"id": name, "type": "function", "function": {"name": "read", "arguments": arguments}}

    view = viewed().insert("noted", 11, "test", "note").insert("so far", 0, "test", "summary", (0,))
    conversation = Conversation()
    # An id that was there before gets one of its own; what a policy made has the negative of its place.
    assert conversation.messages(view) == [
        {"id": "s2", "role": "user", "content": "so far", "made": "summary"},
        {"id": "m0", "role": "user", "content": "Do.", "media": [{"kind": "image", "tokens": 85}]},
        {"id": "a1", "role": "assistant", "content": "First.\nSecond.", "tool_calls": [
            call("c", "{}"), call("call_4", '{"a":1}')]},
        {"id": "m5", "role": "tool", "tool_call_id": "c", "name": "read", "content": "one"},
        {"id": "m6", "role": "tool", "tool_call_id": "call_4", "name": "read", "content": "two"},
        {"id": "a3", "role": "assistant", "content": "Done.", "reasoning": "Hm.\nSo."},
        {"id": "a4", "role": "assistant", "content": "Really."},
        {"id": "s1", "role": "user", "content": "noted", "made": "note"},
    ]  # fmt: skip
    head = conversation.messages(view, Head("Be kind."))
    assert head[0] == {"id": "head", "role": "system", "content": "Be kind."} and len(head) == 9
    assert conversation.messages(view, Head()) == head[1:]
    groups = conversation.groups(view)
    assert [role_of(group) for group in groups] == [one["role"] for one in head[1:]]
    assert [text_of(group) for group in groups] == [one["content"] for one in head[1:]]
    assert [mapping._calls_of(conversation.message(group)) for group in groups[2:5]] == [
        [("call", "c"), ("call", "call_4")], [("tool", "c")], [("tool", "call_4")],
    ]  # fmt: skip
    assert [conversation.numbers.get(name) for name in ("s2", "m0", "s1", "m9")] == [0, 1, 7, None]
    # What stands within a response parts it: the second part is named by its first item too.
    parted = Conversation().messages(viewed().insert("noted", 2, "test"))
    assert [one["id"] for one in parted] == ["m0", "a1", "s1", "a1.2", "m5", "m6", "a3", "a4"]
    orphan = Item("tool_result", 0, 0, "r", "read", None, "mine")
    assert Conversation().messages(viewed(orphan))[0]["tool_call_id"] == "mine"


@pytest.mark.parametrize(
    ("content", "text"),
    [("a", "a"), (None, ""), ([], ""), (["a", "b"], "a\nb"), ([{"text": "a"}, {"type": "image"}], "a\n"),
     (("a",), "a"), ([{"text": 1}], "1")],
)  # fmt: skip
def test_contents_as_one_text(content: object, text: str) -> None:
    assert content_of({"content": content}) == text
    assert content_of({}) == ""


@pytest.mark.parametrize("content", [5, {"text": "a"}, [5], ["a", 5]])
def test_what_is_no_content_is_told(content: object) -> None:
    with pytest.raises(ContractError, match=f"message m1: content is {type(content).__name__}, not text or blocks"):
        content_of({"id": "m1", "content": content})


def test_some_messages_change_by_their_ids() -> None:
    view, conversation = viewed(), Conversation()
    conversation.messages(view)
    arguments = {"tool_calls": [{"id": "call_4", "function": {"arguments": {"a": 2}}}]}
    made = mapping.changed(conversation, view, {"m5": {"content": "1"}, "a1": arguments}, "test")
    # The call that isn't named leaves; both texts of the response stay as they are.
    assert [(item.place, item.text) for item in made][1:6] == [
        (1, "First."), (2, "Second."), (4, '{"a": 2}'), (5, "1"), (6, "two"),
    ]  # fmt: skip
    assert len(made) == len(view) - 1 and {edit.reason for edit in made.edits} == {"test"}
    fresh = Conversation()
    fresh.messages(view)
    without = mapping.changed(fresh, view, {"a3": None, "m0": {"content": "Do.", "made": "x"}}, "test")
    assert [item.place for item in without] == [0, 1, 2, 3, 4, 5, 6, 10]
    for change, told in (
        ({"m9": None}, "changes message m9, which isn't there"),
        ({"m5": {"role": "user"}}, "changes the role of message m5"),
        ({"a4": {"content": "x", "tool_calls": [{"id": "new"}]}}, "a tool call that the model didn't make: new"),
        ({"a1": {"tool_calls": [{"id": "c", "function": {"name": "write"}}]}}, "calls write, the model called read"),
    ):
        fresh = Conversation()
        fresh.messages(view)
        with pytest.raises(ContractError, match=told):
            mapping.changed(fresh, view, cast(Any, change), "test")


def test_results_of_one_response_may_come_in_another_order_and_nothing_else() -> None:
    view, conversation = viewed(), Conversation()
    sent = conversation.messages(view)
    swapped = [*sent[:2], sent[3], sent[2], *sent[4:]]
    assert edited(swapped, view) is view
    with pytest.raises(ContractError, match="message a3 came back after a4: what is recorded keeps its order"):
        edited([*sent[:4], sent[5], sent[4]], view)
    with pytest.raises(ContractError, match="message m5 came back twice"):
        edited([*sent[:3], sent[2], *sent[3:]], view)
    with pytest.raises(ContractError, match="message 1 came back with role 'robot'; known: system, developer, user"):
        edited([{"role": "robot", "content": "?"}], view)


@pytest.mark.parametrize(
    ("asked", "about", "most", "text"),
    [
        # What left at that place, or all that left where nothing did; or what is named.
        ({"summarize": True, "content": "So far: "}, [0], 500, "So far: SUM"),
        ({"summarize": True, "content": "<{summary}>", "max_tokens": 7}, [0], 7, "<SUM>"),
        ({"summarize": ["m5", "a4"], "content": ""}, [5, 10], 500, "SUM"),
    ],
)
def test_summaries_are_asked_for_in_place(asked: Message, about: list[int], most: int, text: str) -> None:
    view, questions = viewed(), list[tuple[list[int], int]]()
    sent = Conversation().messages(view)
    made = edited([{"role": "user", **asked}, *sent[1:]], view, questions)
    assert questions == [(about, most)]
    assert (made[0].text, made[0].kind, made[0].sources, made[0].order) == (text, "summary", (0,), 1)


def test_what_is_added_stands_where_it_came_back() -> None:
    view = viewed()
    sent = Conversation().messages(view)
    made = edited([*sent[:1], {"role": "user", "content": "x"}, *sent[1:], {"role": "user", "content": "y"}], view)
    assert [(item.text, item.kind, item.order, item.sources) for item in made if item.synthetic] == [
        ("x", "note", 1, ()), ("y", "note", 11, ()),
    ]  # fmt: skip
    assert [item.place for item in made if not item.synthetic] == list(range(11))
    questions: list[tuple[list[int], int]] = []
    edited([{"role": "user", "content": "", "summarize": True}, *sent[:1], *sent[2:]], view, questions)
    assert questions == [([1, 2, 3, 4], 500)], "nothing left in front: all that left"
    with pytest.raises(ContractError, match="a summary of message m77 is asked for, which isn't there"):
        edited([{"role": "user", "content": "", "summarize": ["m77"]}, *sent], view)
    assert [item.text for item in edited([{"role": "user", "content": "alone"}], viewed(ITEMS[0]))] == ["alone"]


def test_a_scribe_is_billed_for_what_nobody_uses() -> None:
    written: list[tuple[str, int]] = []

    def summarize(items: Iterable[Item], most: int) -> str | None:
        written.append((" ".join(item.text for item in items), most))
        return f"text {len(written)}" if len(written) != 2 else None

    scribe = Scribe(cast(Policy, SimpleNamespace(sees=SimpleNamespace(summarize=summarize))))
    first, second, third = (scribe.ask(f"shown {number}") for number in range(3))
    assert [first, second, third] == ["[[summary 1]]", "[[summary 2]]", "[[summary 3]]"]
    answer = scribe.written([{"role": "user", "content": f"<{third}>"}, {"role": "user", "content": "plain"}])
    assert isinstance(answer, Written) and list(answer.messages) == [
        {"role": "user", "content": "<{summary}>", "summarize": True}, {"role": "user", "content": "plain"},
    ]  # fmt: skip
    assert written == [("shown 0", 500), ("shown 1", 500)]
    # What was written is known at the next call; what was refused is nothing.
    again = scribe.written([{"role": "user", "content": f"{first} and {second}"}])
    assert again == [{"role": "user", "content": "text 1 and "}]


def test_a_function_without_an_answer_asks_nothing() -> None:
    session = asking(lambda messages: None, cast(Scribe, None))
    assert isinstance(session, Session) and session.on_overflow([], cast(Context, None)) is None
    assert session.before_call([], cast(Context, None)) is None


def test_a_coroutine_is_finished_with_and_without_a_loop() -> None:
    async def seven() -> int:
        return 7

    async def within() -> int:
        return finished(seven())

    assert finished(seven()) == 7 and asyncio.run(within()) == 7


def test_half_a_surrogate_pair_is_written_as_what_it_stands_for() -> None:
    asked = {"a": "x\ud800y", "b": ["\ud83d\ude00", 5], "c": ("z",), "d": None}
    assert json.loads(_encode(asked)) == {"a": "x\ufffdy", "b": ["\U0001f600", 5], "c": ["z"], "d": None}
    assert _encode({"a": "\u00e9"}) == '{"a":"\u00e9"}'.encode()
