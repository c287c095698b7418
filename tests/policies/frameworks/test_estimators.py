"""Frameworks' own counters over what is easily counted differently: arguments, and messages that stand for others."""

from __future__ import annotations

import json

import pytest

from ctxsim.counting.estimators import open_estimator
from ctxsim.counting.estimators.estimator import Reported
from ctxsim.transcript import Head, Item, Usage

CALL = Item("tool_call", 1, 1, '{"q":"\u6570"}', tool="find")
AGAIN = 15  # {"q": "\u6570"}: what isn't ASCII has six characters, and a space follows the colon


def test_arguments_count_as_they_are_written_again() -> None:
    # find is 4 characters: 1 token, and 15 / 2, up; or both / 4, down.
    assert open_estimator("strands").item(CALL) == 1 + -(-AGAIN // 2)
    assert open_estimator("adk").item(CALL) == (4 + AGAIN) // 4 == 4
    inspect = open_estimator("inspect")
    assert inspect.item(CALL) == inspect.text("find") + inspect.text('{"q": "\\u6570"}')


def test_arguments_that_are_no_object_stand_under_input() -> None:
    for text, again in (("", "{}"), ("[1]", '{"input": "[1]"}'), ("no json", '{"input": "no json"}')):
        item = Item("tool_call", 1, 1, text)
        assert open_estimator("strands").item(item) == -(-len(again) // 2)


def test_a_note_in_place_of_a_group_has_the_groups_id() -> None:
    note = Item("note", -1, 9, "[Tool results: find: x]", sources=(4, 5))
    content = {"additional_properties": {}, "text": note.text, "type": "text"}
    message = {"contents": [content], "message_id": "tool_summary_group_msg_4", "role": "assistant"}
    assert open_estimator("agent-framework").messages([[note]]) == len(json.dumps(message)) // 4


ASKED = Item("user", 0, 0, "12345678")
SAID = Item("assistant", 1, 1, "1234")
THOUGHT = Item("reasoning", 2, 1, "1234")
FIND = Item("tool_call", 3, 1, '{"b":1,"a":2}', tool="find")  # written again: 16 characters
FOUND = Item("tool_result", 4, 4, "12345", tool="find", answers=3)
HEAD = Head(system="12345678", tools=("1234567",), hidden=5)


@pytest.mark.parametrize(
    ("name", "each", "head"),
    [
        # "[user] " 7 + 8, "[assistant] " 12 + 4 twice, "[assistant -> tool_call] find()" 31 + 16,
        # "[tool:find] " 12 + 5; each by 4, down; head (8 + 7) // 4 + 5.
        ("haystack", [3, 4, 4, 11, 4], 8),
        # 8, 4, 4, 4 + 16, 4 + 19 for {"result": "12345"}; each by 4, down.
        ("adk", [2, 1, 1, 5, 5], 0),
        # find(…) is 4 + 13 + 2.
        ("ag2", [2, 1, 1, 4, 1], 0),
        # By 4, up; arguments 16 / 2 beside 1 for the name; head 8 / 4 + 7 / 2, up, + 5.
        ("strands", [2, 1, 1, 9, 2], 11),
    ],
)
def test_items_and_a_head_by_hand(name: str, each: list[int], head: int) -> None:
    estimator = open_estimator(name)
    assert [estimator.item(item) for item in (ASKED, SAID, THOUGHT, FIND, FOUND)] == each
    assert estimator.text("123456789") == (3 if name == "strands" else 2)
    assert estimator.head(HEAD) == head


def test_messages_are_rounded_together() -> None:
    messages = [[ASKED], [SAID, THOUGHT, FIND], [FOUND]]
    haystack = open_estimator("haystack")
    # 15 + 16 + 47 + 17 and three line feeds are 98; the thought isn't sent.
    # "[system] be kind" is 16 and a line feed more.
    assert haystack.messages(messages) == 98 // 4 == 24
    assert haystack.messages(messages, "be kind") == (98 + 17) // 4 == 28
    assert haystack.messages([]) == 0
    # 8 + 4 + 4 + 20 + 23 are 59.
    assert open_estimator("adk").messages(messages) == 59 // 4 == 14
    assert open_estimator("adk").item(Item("tool_call", 1, 1, "{}", tool="find")) == 1
    assert haystack.item(Item("tool_call", 1, 1, "no json", tool="find")) == (31 + 7) // 4


@pytest.mark.parametrize(
    ("name", "each", "text", "head"),
    [
        # (8 + user) / 4, (4 + assistant) / 4, (4 + user) / 4, (5 + tool + find) / 4, each up and 3; the call: 73 to 76.
        ("langchain", [6, 7, 5, 19, 7], 3, 0),
        # 8, 4, 4, 4 + 13, 5, each by 4, up.
        ("openclaw", [2, 1, 1, 5, 2], 3, 0),
        # 3 for each, 1 for its role, 3 for 12345678, 2 for 1234 and 12345, 9 for the arguments, 1 and 1 for a name.
        ("litellm", [7, 6, 4, 13, 8], 3, 15),
    ],
)  # fmt: skip
def test_items_with_frames_by_hand(name: str, each: list[int], text: int, head: int) -> None:
    estimator = open_estimator(name)
    assert [estimator.item(item) for item in (ASKED, SAID, THOUGHT, FIND, FOUND)] == each
    assert (estimator.text("123456789"), estimator.head(HEAD)) == (text, head)


@pytest.mark.parametrize(
    ("name", "counted", "with_system", "nothing"),
    [
        # 6, the response 25 (its text, role and calls together), 7; the system prompt (7 + system) / 4, up, and 3.
        ("langchain", 38, 45, 0),
        # 2, (4 + 4 + 17) / 4 up, 2; the system prompt's 7 / 4 up.
        ("openclaw", 11, 13, 0),
        # 3 for the reply, 7, 3 + 2 + 9 + 1 without the thought, 8; 3 + 1 + 2 for the system prompt.
        ("litellm", 33, 39, 3),
    ],
)  # fmt: skip
def test_messages_with_frames_by_hand(name: str, counted: int, with_system: int, nothing: int) -> None:
    messages = [[ASKED], [SAID, THOUGHT, FIND], [FOUND]]
    estimator = open_estimator(name)
    assert estimator.messages(messages) == counted
    assert estimator.messages(messages, "be kind") == with_system
    assert estimator.messages([]) == nothing


@pytest.mark.parametrize(
    ("label", "reported", "scaled"),
    [
        # 50 by (100 + 20) / 100; by at most 1.25, up; by at least 1; without usage, size or the option as it is.
        ("langchain:scaling=true", Reported(Usage(100, 20), 100), 60),
        ("langchain:scaling=true", Reported(Usage(100, 90), 100), 63),
        ("langchain:scaling=true", Reported(Usage(50, 20), 100), 50),
        ("langchain:scaling=true", Reported(Usage(120), 100), 60),
        ("langchain:scaling=true", Reported(Usage(120), 0), 50), ("langchain:scaling=true", Reported(None, 100), 50),
        ("langchain", Reported(Usage(120), 100), 50),
    ],
)  # fmt: skip
def test_langchain_scales_by_what_was_reported(label: str, reported: Reported, scaled: int) -> None:
    assert open_estimator(label).request(HEAD, 50, [], reported) == scaled
