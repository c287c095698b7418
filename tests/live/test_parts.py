"""What is played of a recording, the tool that is chosen, and bodies that are no requests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count

import pytest
from endpoint import Spoken, client
from hypothesis import given
from hypothesis import strategies as st
from samples import chat
from starlette.testclient import TestClient

from ctxsim.errors import CtxsimError
from ctxsim.live.exchange import Tool
from ctxsim.live.script import GO_ON, TURN_ENDS, Wanted, drivable, script_of
from ctxsim.live.tools import tool_call
from ctxsim.transcript import Head, Item, Transcript, problems

# scripts


def test_a_recording_is_put_into_a_form_that_can_be_played() -> None:
    recorded = chat(
        ("user", "First."),
        ("reasoning", "hm"),
        ("assistant", "I look."),
        ("tool_call", "{}"),
        ("tool_result", "found"),
        ("user", "Hurry!"),
        ("assistant", "Here."),
        ("user", "Thanks."),
        ("assistant", "Welcome."),
    )
    plain = drivable(recorded)
    assert not problems(plain)
    assert [(item.kind, item.text) for item in plain.items] == [
        ("user", "First."),
        ("assistant", "I look."),
        ("tool_call", "{}"),
        ("tool_result", "found"),
        ("assistant", TURN_ENDS),
        ("user", "Hurry!"),
        ("assistant", "Here."),
        ("user", "Thanks."),
        ("assistant", "Welcome."),
    ]
    assert script_of(recorded).prompts == ("First.", "Hurry!", "Thanks.")
    assert plain.notes == ("1 answer(s) added where somebody spoke while tools ran: an agent's turn ends first",)


def test_where_nobody_spoke_between_two_answers_somebody_says_go_on() -> None:
    recorded = chat(("user", "First."), ("assistant", "One."), ("user", ""), ("assistant", "Two."))
    assert [item.text for item in drivable(recorded).items if item.kind == "user"] == ["First.", GO_ON]


def test_a_conversation_without_a_call_cannot_be_played() -> None:
    with pytest.raises(CtxsimError, match="no call to play"):
        script_of(Transcript("empty", Head(), (), ()))


# tools

WANTED = Wanted(Item("tool_call", 1, 1, '{"id": 7}', "gmail_read"), Item("tool_result", 2, 2, "text", "gmail_read", 1))
SHELL = Tool("bash", {"command": {"type": "string"}, "why": {"type": "string"}}, ("command", "why"))
ARGV = Tool("shell", {"command": {"type": "array"}}, ("command",))
READER = Tool("read", {"filePath": {"type": "string"}, "limit": {"type": "number"}}, ("filePath",))


@pytest.mark.parametrize(
    ("tools", "preferred", "folder", "expected"),
    [
        ([Tool("gmail_read", {})], {}, None, ("gmail_read", {"id": 7})),
        ([SHELL], {}, None, None),
        ([READER, SHELL], {}, "/w", ("bash", {"command": "cat /w/result_0002.txt", "why": "result"})),
        ([ARGV], {}, "", ("shell", {"command": ["cat", "result_0002.txt"]})),
        ([READER], {}, "/w", ("read", {"filePath": "/w/result_0002.txt"})),
        ([SHELL, READER], {"read": {"filePath": "{file}", "limit": 9}}, "/w",
         ("read", {"filePath": "/w/result_0002.txt", "limit": 9})),
        ([SHELL], {"bash": {"commands": ["cat {file}"]}}, "/w", ("bash", {"commands": ["cat /w/result_0002.txt"]})),
        ([Tool("think", {"thought": {}})], {}, "/w", None),
    ],
)  # fmt: skip
def test_the_tool_is_chosen_from_what_is_offered(
    tools: list[Tool], preferred: dict[str, dict[str, object]], folder: str | None, expected: tuple[str, object] | None
) -> None:
    found = tool_call(WANTED, tools, preferred, folder)
    assert (found and (found[0], json.loads(found[1]))) == expected


# hostile bodies

SCALARS = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=6)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
    st.sampled_from(["role", "content", "type", "text", "parts", "tool_calls", "function", "name", "id", "input"]),
    inner, max_size=4), max_leaves=12)  # fmt: skip
FIELDS = ("model", "messages", "input", "contents", "tools", "system", "stream", "instructions", "systemInstruction")
NUMBERS = count()


@pytest.fixture(scope="module")
def http() -> Iterator[TestClient]:
    with client() as made:
        yield made


@given(
    body=st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=5),
    api=st.sampled_from(["chat", "responses", "messages", "gemini"]),
)
def test_any_json_gets_an_answer(http: TestClient, body: dict[str, object], api: str) -> None:
    # Each time another conversation begins.
    done = http.post(Spoken(http, api, session=str(next(NUMBERS))).path, json=body)
    assert done.status_code in (200, 400)


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"\xff\xfe", b'{"a": "\xff"}', b"1", b'{"messages": [' + b"[" * 5_000, b"null"]
)
def test_what_is_no_json_object_is_told(data: bytes) -> None:
    with client() as http:
        for path in ("/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1beta/models/m:generateContent"):
            done = http.post(path, content=data)
            assert done.status_code == 400 and done.json()["error"]["message"]
