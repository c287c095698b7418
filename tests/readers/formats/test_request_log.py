"""Request and response logs: chat completions, Anthropic messages, SWE-agent's lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from read_back import all_of, kinds, said, write

from ctxsim.errors import InputError
from ctxsim.transcript import Transcript, Usage


def transcripts(tmp_path: Path, *lines: Any, name: str = "log.jsonl") -> list[Transcript]:
    return all_of(write(tmp_path / name, *lines), "request-log")


SYSTEM = {"role": "system", "content": "You help."}
TASK = {"role": "user", "content": "Fix mail.py."}
TOOLS = [{"type": "function", "function": {"name": "bash"}}]


def call(call_id: str, content: str | None = None) -> dict[str, Any]:
    function = {"name": "bash", "arguments": '{"command":"ls"}'}
    return {"role": "assistant", "content": content, "tool_calls": [{"id": call_id, "function": function}]}


def result(call_id: str, content: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def chat(messages: list[Any], reply: dict[str, Any], prompt: int = 10, **more: Any) -> dict[str, Any]:
    usage = {"prompt_tokens": prompt, "completion_tokens": 2}
    response = {"model": "served", "choices": [{"message": reply}], "usage": usage, "created": 1_700_000_000}
    return {"request": {"model": "asked", "messages": messages, "tools": TOOLS}, "response": response, **more}


FIRST = [SYSTEM, TASK]
SECOND = [*FIRST, call("c1"), result("c1", "mail.py")]


def test_chat_completions_that_grow_are_one_transcript(tmp_path: Path) -> None:
    (transcript,) = transcripts(
        tmp_path,
        chat(FIRST, call("c1"), 100, timestamp="2023-11-14T22:13:20Z"),
        chat(SECOND, {"role": "assistant", "content": "Done."}, 130),
    )
    assert kinds(transcript) == ["user", "tool_call", "tool_result", "assistant"]
    assert [call.usage for call in transcript.calls] == [Usage(100, 2), Usage(130, 2)]
    assert [call.time_s for call in transcript.calls] == [1_700_000_000.0, 1_700_000_000.0]
    assert transcript.model == "served"
    assert transcript.head.system == "You help."
    assert transcript.head.tools == ('{"type":"function","function":{"name":"bash"}}',)
    assert transcript.notes == ()


def test_a_request_that_is_there_again_counts_once(tmp_path: Path) -> None:
    first, second = chat(FIRST, call("c1"), 100), chat(SECOND, {"role": "assistant", "content": "Done."}, 130)
    # One that is asked again at another time, or answered otherwise, was paid for twice.
    later = chat(FIRST, call("c1"), 100, timestamp="2023-11-14T23:00:00Z")
    (transcript,) = transcripts(tmp_path, first, first, second, second)
    assert [call.usage for call in transcript.calls] == [Usage(100, 2), Usage(130, 2)] and transcript.beside == ()
    assert transcript.notes == ("2 repeated request(s) left out",)
    usages = [one.usage for made in transcripts(tmp_path, first, later, second) for one in (*made.calls, *made.beside)]
    assert sorted(one.input_tokens for one in usages if one) == [100, 100, 130]


def test_the_newest_request_may_stand_first(tmp_path: Path) -> None:
    pairs = [
        chat(FIRST, call("c1"), 100, timestamp=1_700_000_001),
        chat(SECOND, call("c2"), 130, timestamp=1_700_000_002),
        chat([*SECOND, call("c2"), result("c2", "2 messages")], call("c3"), 150, timestamp=1_700_000_003),
    ]
    (transcript,) = transcripts(tmp_path, *pairs)
    assert [call.usage for call in transcript.calls] == [Usage(100, 2), Usage(130, 2), Usage(150, 2)]
    assert transcripts(tmp_path, *pairs[::-1]) == [transcript]


def test_a_conversation_that_was_rewound_ends_on_the_branch_of_its_last_request(tmp_path: Path) -> None:
    third = [*SECOND, call("c2"), result("c2", "mail.py: fixed")]
    rewound = [*SECOND, {"role": "assistant", "content": "No."}, {"role": "user", "content": "Then undo it."}]
    (transcript,) = transcripts(
        tmp_path,
        chat(FIRST, call("c1")),
        chat(SECOND, call("c2")),
        chat(third, {"role": "assistant", "content": "Done."}),
        chat(SECOND, {"role": "assistant", "content": "No."}),
        chat(rewound, {"role": "assistant", "content": "Undone."}),
    )
    assert [item.text for item in transcript.items[-3:]] == ["No.", "Then undo it.", "Undone."]
    assert len(transcript.calls) == 3 and all(call.comparable for call in transcript.calls)
    assert transcript.notes == ("2 response(s) from which no later request went on left out (retried or rewound)",)
    # They were paid for as the others.
    assert [call.usage for call in transcript.beside] == [transcript.calls[0].usage] * 2


def test_the_provider_puts_the_history_before_a_request_that_names_a_response(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pair(number: int, given: list[Any], output: dict[str, Any]) -> dict[str, Any]:
        request = {"model": "m", "input": given, "previous_response_id": f"r{number - 1}" if number > 1 else None}
        usage = {"input_tokens": 10 * number, "output_tokens": 2}
        return {"request": request, "response": {"id": f"r{number}", "model": "m", "output": [output], "usage": usage}}

    asks = {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": "{}"}
    answers = {"type": "function_call_output", "call_id": "c1", "output": "mail.py"}
    says = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}
    thanks = {"role": "user", "content": "Thanks."}
    pairs = pair(1, [TASK], asks), pair(2, [answers], says), pair(3, [thanks], says)
    # The second request holds three messages, the third five.
    monkeypatch.setattr("ctxsim.readers.assembly.requests.logged.MOST_JOINED", 7)
    with pytest.raises(InputError, match="follows on more than 7 earlier messages: give it in parts"):
        transcripts(tmp_path, *pairs)
    monkeypatch.setattr("ctxsim.readers.assembly.requests.logged.MOST_JOINED", 8)
    (transcript,) = transcripts(tmp_path, *pairs)
    assert [(item.text, item.answers) for item in transcript.items] == [
        ("Fix mail.py.", None), ("{}", None), ("mail.py", 1), ("Done.", None), ("Thanks.", None), ("Done.", None),
    ]  # fmt: skip
    assert [call.usage and call.usage.input_tokens for call in transcript.calls] == [10, 20, 30]
    assert transcript.notes == () and all(call.comparable for call in transcript.calls)
    # Each session of the endpoint numbers its responses from 1.
    other = pair(1, [{"role": "user", "content": "Fix web.py."}], asks), *pairs[1:]
    both = [
        {**one, "session": name} for two in zip(pairs, other, strict=True) for name, one in zip("ab", two, strict=True)
    ]
    monkeypatch.setattr("ctxsim.readers.assembly.requests.logged.MOST_JOINED", 16)
    found = [(one.items[0].text, len(one.calls)) for one in transcripts(tmp_path, *both)]
    assert found == [("Fix mail.py.", 3), ("Fix web.py.", 3)]


def test_encrypted_reasoning_keeps_the_size_that_its_response_states(tmp_path: Path) -> None:
    thinks = {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "gAAA"}
    output = [thinks, {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}]
    usage = {"input_tokens": 9, "output_tokens": 50, "output_tokens_details": {"reasoning_tokens": 40}}
    response = {"model": "m", "output": output, "usage": usage}
    given = [TASK, *output, {"role": "user", "content": "Thanks."}]
    pairs = [{"request": {"model": "m", "input": one}, "response": response} for one in ([TASK], given)]
    (transcript,) = transcripts(tmp_path, *pairs)
    sizes = [[media.tokens for media in item.media] for item in transcript.items if item.kind == "reasoning"]
    assert (sizes, transcript.notes) == ([[40], [40]], ())


def test_a_system_message_in_mid_conversation_of_a_request_is_told(tmp_path: Path) -> None:
    thinks = {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "gAAA"}
    output = [thinks, {"type": "message", "role": "assistant", "content": "Done."}]
    given = [TASK, *output, {"role": "developer", "content": "Be brief."}]
    pairs = [{"request": {"model": "m", "input": one}, "response": {"output": output}} for one in ([TASK], given)]
    (transcript,) = transcripts(tmp_path, *pairs)
    assert transcript.notes == ("1 system message(s) in mid-conversation kept as user text",)


def test_the_requested_model_counts_where_the_response_names_none(tmp_path: Path) -> None:
    pair = chat(FIRST, call("c1"))
    del pair["response"]["model"]
    assert transcripts(tmp_path, pair)[0].model == "asked"


def anthropic(messages: list[Any], content: list[Any], system: Any = "You help.") -> dict[str, Any]:
    usage = {"input_tokens": 3, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 100, "output_tokens": 7}
    body = {"model": "asked", "system": system, "messages": messages, "tools": [{"name": "bash"}], "max_tokens": 9}
    response = {"id": "msg", "type": "message", "role": "assistant", "content": content, "model": "c", "usage": usage}
    return {"request": {"timestamp": 1_700_000_000.25, "body": body}, "response": {"body": json.dumps(response)}}


def test_anthropic_messages_with_bodies_thinking_and_moving_cache_marks(tmp_path: Path) -> None:
    use = {"type": "tool_use", "id": "t1", "name": "bash", "input": {"command": "ls"}}
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    task = {"role": "user", "content": [{"type": "text", "text": "Fix it.", "cache_control": {"type": "ephemeral"}}]}
    answer = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "mail.py"}]}
    longer = [
        {"role": "user", "content": [{"type": "text", "text": "Fix it."}]},
        # The client left the thinking out of the next request.
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [{"type": "text", "text": "Hurry."}, {**answer, "cache_control": {"type": "x"}}]},
    ]
    (transcript,) = transcripts(
        tmp_path,
        anthropic([task], [thinking, use]),
        anthropic(longer, [{"type": "text", "text": "Done."}], system=[{"type": "text", "text": "You help."}]),
    )
    assert said(transcript) == [
        ("user", "Fix it."),
        ("reasoning", "Hm."),
        ("tool_call", '{"command":"ls"}'),
        ("tool_result", "mail.py"),
        ("user", "Hurry."),
        ("assistant", "Done."),
    ]
    assert transcript.calls[0].usage == Usage(123, 7, 100, 20)
    assert transcript.calls[0].time_s == 1_700_000_000.25
    assert all(call.comparable for call in transcript.calls)
    assert transcript.head.tools == ('{"name":"bash"}',)


SO_FAR, MORE = ({"role": "user", "content": text} for text in ("So far.", "More?"))
C2 = [call("c2"), result("c2", "fixed")]


@pytest.mark.parametrize(
    ("third", "summary", "kept"),
    [
        # Where no response is left, what stands behind the last known message is the summary.
        ([*FIRST, SO_FAR, MORE], "So far.", (0,)),
        # The newest response and what stands behind it are kept: what is new before it is the summary.
        ([SYSTEM, SO_FAR, *C2, MORE], "So far.", (3, 4, 5)),
        ([*SECOND, *C2, MORE], None, ()),
    ],
)  # fmt: skip
def test_where_the_log_says_so_a_summary_stands_for_the_history(
    tmp_path: Path, third: list[Any], summary: str | None, kept: tuple[int, ...]
) -> None:
    (transcript,) = transcripts(
        tmp_path, chat(FIRST, call("c1")), chat(SECOND, call("c2")),
        chat(third, {"role": "assistant", "content": "Yes."}, compacted=True),
    )  # fmt: skip
    assert [(one.summary, one.kept) for one in transcript.compactions] == ([((summary,), kept)] if summary else [])
    assert [item.text for item in transcript.items][-2:] == ["More?", "Yes."] and len(transcript.calls) == 3
    assert all(one.comparable for one in transcript.calls)


def test_conversations_are_told_apart_and_what_has_no_response_is_counted(tmp_path: Path) -> None:
    other = [{"role": "system", "content": "Title it."}, TASK]
    found = transcripts(
        tmp_path,
        chat(FIRST, call("c1")),
        chat(other, {"role": "assistant", "content": "Mail"}),
        {"request": {"messages": FIRST}, "response": {"error": {"message": "overloaded"}}},
        {"event": "started"},
        "{torn",
        chat(SECOND, {"role": "assistant", "content": "Done."}),
        chat(other, {"role": "assistant", "content": "Mail"}, kind="title"),
    )
    assert [transcript.name.rpartition("#")[2] for transcript in found] == ["1", "2"]
    assert [len(transcript.calls) for transcript in found] == [2, 1]
    # Nothing says that one started the other: a proxy sees many clients.
    assert [transcript.parent for transcript in found] == [None, None]
    skipped, *counted = found[0].notes
    assert skipped.startswith("line 5 skipped, not JSON")
    assert counted == [
        "1 request(s) without a recorded response left out",
        "1 record(s) that are no request or response left out",
        "1 request(s) that are not the conversation left out: title",
    ]
    assert found[1].notes == ("starts at log.jsonl:2, which continues no earlier request",)


@pytest.mark.parametrize("many", [False, True])
def test_a_document_is_one_pair_or_a_list_of_them(tmp_path: Path, many: bool) -> None:
    pair = chat(FIRST, {"role": "assistant", "content": "Done."})
    (transcript,) = transcripts(tmp_path, [pair] if many else pair, name="log.json")
    assert [item.text for item in transcript.items] == ["Fix mail.py.", "Done."]


def asked(messages: list[Any], second: int) -> dict[str, Any]:
    time = f"2025-11-03T03:37:{second:02}.5"
    params = {"model": "m", "messages": messages, "tools": TOOLS}
    return {"timestamp": time, "type": "request", "request_params": params}


def answered(message: dict[str, Any]) -> dict[str, Any]:
    usage = {"prompt_tokens": 410, "completion_tokens": 0}
    response = {"id": "x", "model": "m", "created": 1, "choices": [{"message": message}], "usage": usage}
    return {"timestamp": "2025-11-03T03:38:00", "type": "response", "response": response, "outputs": [], "cost": 0.1}


def test_swe_agent_lines_without_its_estimates_and_with_its_requeries(tmp_path: Path) -> None:
    hint = {"role": "user", "content": "Your output was not formatted correctly."}
    wrong = {"role": "assistant", "content": "I would like to look at the file."}
    # Two answers are asked for again; what was wrong with them is out of the history when a third comes.
    requery = [*SECOND, wrong, hint]
    final = [*SECOND, call("c2"), result("c2", "mail.py")]
    (transcript,) = transcripts(
        tmp_path,
        asked(FIRST, 1),
        answered({**call("c1"), "thinking_blocks": None}),
        asked(SECOND, 2),
        answered(wrong),
        asked(requery, 3),
        # Asked twice, answered once.
        asked(requery, 4),
        answered(call("c2")),
        asked(final, 5),
        answered({"role": "assistant", "content": "Done."}),
    )
    assert all(call.usage is None for call in transcript.calls)
    # The second try was also sent what was wrong with the first.
    assert [call.comparable for call in transcript.calls] == [True, False, True]
    assert [item.text for item in transcript.items] == [
        "Fix mail.py.",
        '{"command":"ls"}',
        "mail.py",
        '{"command":"ls"}',
        "mail.py",
        "Done.",
    ]
    times = [call.time_s for call in transcript.calls]
    assert [time - times[0] for time in times if time and times[0]] == [0, 3, 4]
    assert transcript.notes == (
        "1 request(s) without a recorded response left out",
        "4 usage record(s) of SWE-agent left out: its own estimate",
        "1 response(s) in a wrong form left out: they were asked for again, and no later request holds them",
    )


@pytest.mark.parametrize(("times", "calls"), [(3, 3), (4, 7)])
def test_swe_agent_asks_again_three_times(times: int, calls: int, tmp_path: Path) -> None:
    hint = {"role": "user", "content": "Your output was not formatted correctly."}
    lines = [asked(FIRST, 1), answered(call("c1"))]
    sent: list[Any] = [*SECOND]
    for n in range(times):
        wrong = {"role": "assistant", "content": f"Look at file {n}."}
        lines += [asked(sent, n + 2), answered(wrong)]
        sent = [*sent, wrong, hint]
    final = [*SECOND, call("c2"), result("c2", "mail.py")]
    done = answered({"role": "assistant", "content": "Done."})
    found = transcripts(tmp_path, *lines, asked(sent, 8), answered(call("c2")), asked(final, 9), done)
    assert sum(len(one.calls) for one in found) == calls


def test_a_call_that_the_client_dropped_from_the_history_stays_text(tmp_path: Path) -> None:
    kept = {"role": "assistant", "content": "I will look."}
    hint = {"role": "user", "content": "No such tool."}
    (transcript,) = transcripts(
        tmp_path,
        chat(FIRST, call("c1", "I will look.")),
        chat([*FIRST, kept, hint], {"role": "assistant", "content": "Done."}),
    )
    assert kinds(transcript) == ["user", "assistant", "user", "assistant"]
    assert transcript.notes == ("1 response(s) kept in the form in which the next request repeats them",)


def test_a_log_without_any_response_is_a_transcript_without_calls(tmp_path: Path) -> None:
    (transcript,) = transcripts(tmp_path, asked(FIRST, 1), asked(FIRST, 2))
    assert transcript.calls == ()
    assert transcript.notes == (
        "2 request(s) without a recorded response left out",
        "no response of the model is recorded",
    )
