"""Views to messages and back: what an answer means for the items it stands for."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from samples import ASK, TASK, chat

from ctxsim.errors import ContractError
from ctxsim.policies.foreign import mapping
from ctxsim.policies.foreign.conversation import Conversation, Message
from ctxsim.transcript import Head, Item, Sizes
from ctxsim.view import View

HEAD = Head("You help.")
PARALLEL = chat(
    TASK, ("reasoning", "Hm."), ("assistant", "I look."), ("tool_call", '{"a": 1}'), ("tool_call", '{"a": 2}'),
    ("tool_result", "one"), ("tool_result", "two"), ("assistant", "Next."), ASK, ("tool_result", "three"),
)  # fmt: skip
"""Places: 0 user, 1 reasoning, 2 assistant, 3 and 4 calls, 5 and 6 results, 7 assistant, 8 call, 9 result."""


def viewed(*items: Item) -> View:
    view = View(Sizes(lambda item: len(item.text)))
    for item in items or PARALLEL.items:
        view = view.grow([item])
    return view


def edited(change: Callable[[list[Message]], Any], reasoning: bool = True, view: View | None = None) -> View:
    """The view after somebody has changed its messages, in place or by returning others."""
    view = view or viewed()
    conversation = Conversation()
    messages = conversation.messages(view, HEAD)
    answer = change(messages)
    answer = messages if answer is None else answer
    return mapping.edited(
        conversation, view, answer, "test", lambda items, n: f"sum of {len(list(items))}", HEAD, reasoning
    )


def places(view: View) -> list[int]:
    return [item.place for item in view]


def test_unchanged_messages_are_no_edit() -> None:
    view = viewed()
    assert edited(lambda messages: messages, view=view) is view
    assert edited(lambda messages: json.loads(json.dumps(messages)), view=view) is view
    # Arguments spelt otherwise are the same arguments.
    assert edited(lambda m: m[2]["tool_calls"][0]["function"].update(arguments='{ "a":1 }'), view=view) is view
    # So are those of a framework that holds them as an object, also where the model wrote no object.
    assert edited(lambda m: m[2]["tool_calls"][0]["function"].update(arguments={"a": 1}), view=view) is view
    # Another value of JSON may come back as it is, or as that object.
    given: Any
    for text, given in (("no json", {"input": "no json"}), ("[1,2]", [1, 2]), ("[1,2]", {"input": "[1,2]"})):
        odd = viewed(*chat(TASK, ("tool_call", text), ("tool_result", "one")).items)
        assert edited(lambda m, given=given: m[2]["tool_calls"][0]["function"].update(arguments=given), view=odd) is odd
    # The system prompt goes out whatever comes back.
    assert edited(lambda messages: messages[1:], view=view) is view


def test_changed_is_a_rewrite_and_missing_a_drop() -> None:
    view = edited(lambda messages: [*messages[:3], {**messages[4], "content": "2"}, *messages[5:]])
    assert places(view) == [0, 1, 2, 3, 4, 6, 7, 8, 9]
    assert [(edit.action, (edit.before or edit.after).place) for edit in view.edits] == [("edited", 6), ("dropped", 5)]  # type: ignore[union-attr]
    assert view.find(6).text == "2"  # type: ignore[union-attr]


def test_only_what_is_named_changes() -> None:
    view = edited(lambda messages: [{"id": "a1", "content": "I see."}, *({"id": m["id"]} for m in messages[3:])])
    assert places(view) == [1, 2, 3, 4, 5, 6, 7, 8, 9] and view.find(2).text == "I see."  # type: ignore[union-attr]


def test_parts_of_a_response_leave_one_by_one() -> None:
    assert 3 not in places(edited(lambda m: m[2]["tool_calls"].pop(0) and None))
    assert 2 not in places(edited(lambda m: m[2].update(content=None)))
    assert 1 not in places(edited(lambda m: m[2].pop("reasoning") and None))
    # Who wasn't shown the reasoning doesn't drop it.
    assert 1 in places(edited(lambda m: m[2].pop("reasoning") and None, reasoning=False))
    args = edited(lambda m: m[2]["tool_calls"][0]["function"].update(arguments="{}"))
    assert args.find(3).text == "{}"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "strip",
    [
        lambda m: {key: value for key, value in m.items() if key != "id"},
        lambda m: {**m, "id": f"their own {id(m)}"},
        lambda m: {**m, "content": [{"type": "text", "text": m["content"]}], "id": None},
    ],
    ids=["no id", "another id", "blocks"],
)
def test_without_ids_calls_and_texts_are_found_again(strip: Callable[[Message], Message]) -> None:
    view = viewed()
    assert edited(lambda messages: [strip(message) for message in messages], reasoning=False, view=view) is view
    shorter = edited(lambda m: [strip(one) for one in (m[0], m[1], m[5], m[6])], reasoning=False)
    assert places(shorter) == [0, 7, 8, 9]


def test_the_unknown_is_inserted_where_it_stands_with_what_left_there() -> None:
    note = {"role": "user", "content": "what was found"}
    view = edited(lambda messages: [*messages[:2], note, *messages[5:]])
    assert [item.place for item in view] == [0, -1, 7, 8, 9]
    assert view[1].kind == "summary" and view[1].sources == (1, 2, 3, 4, 5, 6)
    kept = edited(lambda messages: [*messages, note])
    assert kept[-1].kind == "note" and kept[-1].sources == () and len(kept) == len(PARALLEL.items) + 1


def test_what_was_inserted_is_known_from_then_on() -> None:
    conversation, view = Conversation(), viewed()
    messages = conversation.messages(view)
    answer = [{"id": "mine", "role": "user", "content": "so far"}, *messages[4:]]
    view = mapping.edited(conversation, view, answer, "test", lambda items, n: None, HEAD, True).settled()
    again = conversation.messages(view)
    assert again[0] == {"id": "mine", "role": "user", "content": "so far", "made": "summary"}
    assert mapping.edited(conversation, view, again, "test", lambda items, n: None, HEAD, True) is view


def test_where_a_summary_is_refused_nothing_changes() -> None:
    view = viewed()
    conversation = Conversation()
    answer = [{"role": "user", "content": "{summary}", "summarize": True}, *conversation.messages(view)[4:]]
    assert mapping.edited(conversation, view, answer, "test", lambda items, n: None, HEAD, True) is view


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda m: m[0].update(content="You don't."), "the head isn't"),
        (lambda m: m[5].update(tool_calls=[*m[5]["tool_calls"], {"id": "x"}]), "the model didn't make: x"),
        (lambda m: m[2]["tool_calls"][0]["function"].update(name="write"), "calls write, the model called read"),
        (lambda m: m[1].update(content=7), "content is int"),
        (lambda m: [{"role": "user", "content": "", "summarize": ["m77"]}], "message m77"),
        (lambda m: [*m, {"role": "tool", "tool_call_id": "c9", "content": ""}], "the model didn't make: c9"),
        (lambda m: [*m, {"role": "assistant", "tool_calls": [{"id": "c9"}]}], "the model didn't make: c9"),
    ],
)
def test_what_breaks_the_contract_is_said(change: Callable[[list[Message]], Any], said: str) -> None:
    with pytest.raises(ContractError, match=said):
        edited(change)


def test_ids_stay_while_the_view_grows_and_whatever_leaves_it() -> None:
    conversation = Conversation()
    whole = {message["id"]: message for message in Conversation().messages(viewed())}
    for size in range(1, len(PARALLEL.items) + 1):
        view = viewed(*PARALLEL.items[:size])
        for message in conversation.messages(view):
            assert whole[message["id"]].items() >= {"role": message["role"]}.items()
    less = viewed().drop([0, 1, 3, 5], "test")
    assert [message["id"] for message in conversation.messages(less)] == ["a1", "m6", "a7", "m9"]
    # The call of a result that stayed may have left: it is still called the same.
    assert conversation.messages(viewed().drop([8], "test"))[-1]["tool_call_id"] == "call_8"


def test_grown_views_are_read_on_as_if_read_anew() -> None:
    conversation = Conversation()
    view = View(Sizes(lambda item: 1))
    for item in PARALLEL.items:
        view = view.grow([item])
        assert conversation.groups(view) == Conversation().groups(view)
    other = view.drop([5], "test").settled()
    assert conversation.groups(other) == Conversation().groups(other)


def test_what_was_changed_may_change_again_and_back() -> None:
    conversation, view = Conversation(), viewed()
    for text in ("1", "one", "1", "uno"):
        view = mapping.changed(conversation, view, {"m5": {"content": text}}, "test").settled()
        assert view.find(5).text == text  # type: ignore[union-attr]
        assert conversation.groups(view) == Conversation().groups(view)
    assert mapping.changed(conversation, view, {"m5": {"content": "uno"}}, "test") is view


@pytest.mark.parametrize(
    ("kept", "left"),
    [
        # Three equal texts without ids: each that comes back is the next one that hasn't come back yet.
        ([0], [0]), ([0, 1], [0, 1]), ([0, 1, 2], [0, 1, 2]), ([0, 3], [0, 3]), ([3], [3]), ([0, 1, 3], [0, 1, 3]),
    ],
)  # fmt: skip
def test_equal_texts_without_ids_are_taken_in_order(kept: list[int], left: list[int]) -> None:
    said = [Item("user", place, place, text) for place, text in enumerate(("same", "same", "same", "other"))]

    def without_ids(messages: list[Message]) -> list[Message]:
        return [{"role": messages[place + 1]["role"], "content": messages[place + 1]["content"]} for place in kept]

    assert places(edited(without_ids, view=viewed(*said))) == left


def test_an_equal_text_behind_another_is_the_one_that_stood_behind_it() -> None:
    said = [Item("user", place, place, text) for place, text in enumerate(("same", "other", "same"))]
    answer = [{"role": "user", "content": text} for text in ("other", "same")]
    assert places(edited(lambda _: answer, view=viewed(*said))) == [1, 2]


def test_an_equal_text_is_new_if_the_other_comes_back_by_its_id() -> None:
    said = [Item("user", place, place, text) for place, text in enumerate(("task", "same", "other"))]
    again = {"role": "user", "content": "same"}
    assert places(edited(lambda all_of: [*all_of[:2], again, *all_of[2:]], view=viewed(*said))) == [0, -1, 1, 2]
    assert places(edited(lambda all_of: [*all_of[:2], again, all_of[3]], view=viewed(*said))) == [0, 1, 2]
