"""Frameworks' own counters over what is easily counted differently: arguments, and messages that stand for others."""

from __future__ import annotations

import json

from ctxsim.counting.estimators import open_estimator
from ctxsim.transcript import Item

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
