"""OpenHands completion records: a run's folder is one transcript whose requests are the recorded ones, item by item."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from read_back import all_of

from ctxsim.errors import InputError
from ctxsim.readers import read
from ctxsim.readers.assembly.segments import segments
from ctxsim.readers.formats.openhands.completions import owns
from ctxsim.transcript import Call, Compaction, Transcript, Usage

TOOLS = [{"type": "function", "function": {"name": "bash", "description": "Runs é."}}]


def text(value: str, **more: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": value, **more}]


SYSTEM = {"role": "system", "content": text("You are careful.", cache_control={"type": "ephemeral"})}
TASK = {"role": "user", "content": text("Fix mail.py.")}


def calling(call_id: str, content: str | None = None, command: str = "ls") -> dict[str, Any]:
    function = {"name": "bash", "arguments": json.dumps({"command": command})}
    return {"role": "assistant", "content": content, "tool_calls": [{"index": 1, "id": call_id, "function": function}]}


def result(call_id: str, value: str) -> dict[str, Any]:
    return {"role": "tool", "content": text(value), "tool_call_id": call_id, "name": "bash"}


def record(time_s: float, messages: list[Any], reply: dict[str, Any], prompt: int = 10, **more: Any) -> dict[str, Any]:
    usage = {"prompt_tokens": prompt, "completion_tokens": 3, "cache_read_input_tokens": 4}
    usage |= {"cache_creation_input_tokens": 5, "prompt_tokens_details": {"audio_tokens": None, "cached_tokens": 4}}
    response = {"id": "x", "created": int(time_s), "model": "m", "choices": [{"message": reply}], "usage": usage}
    return {"messages": messages, "response": response, "kwargs": {"tools": TOOLS}, "timestamp": time_s, **more}


def write(folder: Path, *records: dict[str, Any]) -> Path:
    folder.mkdir(exist_ok=True)
    for entry in records:
        (folder / f"model-{entry['timestamp']}.json").write_text(json.dumps(entry))
    return folder


def transcripts(path: Path) -> list[Transcript]:
    return all_of(path, "openhands-completions")


def recorded_items(messages: list[dict[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """What a recorded request says, written without the reader."""
    for message in messages:
        content = message["content"] or ""
        value = content if isinstance(content, str) else "\n".join(block["text"] for block in content)
        if message["role"] == "assistant":
            if value:
                yield "assistant", "", value
            for call in message.get("tool_calls") or []:
                yield "tool_call", call["function"]["name"], call["function"]["arguments"]
        elif message["role"] == "tool":
            yield "tool_result", message["name"], value
        elif message["role"] == "user":
            yield "user", "", value


def request_items(transcript: Transcript, call: Call) -> list[tuple[str, str, str]]:
    return [(item.kind, item.tool, item.text) for item in transcript.items[: call.start] if item.kind != "reasoning"]


FIRST = [SYSTEM, TASK]
SECOND = [*FIRST, calling("c1", "I look."), result("c1", "mail.py")]
# The cache mark moves to the newest message: that is no change of the text.
SECOND_PLAIN = [{**SYSTEM, "content": text("You are careful.")}, *SECOND[1:]]
GO_ON = {"role": "user", "content": "Go on."}
THIRD = [*SECOND_PLAIN, calling("c2", None, "cat mail.py"), result("c2", "é\u2028x"), GO_ON]
DONE = {"role": "assistant", "content": "Done."}


def test_a_folder_is_one_transcript_and_every_request_is_the_recorded_one(tmp_path: Path) -> None:
    records = [
        record(1_700_000_010.5, FIRST, calling("c1", "I look."), 100, latency_sec=2.5),
        record(1_700_000_020.5, SECOND, {**calling("c2", None, "cat mail.py"), "reasoning_content": "Hm."}, 120),
        record(1_700_000_100.5, THIRD, DONE, 150),
    ]
    (transcript,) = transcripts(write(tmp_path / "run", *reversed(records)))
    assert transcript.name == str(tmp_path / "run")
    assert transcript.head.system == "You are careful."
    assert transcript.head.tools == ('{"type":"function","function":{"name":"bash","description":"Runs é."}}',)
    for call, logged in zip(transcript.calls, records, strict=True):
        assert request_items(transcript, call) == list(recorded_items(logged["messages"]))
        assert call.comparable
    assert [call.usage for call in transcript.calls] == [Usage(n, 3, 4, 5) for n in (100, 120, 150)]
    # Start of the request where the latency is known, else the time of the response.
    assert [call.time_s for call in transcript.calls] == [1_700_000_008.0, 1_700_000_020.5, 1_700_000_100.5]
    # Reasoning is in the response, though the next request doesn't repeat it.
    assert [item.kind for item in transcript.items[4:6]] == ["reasoning", "tool_call"]
    assert transcript.items[-1].text == "Done."
    assert transcript.notes == ()


def test_records_whose_names_tell_no_time_come_by_their_own_those_without_any_first(tmp_path: Path) -> None:
    untimed, early = record(0.0, FIRST, calling("c1", "I look.")), record(0.5, SECOND, DONE)
    del untimed["timestamp"]
    (tmp_path / "b.json").write_text(json.dumps(untimed))
    (tmp_path / "a.json").write_text(json.dumps(early))
    (transcript,) = transcripts(tmp_path)
    assert [item.text for item in transcript.items][-1] == "Done." and len(transcript.calls) == 2
    assert transcript.notes == ()


def test_the_last_record_alone_gives_the_whole_conversation(tmp_path: Path) -> None:
    folder = write(tmp_path / "run", record(1_700_000_100.5, THIRD, DONE))
    (by_folder,) = transcripts(folder)
    (by_file,) = transcripts(next(folder.iterdir()))
    assert by_folder.items == by_file.items
    assert [call.usage is None for call in by_file.calls] == [True, True, False]
    assert by_file.notes == ("2 response(s) known only from a later request: without usage and time",)


def test_a_condensed_request_begins_a_segment_with_its_summary(tmp_path: Path) -> None:
    summary = {"role": "user", "content": "Earlier: it looked at mail.py."}
    condensed = [SYSTEM, TASK, summary, calling("c2", None, "cat mail.py"), result("c2", "x")]
    asked = [{"role": "user", "content": "Summarize these events."}]
    folder = write(
        tmp_path / "run",
        record(1_700_000_001.5, FIRST, calling("c1", "I look.")),
        record(1_700_000_002.5, SECOND, calling("c2", None, "cat mail.py")),
        record(1_700_000_003.5, asked, {"role": "assistant", "content": "Earlier: it looked at mail.py."}, kwargs={}),
        record(1_700_000_004.5, condensed, calling("c3")),
        record(1_700_000_005.5, [*condensed, calling("c3"), result("c3", "y")], DONE),
    )
    main, condenser = transcripts(folder)
    assert [call.comparable for call in main.calls] == [True, True, True, True]
    assert main.compactions == (Compaction(3, 6, "", ("Earlier: it looked at mail.py.",), (0, 4, 5)),)
    _, after = segments(main)
    assert [item.text for item in after.items[: after.calls[0].start]] == [
        "Earlier: it looked at mail.py.",
        "Fix mail.py.",
        '{"command": "cat mail.py"}',
        "x",
    ]
    assert [item.text for item in main.items if item.kind == "tool_result"] == ["mail.py", "x", "y"]
    assert not any("Earlier" in item.text for item in main.items)
    assert main.notes == ("recorded compaction before call 3",)
    assert (main.name, condenser.name) == (f"{folder}#1", f"{folder}#2")
    assert (condenser.parent, condenser.head.recorded) == (main.name, False)
    assert condenser.notes == ("starts at model-1700000003.5.json, which continues no earlier request",)


def test_messages_that_are_only_left_out_or_shortened_are_no_compaction(tmp_path: Path) -> None:
    dropped = [*FIRST, calling("c2", None, "cat mail.py")]
    cleared = [*SECOND[:3], result("c1", "..."), calling("c2", None, "cat mail.py")]
    shortened = [SYSTEM, {"role": "user", "content": "Fix."}, *SECOND[2:], calling("c2", None, "cat mail.py")]
    for number, history in enumerate([dropped, cleared, shortened]):
        folder = write(
            tmp_path / str(number),
            record(1_700_000_001.5, FIRST, calling("c1", "I look.")),
            record(1_700_000_002.5, SECOND, calling("c2", None, "cat mail.py")),
            record(1_700_000_003.5, [*history, result("c2", "x")], DONE),
        )
        (transcript,) = transcripts(folder)
        assert [call.comparable for call in transcript.calls] == [True, True, False]
        assert transcript.compactions == ()
        assert transcript.notes[0].endswith("messages: this call and later ones are not comparable)")


def test_other_tools_later_are_noted(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "run",
        record(1_700_000_001.5, FIRST, calling("c1", "I look.")),
        record(1_700_000_002.5, SECOND, DONE, kwargs={"tools": []}),
    )
    (transcript,) = transcripts(folder)
    assert [call.comparable for call in transcript.calls] == [True, False]
    assert transcript.notes == (
        "1 request(s) have another system prompt or other tools than the first; its head is kept",
    )


def test_without_function_calling_calls_are_text_to_the_letter(tmp_path: Path) -> None:
    written = "I look.\n\n<function=bash>\n<parameter=command>ls</parameter>\n"
    repeated = f"{written}</function>"
    observed = "EXECUTION RESULT of [bash]:\nmail.py"
    messages = [{"role": "system", "content": "With tools."}, {"role": "user", "content": "Fix mail.py."}]
    longer = [*messages, {"role": "assistant", "content": repeated}, {"role": "user", "content": observed}]

    def raw(content: str) -> dict[str, Any]:
        # The log keeps converted calls as empty objects.
        choices = [{"message": {"content": content, "tool_calls": [{}]}}]
        return {"raw_messages": [], "raw_response": {"choices": choices}}

    folder = write(
        tmp_path / "run",
        record(1_700_000_001.5, messages, calling("c1", "I look."), kwargs={}, tools=TOOLS, **raw("I look.")),
        record(1_700_000_002.5, longer, calling("c2", "I look."), kwargs={}, tools=TOOLS, **raw(written)),
    )
    (transcript,) = transcripts(folder)
    # A converter wrote the tools into the system prompt; they were not sent beside it.
    assert transcript.head.tools == ()
    assert [(item.kind, item.tool, item.text) for item in transcript.items] == [
        ("user", "", "Fix mail.py."),
        ("assistant", "", "I look.\n\n<function="),
        ("tool_call", "bash", ">\n<parameter=command>ls</parameter>\n</function>"),
        ("tool_result", "bash", observed),
        ("assistant", "", "I look.\n\n<function="),
        ("tool_call", "bash", ">\n<parameter=command>ls</parameter>\n"),
    ]
    assert "".join(part for item in transcript.items[1:3] for part in item.texts) == repeated
    assert transcript.notes == ("1 response(s) kept in the form in which the next request repeats them",)


def test_without_function_calling_only_tags_that_openhands_runs_are_calls(tmp_path: Path) -> None:
    said = 'I look. <tool_call>{"name": "bash", "arguments": {}}</tool_call>'
    reply = {"role": "assistant", "content": said}
    raw = {"raw_messages": [], "raw_response": {"choices": [{"message": reply}]}}
    folder = write(
        tmp_path / "run",
        record(1_700_000_001.5, FIRST, reply, 100, **raw),
        record(1_700_000_002.5, [*FIRST, reply, GO_ON], DONE, 101, raw_messages=[]),
    )
    (transcript,) = transcripts(folder)
    assert [item.text for item in transcript.items] == ["Fix mail.py.", said, "Go on.", "Done."]
    assert [call.usage and call.usage.input_tokens for call in transcript.calls] == [100, 101]
    assert transcript.notes == ()


def test_a_torn_record_is_noted_and_other_files_make_a_folder_ordinary(tmp_path: Path) -> None:
    folder = write(tmp_path / "run", record(1_700_000_001.5, FIRST, calling("c1", "I look.")))
    (folder / "model-1700000002.5.json").write_text('{"messages": [')
    (transcript,) = transcripts(folder)
    assert len(transcript.calls) == 1
    assert transcript.notes[0].startswith("model-1700000002.5.json left out: is not complete JSON")
    (folder / "model-1700000002.5.json").unlink()
    (folder / "chat.json").write_text(json.dumps([TASK, {"role": "assistant", "content": "Hi."}]))
    assert sorted(transcript.format for transcript in read(str(folder))) == ["openai-chat", "openhands-completions"]


def test_a_record_that_cannot_be_read_costs_only_itself(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "run",
        record(1_700_000_001.5, FIRST, {"role": "assistant", "content": "I look.", "tool_calls": [{}]}, cost=0.25),
        record(1_700_000_002.5, [*FIRST, {"role": "robot"}], calling("c2")),
    )
    (transcript,) = transcripts(folder)
    assert [item.text for item in transcript.items][-1] == "I look."
    assert [call.usage and call.usage.cost_usd for call in transcript.calls] == [0.25]
    assert transcript.notes[0].startswith("model-1700000002.5.json left out: ")


def test_a_wrong_type_says_where(tmp_path: Path) -> None:
    folder = write(tmp_path / "run", record(1_700_000_001.5, [SYSTEM, {"role": "robot"}], calling("c1")))
    with pytest.raises(InputError, match=r"model-1700000001\.5\.json message 1: .*role"):
        transcripts(folder)


def test_a_folder_is_a_run_s_own_where_it_holds_records_alone(tmp_path: Path) -> None:
    assert not owns(tmp_path)
    folder = write(tmp_path / "run", record(1.0, [SYSTEM, TASK], calling("c1")))
    assert owns(folder)
    (folder / "another.jsonl").touch()
    assert not owns(folder)
    (folder / "another.jsonl").unlink()
    (folder / "inside").mkdir()
    assert not owns(folder)
