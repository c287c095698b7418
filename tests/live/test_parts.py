"""Scripts, tools, faults and matching: the pieces of the endpoint by themselves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count

import pytest
from endpoint import FIRST, SECOND, Spoken, client, sample
from hypothesis import given
from hypothesis import strategies as st
from samples import chat
from starlette.testclient import TestClient

from ctxsim.errors import CtxsimError, LabelError
from ctxsim.live.exchange import Tool
from ctxsim.live.faults import Faults, Limited, parse_faults
from ctxsim.live.matching import Known, Matcher, share_held
from ctxsim.live.script import GO_ON, TURN_ENDS, Wanted, drivable, script_of
from ctxsim.live.tools import tool_call
from ctxsim.transcript import Head, Item, Transcript, problems

# scripts


def test_a_script_has_a_step_for_each_call_and_a_file_for_each_result() -> None:
    script = script_of(sample())
    assert [len(step.wanted) for step in script.steps] == [1, 1, 0]
    assert [step.text for step in script.steps] == ["", "", "Done."]
    assert script.prompts == (("Do the task.", 0),)
    assert list(script.files.values()) == [FIRST, SECOND]


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
    assert [text for text, _ in script_of(recorded).prompts] == ["First.", "Hurry!", "Thanks."]
    assert plain.notes == ("1 answer(s) added where somebody spoke while tools ran: an agent's turn ends first",)


def test_where_nobody_spoke_between_two_answers_somebody_says_go_on() -> None:
    recorded = chat(("user", "First."), ("assistant", "One."), ("user", ""), ("assistant", "Two."))
    assert [item.text for item in drivable(recorded).items if item.kind == "user"] == ["First.", GO_ON]


def test_a_conversation_without_a_call_cannot_be_played() -> None:
    with pytest.raises(CtxsimError, match="no call to play"):
        script_of(Transcript("empty", Head(), (), ()))


# tools

WANTED = Wanted("gmail_read", '{"id": 7}', "text", 1, 2)
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


# faults


def test_faults_are_parsed() -> None:
    given = parse_faults(("429@2:retry=7,times=3", "429@4", "stream-error@5", "usage=0.5", "slow=0.1"))
    assert given == Faults({2: Limited(3, 7.0), 4: Limited()}, frozenset({5}), 0.5, 0.1)
    assert parse_faults(("usage=none",)).usage is None
    assert parse_faults(("unpaired",)).unpaired


@pytest.mark.parametrize(
    "text", ["", "429", "429@0", "429@x", "429@1:nope=1", "usage=", "usage=-1", "slow=nan", "slow=inf", "fire"]
)
def test_another_fault_is_told(text: str) -> None:
    with pytest.raises(LabelError, match="is none of"):
        parse_faults((text,))


# matching


def known() -> Matcher:
    matcher = Matcher()
    matcher.learn([
        Known(0, "user", "Please do the task."),
        Known(1, "assistant", "I look."),
        Known(2, "tool_call", '{"n": 1}', "read", "c1"),
        Known(3, "tool_result", FIRST, "read", "c1"),
        Known(4, "tool_call", '{"n": 2}', "read", "c2"),
        Known(5, "tool_result", SECOND, "read", "c2"),
    ])  # fmt: skip
    return matcher


def states(*items: Item) -> list[tuple[int | None, str]]:
    return [(match.place, match.state) for match in known().match(items).matches]


def test_items_are_known_by_content_wherever_they_stand() -> None:
    half = "\n".join(FIRST.splitlines()[:20])
    assert states(
        Item("user", 0, 0, "<context>now</context>"),
        Item("user", 1, 1, "Please do the task.\n"),
        Item("tool_result", 2, 2, f"Output:\n{half}\n[cut]"),
        Item("tool_result", 3, 2, "\n".join(f"{n:>5}| {line}" for n, line in enumerate(SECOND.splitlines()))),
        Item("tool_result", 4, 2, SECOND),
        Item("tool_result", 5, 2, "[cleared]", call_id="c1"),
        Item("tool_result", 6, 2, "of something else"),
        Item("tool_call", 7, 3, "{}", "read", call_id="c2"),
        Item("assistant", 8, 3, "I look."),
    ) == [
        (None, "inserted"), (0, "kept"), (3, "cut"), (5, "kept"), (5, "twice"), (3, "twice"), (None, "inserted"),
        (4, "kept"), (1, "kept"),
    ]  # fmt: skip


def test_what_is_missing_was_dropped() -> None:
    assert known().match([Item("tool_result", 0, 0, FIRST)]).dropped == (0, 1, 2, 4, 5)


def test_the_share_of_lines_that_is_held() -> None:
    assert share_held("a one\nb two\nc three\nd four", "start\nb two\nc three\n") == 0.5
    assert share_held("x" * 1_000, "y" + "x" * 200) == 1.0
    assert share_held("", "") == 1.0
    # A line is held from its first character on, and one of a single character counts too.
    assert share_held("abc\nxyz\nq", "bc xyz") == 1 / 3
    assert (
        share_held(
            'say "one"\nsay <two>', '{"output": "say \\\\"one\\\\"\\\\nsay \\\\u003ctwo>"}'.replace("\\\\", "\\")
        )
        == 1.0
    )


def test_a_prompt_is_known_in_all_that_an_agent_writes_around_it_but_not_in_a_summary() -> None:
    matcher = known()
    wrapped = Item("user", 0, 0, f"{'Rules. ' * 200}Please do the task.{' More rules.' * 200}")
    summary = Item("user", 1, 1, f"{'Summary. ' * 200}Please do the task.{' Then a result.' * 200}")
    assert [match.place for match in matcher.match([wrapped]).matches] == [0]
    assert [match.place for match in matcher.match([summary]).matches] == [None]
    assert [match.state for match in matcher.match([wrapped, summary]).matches] == ["kept", "inserted"]
    resumed = Item("user", 0, 0, f"{'It is another day. ' * 200}Please do the task.")
    assert [match.place for match in matcher.match([resumed]).matches] == [0]


@pytest.mark.parametrize(("said", "place"), [("Do the task.", 0), ("Do the job.", None)])
def test_a_prompt_of_twelve_characters_is_long_enough_to_be_known_by(said: str, place: int | None) -> None:
    matcher = Matcher()
    matcher.learn([Known(0, "user", said)])
    wrapped = Item("user", 0, 0, f"{'Rules. ' * 200}{said}{' More rules.' * 200}")
    assert [match.place for match in matcher.match([wrapped]).matches] == [place]
    # Alone it is itself, however short.
    assert [match.place for match in matcher.match([Item("user", 0, 0, said)]).matches] == [0]


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


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff\xfe", b"1", b'{"messages": [' + b"[" * 5_000, b"null"])
def test_what_is_no_json_object_is_told(data: bytes) -> None:
    with client() as http:
        for path in ("/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1beta/models/m:generateContent"):
            done = http.post(path, content=data)
            assert done.status_code == 400 and done.json()["error"]["message"]
