"""The log of requests, faults at their limits, scripts by place, and arguments that fit a schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from samples import chat, conversation

from ctxsim.errors import LabelError
from ctxsim.live.exchange import Refusal, Reply, Tool, ToolCall
from ctxsim.live.faults import Faults, Limited, parse_faults
from ctxsim.live.log import Entry, Log
from ctxsim.live.matching import Match, Matched
from ctxsim.live.script import GO_ON, Script, Step, Wanted, drivable, script_of
from ctxsim.live.session import Served
from ctxsim.live.tools import ending, tool_call
from ctxsim.simulator.provider import Provider
from ctxsim.transcript import Item

# the log

REPLY = Reply("00000001", "m", "Fine.")


def served(**more: Any) -> Served:
    return Served(**{"kind": "main", "step": 3, "api": "chat", "tokens": 70, "reply": REPLY, "refusal": None,
                     "matched": None, "cost_usd": 0.5, "output": 9, **more})  # fmt: skip


def matched(*matches: Match, dropped: tuple[int, ...] = ()) -> Matched:
    return Matched(matches, dropped)


def test_an_entry_says_what_was_asked_and_answered() -> None:
    log = Log(None)
    body = {"model": "m"}
    answered = log.write("s", body, served(retry=True, unused="search"))
    message = {"role": "assistant", "content": "Fine.", "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    response = {"id": "chatcmpl-00000001", "object": "chat.completion", "created": 1_700_000_000, "model": "m",
                "choices": [choice]}  # fmt: skip
    assert answered == Entry(
        "s", 1, "main", 3, 200, 70, 9, 0.5, body, response, "chat", retry=True, unused="search"
    )  # fmt: skip
    refused = log.write("s", body, served(reply=None, refusal=Refusal("rate_limited", "Wait.", 2.0)))
    assert (refused.number, refused.status, refused.response["error"]["message"], log.number) == (2, 429, "Wait.", 2)


def test_an_entry_counts_items_by_what_they_are_of_the_history() -> None:
    kept, cut, new, again = Match(0, "kept"), Match(1, "cut"), Match(None, "inserted"), Match(0, "twice")
    entry = Log(None).write("s", {}, served(matched=matched(kept, kept, kept, kept, cut, cut, cut, new, new, again)))
    assert (entry.kept, entry.cut, entry.inserted, entry.twice, entry.dropped, entry.compacted) == (
        4,
        3,
        2,
        1,
        0,
        False,
    )
    quiet = json.loads(msgspec.json.encode(entry))
    assert "compacted" not in quiet and "dropped" not in quiet and quiet["kept"] == 4


def test_a_compaction_is_where_more_is_missing_than_before_in_that_session() -> None:
    log = Log(None)
    found = [
        log.write(session, {}, served(matched=matched(dropped=tuple(range(gone))))).compacted
        for session, gone in (("a", 0), ("a", 2), ("a", 2), ("b", 2), ("a", 1), ("a", 2), ("b", 3))
    ]
    assert found == [False, True, False, True, False, True, True]
    # A request that isn't the conversation tells nothing of it.
    assert (
        not log.write("a", {}, served()).compacted
        and not log.write("a", {}, served(matched=matched(dropped=(1, 2)))).compacted
    )


def test_a_log_is_appended_to_a_line_a_request(tmp_path: Path) -> None:
    path, key = tmp_path / "log.jsonl", f"sk-ant-api03-{'aB3' * 31}AA"
    for redacted in (False, True):
        with Log(path, redacted) as log:
            log.write("s", {"text": key}, served())
    lines = path.read_text().splitlines()
    assert [json.loads(line)["number"] for line in lines] == [1, 1]
    assert key in lines[0] and key not in lines[1] and lines[1].startswith('{"session":"s"')
    assert msgspec.json.decode(lines[0], type=Entry).output == 9


# faults

PLAIN = Faults({}, frozenset(), 1.0, 0.0, False)


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("429@1", Faults({1: Limited(1, 3.0)})), ("429@7:times=2", Faults({7: Limited(2, 3.0)})),
        ("429@7:retry=0", Faults({7: Limited(1, 0.0)})), ("429@7:retry=0.5,times=1", Faults({7: Limited(1, 0.5)})),
        ("stream-error@1", Faults(broken=frozenset({1}))), ("usage=0", Faults(usage=0.0)), ("slow=0", PLAIN),
        ("usage=2.5", Faults(usage=2.5)), ("slow=2", Faults(slow_s=2.0)), ("unpaired", Faults(unpaired=True)),
        ("usage=.5", Faults(usage=0.5)), ("slow=.5", Faults(slow_s=0.5)),
        ("429@07:retry=.5", Faults({7: Limited(1, 0.5)})),
    ],
)  # fmt: skip
def test_a_fault_by_itself(text: str, faults: Faults) -> None:
    assert parse_faults((text,)) == faults


def test_without_a_fault_nothing_goes_wrong() -> None:
    assert parse_faults(()) == Faults() == PLAIN


def test_faults_of_several_kinds_and_of_several_steps() -> None:
    given = parse_faults(("429@2:retry=7,times=3", "429@4", "stream-error@5", "stream-error@6", "usage=0.5"))
    assert given == Faults({2: Limited(3, 7.0), 4: Limited()}, frozenset({5, 6}), 0.5)
    assert parse_faults(("usage=none",)).usage is None


@pytest.mark.parametrize(
    "text",
    ["429@1:times=0", "429@1:retry=-1", "429@1:retry=3,later=4", "429@1:retry", "429@-1", "429:times=2", "stream-error",
     "stream-error@0", "stream-error@1:times=2", "usage=1:x", "slow=1:x", "slow=-0.1", "usage=inf", "unpaired:x",
     "unpaired=1", "", "429", "429@0", "429@x", "429@1:nope=1", "usage=", "usage=-1", "slow=nan", "slow=inf", "fire"],
)  # fmt: skip
def test_another_form_is_told_with_those_that_there_are(text: str) -> None:
    with pytest.raises(LabelError, match=f"fault '{text}' is none of: 429@STEP.*unpaired"):
        parse_faults((text,))


def test_a_provider_that_reports_by_a_factor() -> None:
    off = Provider(usage_factor=2.0)
    factors = [Faults(usage=usage).over(off).usage_factor for usage in (0.5, 1.0, 0.0, None)]
    assert factors == [1.0, 2.0, 0.0, 0.0]


# scripts


def test_a_script_says_prompts_steps_and_places() -> None:
    recorded = chat(
        ("user", "First."), ("assistant", "Look."), ("tool_call", "{}"), ("tool_call", '{"n": 2}'),
        ("tool_result", "one"), ("tool_result", "two"), ("assistant", "There."), ("user", "More."),
        ("user", "And more."), ("tool_call", "{}"),
    )  # fmt: skip
    script = script_of(recorded)
    assert script.prompts == ("First.", "More.\n\nAnd more.")
    items = script.transcript.items
    assert script.steps == (
        Step("Look.", (Wanted(items[2], items[4]), Wanted(items[3], items[5]))),
        Step("There.", ()), Step("", (Wanted(items[8]),)),
    )  # fmt: skip
    assert [(one.tool, one.text) for one in items if one.kind == "tool_call"] == [
        ("read", "{}"), ("read", '{"n": 2}'), ("read", "{}"),
    ]  # fmt: skip
    # A call without a result has a file by its own place.
    assert script.files == {"result_0004.txt": "one", "result_0005.txt": "two", "result_0008.txt": ""}
    assert script_of(conversation("x")).steps[0].wanted[0].file == "result_0002.txt"


def test_a_recording_that_begins_with_an_answer_is_given_a_prompt() -> None:
    recorded = chat(("assistant", "One."), ("user", "Then?"), ("assistant", "Two."))
    plain = drivable(recorded)
    assert [item.text for item in plain.items] == [GO_ON, "One.", "Then?", "Two."] and plain.notes == ()
    assert GO_ON == "Continue."
    empty = chat(("user", "Go."), ("reasoning", "hm"), ("user", "On."), ("assistant", "Yes."))
    # A response of thoughts alone is an empty answer.
    assert [(item.kind, item.text) for item in drivable(empty).items] == [
        ("user", "Go."), ("assistant", ""), ("user", "On."), ("assistant", "Yes."),
    ]  # fmt: skip


def test_what_is_played_keeps_the_head_the_times_and_the_names() -> None:
    recorded = conversation("x", system="You help.")
    calls = tuple(msgspec.structs.replace(call, time_s=10.0 + n, model="m") for n, call in enumerate(recorded.calls))
    played = drivable(msgspec.structs.replace(recorded, calls=calls, format="f", parent="p"))
    assert (played.head, played.name, played.format, played.parent) == (recorded.head, "sample", "f", "p")
    assert [(call.time_s, call.model, call.usage) for call in played.calls] == [(10.0, "m", None), (11.0, "m", None)]
    assert isinstance(script_of(recorded), Script) and played.items[0] == Item("user", 0, 1, "Do the task.")


# tools

WANTED = Wanted(Item("tool_call", 1, 1, "{}", "read"), Item("tool_result", 2, 2, "text", "read", 1))


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string"}, "result"), ({}, "result"), (None, "result"), ({"type": "boolean"}, False),
        ({"type": "integer"}, 1),
        ({"type": "number"}, 1), ({"type": "array"}, []), ({"type": "object"}, {}), ({"enum": ["b", "a"]}, "b"),
        ({"enum": [], "type": "integer"}, 1), ({"type": ["string", "null"]}, "result"),
    ],
)  # fmt: skip
def test_what_else_is_required_gets_a_value_that_fits(schema: Any, value: object) -> None:
    tool = Tool("bash", {"cmd": {"type": "string"}, "more": schema, "left": {}}, ("cmd", "more"))
    found = tool_call(WANTED, [tool], {}, "/w")
    assert found is not None and json.loads(found[1]) == {"cmd": "cat /w/result_0002.txt", "more": value}


@pytest.mark.parametrize(
    "name", ["command", "cmd", "script", "file_path", "filePath", "absolute_path", "path", "target_file"]
)
def test_the_names_of_what_runs_or_reads(name: str) -> None:
    found = tool_call(WANTED, [Tool("any", {name: {}})], {}, "")
    shell = name in ("command", "cmd", "script")
    assert found == ("any", json.dumps({name: "cat result_0002.txt" if shell else "result_0002.txt"}))


def test_the_first_of_several_and_what_is_preferred() -> None:
    both = [Tool("one", {"path": {}, "file_path": {}}), Tool("two", {"script": {}}), Tool("three", {"command": {}})]
    assert tool_call(WANTED, both, {}, "") == ("two", '{"script": "cat result_0002.txt"}')
    assert tool_call(WANTED, both[:1], {}, "") == ("one", '{"file_path": "result_0002.txt"}')
    templates = {"none": {}, "three": {"a": [{"b": "<{file}>"}, 7], "c": None}, "two": {}}
    found = tool_call(WANTED, both, templates, "/w")
    assert found == ("three", '{"a": [{"b": "</w/result_0002.txt>"}, 7], "c": null}')
    assert tool_call(WANTED, [Tool("read", {"path": {}})], templates, None) == ("read", "{}")


def test_a_turn_ends_with_the_first_call_that_is_offered() -> None:
    ends = {"gone": {}, "finish": {"a": 1}, "stop": {}}
    assert ending([Tool("stop", {}), Tool("finish", {})], ends, "c") == (ToolCall("c", "finish", '{"a": 1}'),)
    assert ending([Tool("read", {})], ends, "c") == () == ending([Tool("finish", {})], {}, "c")
