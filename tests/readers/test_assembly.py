"""From records to a transcript, by hand: what waits, what is paired with what, and what is told of compactions."""

from __future__ import annotations

import time
from typing import Any

import pytest

from ctxsim.readers.assembly import Assembly, Part, left_out
from ctxsim.readers.assembly.blocks import call_part
from ctxsim.readers.assembly.chat_messages import add_messages, written_arguments
from ctxsim.readers.assembly.text_calls import fenced_command
from ctxsim.transcript import NO_HISTORY, NO_RESULT, Call, Compaction, Head, Item, Media, Transcript, Usage, problems


def call(call_id: str, tool: str = "read") -> Part:
    return Part("tool_call", "{}", tool, call_id)


def shown(made: Assembly) -> list[tuple[str, int, str, int | None]]:
    """Kind, message, text and what is answered, of each item."""
    found = made.transcript()
    assert problems(found) == []
    return [(item.kind, item.message, item.text, item.answers) for item in found.items]


def begun(*calls: Part) -> Assembly:
    made = Assembly("made", "some-format", "parent")
    made.user("Go.")
    made.response(calls or [call("a"), call("b")])
    return made


def test_all_that_a_transcript_is_made_of() -> None:
    made = Assembly("made", "some-format", "parent")
    made.system += ["Be brief.", "Be kind."]
    made.tools.append('{"name": "t"}')
    made.notes.append("a note")
    made.project, made.version, made.cost_usd = "/p", "1.2", 0.5
    made.user("Go.", Part("user", "", media=(Media("image", 9),)))
    made.window = 400
    made.response([call("a")], Usage(10, 2), 5.0, "m", False)
    made.result("r", "a")
    made.beside(Usage(7), 6.0, "other")
    made.beside(None, 7.0, "other")
    made.left_out["thing"] += 2
    made.left_out["other"] += 3
    made.left_out["none"] += 0
    found = made.finished()
    assert found == Transcript(
        "made",
        Head("Be brief.\n\nBe kind.", ('{"name": "t"}',), True),
        (
            Item("user", 0, 1, "Go."), Item("user", 1, 1, "", media=(Media("image", 9),)),
            Item("tool_call", 2, 2, "{}", "read", None, "a"), Item("tool_result", 3, 3, "r", "read", 2, "a"),
        ),
        (Call(2, 3, Usage(10, 2), 5.0, "m", False, window=400),),
        format="some-format", parent="parent", notes=("a note", "left out: 3 x other, 2 x thing"),
        cost_usd=0.5, project="/p", version="1.2", beside=(Call(0, 0, Usage(7), 6.0, "other", False),),
    )  # fmt: skip


def test_a_head_is_recorded_where_there_is_a_system_prompt_unless_said_otherwise() -> None:
    heads = []
    for system, said in (([], None), (["s"], None), ([], True), (["s"], False)):
        made = Assembly("made")
        made.system += system
        made.head_recorded = said
        heads.append(made.finished().head.recorded)
    assert heads == [False, True, True, False]
    assert Assembly("made").finished().notes == ("no response of the model is recorded",)


def test_a_sessions_cost_counts_where_no_call_states_its_own() -> None:
    for usage, usd in ((None, 0.5), (Usage(1), 0.5), (Usage(1, cost_usd=0.1), None)):
        made = Assembly("made")
        made.cost_usd = 0.5
        made.response([Part("assistant", "a")], usage)
        assert made.transcript().cost_usd == usd


@pytest.mark.parametrize(("calls", "results", "answers"), [
    # By id; by name where the result has no id; by order where the calls have none, or nothing tells.
    ([call("a"), call("b")], [("2", "b", ""), ("1", "a", "")], [2, 1]),
    ([call("a", "x"), call("b", "y")], [("2", "", "y"), ("1", "", "z")], [2, 1]),
    ([call("", "x"), call("", "y")], [("1", "q", "y"), ("2", "p", "")], [1, 2]),
    ([call("a"), call("a")], [("1", "a", ""), ("2", "a", "")], [1, 2]),
])  # fmt: skip
def test_which_call_a_result_answers(
    calls: list[Part], results: list[tuple[str, str, str]], answers: list[int]
) -> None:
    made = begun(*calls)
    for text, call_id, tool in results:
        made.result(text, call_id, tool)
    found = shown(made)[3:]
    assert [(text, answered) for _, _, text, answered in found] == list(
        zip([text for text, _, _ in results], answers, strict=True)
    )
    assert {message for _, message, _, _ in found} == {3}


def test_ten_thousand_calls_of_one_response_are_answered_in_no_time() -> None:
    made = begun(*(call(f"{number}") for number in range(10_000)))
    began = time.process_time()
    for number in range(10_000):
        made.result("r", f"{number}")
    assert made.transcript().items[-1].answers == 10_000 and time.process_time() - began < 1


def test_what_users_say_waits_for_the_results() -> None:
    made = begun()
    made.result("1", "a")
    made.user("Wait.")
    made.give(Part("user", "More."))
    assert [item.text for item in made.items] == ["Go.", "{}", "{}", "1"]
    made.give(Part("tool_result", "2", call_id="b"))
    # What waited together is one message.
    assert shown(made)[3:] == [
        ("tool_result", 3, "1", 1), ("tool_result", 3, "2", 2), ("user", 4, "Wait.", None), ("user", 4, "More.", None)
    ]  # fmt: skip
    made.user()
    assert made.transcript().notes == () and len(made.items) == 7


def test_calls_without_a_result_and_results_without_a_call() -> None:
    made = begun()
    made.result("of nobody", "z")
    made.result("1", "a")
    made.user("Next.")
    made.response([Part("assistant", "ok")])
    assert shown(made)[3:] == [
        ("tool_result", 3, "1", 1), ("tool_result", 3, NO_RESULT, 2), ("user", 4, "Next.", None),
        ("assistant", 5, "ok", None),
    ]  # fmt: skip
    one = f"1 tool call(s) without a recorded result: '{NO_RESULT}' stands for it"
    assert made.transcript().notes == (one, "1 result(s) without a call left out")
    # It comes late: it is the call's all the same, once.
    made.result("2", "b", media=(Media("image", 3),))
    made.result("again", "b")
    found = made.transcript()
    assert (found.items[4].text, found.items[4].media) == ("2", (Media("image", 3),))
    assert found.notes == (
        "the result of call b was recorded after the next response", "2 result(s) without a call left out"
    )  # fmt: skip


def test_several_records_of_one_compaction_complete_each_other() -> None:
    made = begun(call("a"))
    made.result("1", "a")
    assert made.compacted_now is None
    made.compacted("", ["", "So far."], [0, 2], None, 50, None)
    assert made.compacted_now == Compaction(2, 3, "", ("So far.",), (0, 2), None, 50, None)
    made.user("Go on.")
    # What joined since is kept anyway; what was said first stays.
    made.compacted("auto", ["More."], [1, 3], 900, 60, 2.5)
    made.compacted("manual", (), (), 800, 70, 3.5)
    whole = Compaction(2, 3, "auto", ("So far.", "More."), (0, 1, 2), 900, 50, 2.5)
    assert made.compacted_now == whole and list(made.compactions) == [whole]
    made.response([Part("assistant", "ok")])
    assert made.compacted_now is None
    made.compacted()
    assert list(made.compactions) == [whole, Compaction(3, 5)]
    assert made.transcript().compactions == (whole, Compaction(3, 5))


def test_a_compaction_before_the_first_response_is_how_the_recording_begins() -> None:
    made = Assembly("made")
    made.compacted("auto", ["So far.", ""], tokens_before=9)
    made.compacted("auto")
    assert (list(made.compactions), shown(made)) == ([], [("user", 1, "So far.", None)])
    assert made.notes == [NO_HISTORY]


def test_results_can_be_cleared_from_the_next_call_on() -> None:
    made = begun()
    assert not made.cleared_of(["a"]), "there is none yet"
    made.result("1", "a")
    made.result("2", "b")
    assert made.cleared_of(["b", "z"]) and not made.cleared_of(["z"])
    made.response([Part("assistant", "ok")])
    made.cleared(3)
    assert made.transcript().cleared == ((2, 4), (3, 3))
    empty = Assembly("made")
    assert not empty.cleared_of(["a"])


def test_what_shortened_the_history_is_told_by_the_call_after_it() -> None:
    made = begun()
    made.response([Part("assistant", "Done.")])
    # Before call 3: the first detail stands for all that is told of one cut.
    for detail in ("", "9 tokens", "8 tokens", ""):
        made.shortening("cut", detail)
    made.response([Part("assistant", "Done.")])
    made.compacted()
    made.response([Part("assistant", "Done.")])
    made.compacted("manual", tokens_before=0)
    assert made.finished().notes[:3] == (
        "cut before call 3 (9 tokens)", "recorded compaction before call 4",
        "recorded compaction before call 5 (manual, 0 tokens)",
    )  # fmt: skip


def test_who_started_a_compaction() -> None:
    for said, told in (("manual", "manual"), ("auto", "auto"), ("other", ""), (None, "")):
        again = begun()
        again.compacted(said)
        assert [one.started_by for one in again.compactions] == [told]
    assert (left_out({}), left_out({"b": 1, "a": 2})) == ([], ["left out: 2 x a, 1 x b"])


@pytest.mark.parametrize(("given", "made"), [
    (("t", {"a": 1}, 5), Part("tool_call", '{"a":1}', "t", "5")), ((None, None, None), Part("tool_call")),
    (("t", "text", ""), Part("tool_call", "text", "t")),
])  # fmt: skip
def test_a_call_is_made_of_whatever_a_log_holds(given: tuple[Any, Any, Any], made: Part) -> None:
    assert call_part(*given) == made


@pytest.mark.parametrize(("calls", "arguments"), [
    ([{"id": "a", "function": {"name": "f", "arguments": '{"x":  1}'}}], {"a": '{"x":  1}'}),
    ([{"id": "a"}, {"function": {"name": "f", "arguments": "{}"}}, {"id": "b", "name": "f"}], {}),
    ([{"id": "a", "function": {"name": "f", "arguments": {"x": 1}}}], {}), (None, {}), ("strange", {}), ([5], {}),
])  # fmt: skip
def test_arguments_as_the_model_wrote_them(calls: Any, arguments: dict[str, str]) -> None:
    assert written_arguments(calls) == arguments


@pytest.mark.parametrize(("text", "word"), [
    ("```bash\nls -l\n```\n", "ls"), ("```\nls\n```\nAnd\n```py\n  cat x\n```\nend", "cat"), ("```ls```", ""),
    # A fence that closes a block begins none, though another one follows.
    ("```bash\nls -l\n```\nThen I will see\n```", "ls"), ("```bash\nls", ""), ("```bash\n\nls\n```", ""),
])  # fmt: skip
def test_a_command_is_in_the_last_fenced_block(text: str, word: str) -> None:
    start, end = fenced_command(text) or (0, 0)
    assert text[start:end] == word


def test_chat_messages_of_all_roles() -> None:
    made = Assembly("made")
    function = {"name": "f", "arguments": '{"x": 1}'}
    add_messages(made, [
        {"role": "system", "content": "Be brief."}, {"role": "developer", "content": "Be kind."},
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": "I look.", "reasoning_content": "Hm.",
         "thinking_blocks": [{"thinking": "Hm."}],
         "tool_calls": [{"id": "a", "function": {"name": "g"}}, {"name": "f", "arguments": "{}"}, {"id": "c"}]},
        {"role": "tool", "name": "f", "content": "of f"}, {"role": "tool", "tool_call_id": "a", "content": "of g"},
        {"role": "system", "content": "Be quick."},
        {"role": "assistant", "thinking_blocks": [{"thinking": "So."}, {"data": "cipher"}], "function_call": function},
        {"role": "function", "name": "f", "content": "1"},
        {"role": "assistant", "content": "Done.", "reasoning": "Well."}, {"role": "assistant", "reasoning": {"x": 1}},
    ], "x")  # fmt: skip
    assert (made.system, made.notes) == (["Be brief.", "Be kind."], [])
    assert made.counts["system message(s) in mid-conversation kept as user text"] == 1
    assert made.left_out["empty entry of `tool_calls`"] == 1
    assert [(item.kind, item.message, item.text, item.tool, item.call_id) for item in made.items] == [
        ("user", 1, "Go.", "", ""), ("reasoning", 2, "Hm.", "", ""), ("assistant", 2, "I look.", "", ""),
        ("tool_call", 2, "", "g", "a"), ("tool_call", 2, "{}", "f", ""), ("tool_result", 3, "of f", "f", ""),
        ("tool_result", 3, "of g", "g", "a"), ("user", 4, "Be quick.", "", ""), ("reasoning", 5, "So.", "", ""),
        ("reasoning", 5, "cipher", "", ""), ("tool_call", 5, '{"x": 1}', "f", ""), ("tool_result", 6, "1", "f", ""),
        ("reasoning", 7, "Well.", "", ""), ("assistant", 7, "Done.", "", ""),
    ]  # fmt: skip
