"""Codex rollouts: which items are one response, which token count is whose, compactions, and older generations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from read_back import Json, only, write

from ctxsim.errors import InputError
from ctxsim.readers.formats import codex
from ctxsim.readers.source import Sample, Source
from ctxsim.transcript import NO_RESULT, Compaction, Media, Transcript, Usage

NINE = "2026-01-05T09:00:00.000Z"
NINE_S = 1767603600.0


def wrapped(kind: str, payload: Any, timestamp: str = NINE) -> Json:
    return {"timestamp": timestamp, "type": kind, "payload": payload}


def meta(**fields: Any) -> Json:
    return wrapped("session_meta", {"id": "thread-1", "cli_version": "0.140.0", **fields})


def item(kind: str, **fields: Any) -> Json:
    return wrapped("response_item", {"type": kind, **fields})


def message(role: str, text: str) -> Json:
    block = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": block, "text": text}])


def reasoning() -> Json:
    return item("reasoning", summary=[{"type": "summary_text", "text": "Look"}], content=None, encrypted_content="gAA")


def call(call_id: str, arguments: str = "{}", name: str = "shell") -> Json:
    return item("function_call", name=name, arguments=arguments, call_id=call_id)


def output(call_id: str, value: Any) -> Json:
    return item("function_call_output", call_id=call_id, output=value)


def tokens(total: int, input: int, output: int = 10, cached: int = 0, thought: int = 0) -> Json:
    last = {
        "input_tokens": input,
        "cached_input_tokens": cached,
        "output_tokens": output,
        "reasoning_output_tokens": thought,
        "total_tokens": input + output,
    }
    info = {"total_token_usage": {"input_tokens": total}, "last_token_usage": last}
    return wrapped("event_msg", {"type": "token_count", "info": info, "rate_limits": None})


def one(folder: Path, *lines: Json | str) -> Transcript:
    return only(write(folder / "rollout.jsonl", *lines), "codex-rollout")


def kinds(transcript: Transcript) -> list[list[str]]:
    """Kinds of each call's response."""
    return [[item.kind for item in transcript.items[c.start : c.end]] for c in transcript.calls]


def texts(transcript: Transcript, kind: str) -> list[str]:
    return [item.text for item in transcript.items if item.kind == kind]


def test_a_response_is_what_stands_between_two_requests(tmp_path: Path) -> None:
    read_back = one(
        tmp_path,
        meta(base_instructions={"text": "You are terse."}),
        wrapped("turn_context", {"model": "gpt-x"}),
        message("developer", "Sandbox: none."),
        message("user", "Fix the build."),
        reasoning(),
        message("assistant", "I look."),
        call("c1", '{"cmd": "make"}'),
        call("c2"),
        output("c2", "two"),
        output("c1", "one"),
        tokens(1000, 1000, output=60, cached=200, thought=20),
        message("assistant", "Done."),
        tokens(2100, 1100),
    )
    assert kinds(read_back) == [["reasoning", "assistant", "tool_call", "tool_call"], ["assistant"]]
    assert read_back.head.system == "You are terse.\n\nSandbox: none."
    assert read_back.head.recorded
    assert [c.usage for c in read_back.calls] == [Usage(1000, 60, 200, None, 20), Usage(1100, 10, 0, None, 0)]
    assert [c.model for c in read_back.calls] == ["gpt-x", "gpt-x"]
    assert read_back.calls[0].time_s == NINE_S
    answers = {item.text: read_back.items[item.answers].call_id for item in read_back.items if item.answers is not None}
    assert answers == {"two": "c2", "one": "c1"}
    # Arguments stay to the letter: the space after the colon counts.
    assert texts(read_back, "tool_call") == ['{"cmd": "make"}', "{}"]


def test_encrypted_reasoning_counts_by_the_recorded_number_once(tmp_path: Path) -> None:
    read_back = one(
        tmp_path, meta(), message("user", "Go."), reasoning(), reasoning(), call("c1"), tokens(900, 900, thought=20)
    )
    found = [item for item in read_back.items if item.kind == "reasoning"]
    assert [item.text for item in found] == ["", ""]
    assert [item.media for item in found] == [(Media("encrypted_reasoning", 20),), ()]


def test_reasoning_without_a_count_is_noted_and_open_reasoning_is_text(tmp_path: Path) -> None:
    plain = item("reasoning", summary=[], content=[{"type": "reasoning_text", "text": "Two steps."}])
    read_back = one(tmp_path, meta(), message("user", "Go."), reasoning(), call("c1"), output("c1", "x"), plain)
    assert texts(read_back, "reasoning") == ["", "Two steps."]
    assert "1 response(s) with reasoning of unknown size, counted as 0 tokens" in read_back.notes


def test_repeated_and_empty_counts_are_dropped(tmp_path: Path) -> None:
    read_back = one(
        tmp_path,
        meta(),
        message("user", "Go."),
        call("c1"),
        output("c1", "x"),
        tokens(1000, 1000),
        wrapped("event_msg", {"type": "token_count", "info": None}),
        tokens(1000, 1000),
        message("assistant", "Done."),
        tokens(2200, 1200),
        tokens(2200, 1200),
    )
    assert [c.usage and c.usage.input_tokens for c in read_back.calls] == [1000, 1200]
    assert any("3 x event token_count" in note for note in read_back.notes)


def test_counts_of_older_versions_stand_before_their_items(tmp_path: Path) -> None:
    read_back = one(
        tmp_path,
        meta(cli_version="0.58.0"),
        message("user", "Go."),
        tokens(1000, 1000, thought=5),
        reasoning(),
        call("c1"),
        output("c1", "x"),
        tokens(1000, 1000, thought=5),
        tokens(2200, 1200),
        call("c2"),
        output("c2", "y"),
        tokens(3600, 1400),
        message("assistant", "Done."),
    )
    assert [c.usage and c.usage.input_tokens for c in read_back.calls] == [1000, 1200, 1400]
    assert read_back.items[1].media == (Media("encrypted_reasoning", 5),)


def test_a_count_ends_a_response_even_without_outputs(tmp_path: Path) -> None:
    read_back = one(
        tmp_path,
        meta(),
        message("user", "Go."),
        message("assistant", "First."),
        tokens(1000, 1000),
        message("assistant", "Second."),
        tokens(2100, 1100),
    )
    assert kinds(read_back) == [["assistant"], ["assistant"]]


def test_a_resumed_session_may_write_its_counts_at_the_other_place(tmp_path: Path) -> None:
    read_back = one(
        tmp_path,
        meta(cli_version="0.58.0"),
        message("user", "Go."),
        tokens(1000, 1000),
        message("assistant", "One."),
        meta(cli_version="0.140.0"),
        message("user", "More."),
        message("assistant", "Two."),
        tokens(2100, 1100),
        message("user", "More."),
        message("assistant", "Three."),
        tokens(3300, 1200),
    )
    assert [c.usage and c.usage.input_tokens for c in read_back.calls] == [1000, 1100, 1200]


def test_a_compaction_keeps_the_history_and_marks_later_calls(tmp_path: Path) -> None:
    history = [
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Old rules."}]},
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "New rules."}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go."}]},
        {"type": "compaction", "encrypted_content": "x"},
    ]
    read_back = one(
        tmp_path,
        meta(),
        message("developer", "Old rules."),
        message("user", "Go."),
        call("c1"),
        output("c1", "x"),
        tokens(9000, 9000, output=46),
        # The request for the summary: not one of the conversation.
        tokens(18100, 9100),
        wrapped("compacted", {"message": "All was well.", "replacement_history": history}),
        wrapped("event_msg", {"type": "token_count", "info": {
            "total_token_usage": {"input_tokens": 18100}, "model_context_window": 258_400,
            "last_token_usage": {"input_tokens": 0, "total_tokens": 1800}}}),
        message("assistant", "Done."),
        tokens(20000, 1900),
        # Two requests that failed.
        tokens(22000, 2000), tokens(24100, 2100),
    )  # fmt: skip
    assert [c.comparable for c in read_back.calls] == [True, True]
    assert [c.window for c in read_back.calls] == [None, 272_000]
    assert read_back.compactions == (Compaction(2, 3, "", ("New rules.",), (0,), 9110, 1800),)
    assert [c.usage and c.usage.input_tokens for c in read_back.calls] == [9000, 1900]
    assert not any("All was well." in item.text for item in read_back.items)
    beside = [(c.start, c.usage and c.usage.input_tokens) for c in read_back.beside]
    assert beside == [(read_back.compactions[0].at, 9100), (0, 2000), (0, 2100)]
    assert "3 token count(s) of requests that are not in the recording" in read_back.notes
    assert "recorded compaction before call 2 (9110 tokens)" in read_back.notes


def test_before_a_compaction_there_was_what_was_sent_and_answered(tmp_path: Path) -> None:
    # 9,000 and 46, as far as they are told; where nothing is told nothing is known.
    count = tokens(9000, 9000, output=46)
    for given, before in ((46, 9046), (None, 9000)):
        count["payload"]["info"]["last_token_usage"]["output_tokens"] = given
        compacted = wrapped("compacted", {"message": "All was well."})
        read_back = one(tmp_path, meta(), message("user", "Go."), message("assistant", "One."), count, compacted)
        assert [found.tokens_before for found in read_back.compactions] == [before]
    read_back = one(tmp_path, meta(), message("user", "Go."), message("assistant", "One."), compacted)
    assert [found.tokens_before for found in read_back.compactions] == [None]


def test_a_summary_that_is_logged_as_a_response_too_is_no_part_of_the_conversation(tmp_path: Path) -> None:
    # As Codex 0.171 writes it.
    said = ("Go.", "From another model: All was well.")
    history = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]} for text in said]
    read_back = one(
        tmp_path, meta(), message("user", "Go."), call("c1"), output("c1", "x"), tokens(9000, 9000, output=46),
        message("assistant", "All was well.\n"), tokens(18100, 9100),
        wrapped("compacted", {"message": "From another model: All was well.", "replacement_history": history}),
        message("assistant", "Done."), tokens(20000, 1900),
    )  # fmt: skip
    assert kinds(read_back) == [["tool_call"], ["assistant"]]
    assert [c.usage and c.usage.input_tokens for c in read_back.calls] == [9000, 1900]
    assert read_back.compactions == (Compaction(2, 3, "", ("From another model: All was well.",), (0,), 9110),)
    assert [(c.start, c.usage and c.usage.input_tokens) for c in read_back.beside] == [(3, 9100)]


def test_an_old_compaction_goes_on_with_the_newest_user_texts_and_the_summary(tmp_path: Path) -> None:
    read_back = one(
        tmp_path,
        meta(),
        wrapped("event_msg", {"type": "task_started", "model_context_window": 272_000}),
        message("user", "Long ago: " + "x" * 79_990),
        message("user", "Go."),
        call("c1"),
        output("c1", "x"),
        wrapped("compacted", {"message": "All was well."}),
        message("assistant", "Done."),
    )
    assert read_back.compactions == (Compaction(2, 4, "", ("All was well.",), (1,)),)
    assert [c.window for c in read_back.calls] == [272_000, 272_000]


@pytest.mark.parametrize(("newest", "kept"), [("x" * 80_000, (1,)), ("x" * 79_997, (0, 1)), ("x" * 80_001, ())])
def test_user_texts_of_eighty_thousand_bytes_stay_beside_a_summary(
    newest: str, kept: tuple[int, ...], tmp_path: Path
) -> None:
    read_back = one(
        tmp_path,
        meta(),
        message("user", "Go."),
        message("user", newest),
        message("assistant", "One."),
        wrapped("compacted", {"message": "All was well."}),
    )
    assert [found.kept for found in read_back.compactions] == [kept]


def test_tools_of_every_kind(tmp_path: Path) -> None:
    read_back = one(
        tmp_path,
        meta(),
        message("user", "Go."),
        item("custom_tool_call", call_id="c1", name="apply_patch", input="*** Begin Patch", status="completed"),
        item("local_shell_call", call_id="c2", action={"type": "exec", "command": ["ls"]}, status="completed"),
        item("web_search_call", status="completed", action={"type": "search", "query": "rain"}),
        item("tool_search_call", call_id="c3", arguments={"query": "mail"}, execution="client"),
        item("function_call", call_id="c4", name="_fetch", namespace="mcp__web", arguments=None),
        item("custom_tool_call_output", call_id="c1", output='{"output":"ok","metadata":{}}'),
        output("c2", [{"type": "input_text", "text": "a"}, {"type": "input_image", "image_url": "data:,"}]),
        item("tool_search_output", call_id="c3", tools=[{"name": "mail"}]),
        output("c4", {"type": "input_text", "text": "page"}),
        message("assistant", "Done."),
    )
    calls = [(item.tool, item.text) for item in read_back.items if item.kind == "tool_call"]
    assert calls == [
        ("apply_patch", "*** Begin Patch"),
        ("local_shell", '{"type":"exec","command":["ls"]}'),
        ("web_search", '{"type":"search","query":"rain"}'),
        ("tool_search", '{"query":"mail"}'),
        ("mcp__web_fetch", ""),
    ]
    results = {item.tool: (item.text, item.media) for item in read_back.items if item.kind == "tool_result"}
    assert results == {
        "apply_patch": ('{"output":"ok","metadata":{}}', ()),
        "local_shell": ("a", (Media("image", 765),)),
        "web_search": (NO_RESULT, ()),
        "tool_search": ('[{"name":"mail"}]', ()),
        "mcp__web_fetch": ("page", ()),
    }


def test_what_was_not_sent_is_named(tmp_path: Path) -> None:
    read_back = one(
        tmp_path,
        meta(),
        message("user", "Go."),
        wrapped("event_msg", {"type": "user_message", "message": "Go."}),
        item("ghost_snapshot", ghost_commit={}),
        wrapped("world_state", {"full": True}),
        wrapped("brand_new", {}),
        "[]",
        '{"type": {"my": "text"}}',
        "{not json",
        message("assistant", "Done."),
        message("developer", "New rules."),
        message("user", "On."),
        message("assistant", "Yes."),
        '{"timestamp": "2026',
    )
    assert texts(read_back, "user") == ["Go.", "New rules.", "On."]
    assert [note[:15] for note in read_back.notes[:2]] == ["line 9 skipped,", "line 14 skipped"]
    assert read_back.notes[2:] == (
        "1 system message(s) in mid-conversation kept as user text",
        "left out: 2 x line without a type, 1 x event user_message, 1 x ghost_snapshot, 1 x world_state, 1 x brand_new",
    )
    assert not read_back.head.recorded


def test_messages_of_other_agents_are_inputs(tmp_path: Path) -> None:
    content = [{"type": "input_text", "text": "Found it."}, {"type": "encrypted_content", "encrypted_content": "gAA"}]
    read_back = one(
        tmp_path,
        meta(),
        message("user", "Go."),
        message("assistant", "I wait."),
        item("agent_message", author="scout", recipient="lead", content=content),
        message("assistant", "Good."),
    )
    assert texts(read_back, "user") == ["Go.", "Found it."]
    assert "left out: 1 x encrypted block of agent_message" in read_back.notes


def test_turns_taken_back_are_kept_but_do_not_compare(tmp_path: Path) -> None:
    read_back = one(
        tmp_path,
        meta(),
        message("user", "Go."),
        message("assistant", "One."),
        wrapped("event_msg", {"type": "thread_rolled_back", "num_turns": 1}),
        message("user", "Rather this."),
        message("assistant", "Two."),
    )
    assert [c.comparable for c in read_back.calls] == [True, False]
    assert "turns were taken back before call 2; they are kept in the history" in read_back.notes


def test_the_first_versions_have_no_wrapper(tmp_path: Path) -> None:
    lines: list[Json] = [
        {"id": "s", "timestamp": NINE, "instructions": "Use tabs.", "git": {}},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go."}]},
        {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c1"},
        {"type": "function_call_output", "call_id": "c1", "output": "ok"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
    ]
    read_back = one(tmp_path, *lines)
    assert kinds(read_back) == [["tool_call"], ["assistant"]]
    assert read_back.head.system == "Use tabs."
    # The agent's own prompt went before it and isn't recorded.
    assert not read_back.head.recorded
    assert "left out: 1 x record_type state" in read_back.notes


def test_the_users_instructions_are_not_counted_twice(tmp_path: Path) -> None:
    read_back = one(
        tmp_path,
        meta(instructions="Use tabs."),
        message("user", "<user_instructions>\nUse tabs.\n</user_instructions>"),
        message("user", "Go."),
        message("assistant", "Done."),
    )
    assert read_back.head.system == ""


def test_a_sub_agent_names_its_parent(tmp_path: Path) -> None:
    parent = write(tmp_path / "rollout-2026-01-05T09-00-00-thread-1.jsonl", meta())
    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": "thread-1", "depth": 1}}}
    lines = [meta(id="thread-2", source=spawned, dynamic_tools=[{"name": "mail"}]), message("assistant", "Hi.")]
    child = only(write(tmp_path / "rollout-2026-01-05T09-01-00-thread-2.jsonl", *lines), "codex-rollout")
    assert child.parent == str(parent)
    assert child.head.tools == ('{"name":"mail"}',)
    assert one(tmp_path, meta(parent_thread_id="gone"), message("assistant", "Hi.")).parent == "gone"
    # One that reviews or remembers names only the session.
    hidden = {"source": {"subagent": "memory_consolidation"}, "session_id": "root"}
    assert one(tmp_path, meta(**hidden), message("assistant", "Hi.")).parent == "root"
    assert one(tmp_path, meta(session_id="thread-1"), message("assistant", "Hi.")).parent is None


def later(line: Json, seconds: int) -> Json:
    return {**line, "timestamp": f"2026-01-05T09:00:{seconds:02}.000Z"}


@pytest.mark.parametrize("ends", ["a pause", "its own header"])
@pytest.mark.parametrize("compacted", [False, True])
def test_what_a_fork_copies_is_where_it_begins(tmp_path: Path, compacted: bool, ends: str) -> None:
    fork = meta(id="thread-2", forked_from_id="thread-1")
    copied = [message("user", "Go."), call("c1"), tokens(100, 100), output("c1", "ok"), message("assistant", "One."),
              tokens(220, 120)]  # fmt: skip
    cut = [wrapped("compacted", {"message": "All of it.", "replacement_history": None})] * compacted
    own = [message("user", "On."), message("assistant", "Two."), tokens(370, 150)]
    own = [fork, *own] if ends == "its own header" else [later(line, 2) for line in own]
    read_back = one(tmp_path, fork, meta(), *copied, *cut, *own)
    assert [c.usage and c.usage.input_tokens for c in read_back.calls] == [150]
    assert kinds(read_back) == [["assistant"]] and read_back.carried == (2 if compacted else 4)
    assert "begins with 2 response(s) copied from another session, where they are counted" in read_back.notes
    # What the other session had compacted isn't there whole.
    assert [item.text for item in read_back.items] == [
        *(["All of it.", "Go."] if compacted else ["Go.", "{}", "ok", "One."]), "On.", "Two."
    ]  # fmt: skip
    # Some forks lack the copied header: https://github.com/junhoyeo/tokscale/issues/679. In a session that names no
    # other one, nothing is copied if another header comes after something was said.
    bare = one(tmp_path, fork, *copied, *own)
    assert [c.usage and c.usage.input_tokens for c in bare.calls] == [150]
    assert len(one(tmp_path, meta(), *copied, meta(id="x")).calls) == 2


def test_a_sub_agent_that_copies_nothing_begins_with_its_task(tmp_path: Path) -> None:
    started = meta(id="thread-2", forked_from_id="thread-1")
    at_once = one(tmp_path, started, message("user", "Look."), message("assistant", "Two."), tokens(370, 150))
    assert (len(at_once.calls), at_once.carried) == (1, 0), "neither a header nor a pause tells that it is copied"
    own = [later(line, 2) for line in (message("assistant", "Two."), tokens(370, 150))]
    read_back = one(tmp_path, started, message("user", "Look."), *own)
    assert ([call.usage and call.usage.input_tokens for call in read_back.calls], read_back.carried) == ([150], 0)
    assert not [note for note in read_back.notes if "copied" in note]


def test_a_sum_that_is_told_again_out_of_order_counts_once(tmp_path: Path) -> None:
    said = [message("user", "Go."), message("assistant", "One."), tokens(100, 100), message("user", "On."),
            message("assistant", "Two."), tokens(250, 150), tokens(100, 100)]  # fmt: skip
    read_back = one(tmp_path, meta(), *said)
    assert [call.usage and call.usage.input_tokens for call in read_back.calls] == [100, 150] and not read_back.beside


@pytest.mark.parametrize("resumed", [[], [meta(cli_version="0.60.0")]])
def test_an_old_fork_names_no_other_session_and_is_known_by_its_header(tmp_path: Path, resumed: list[Json]) -> None:
    copied = [meta(), message("user", "Go."), message("assistant", "One."), tokens(220, 120), *resumed,
              message("user", "Say."), message("assistant", "Yes."), tokens(320, 100)]  # fmt: skip
    own = [later(line, 2) for line in (message("user", "On."), message("assistant", "Two."), tokens(370, 150))]
    read_back = one(tmp_path, meta(id="thread-2"), *copied, *own)
    assert [c.usage and c.usage.input_tokens for c in read_back.calls] == [150] and read_back.carried == 4
    assert "begins with 2 response(s) copied from another session, where they are counted" in read_back.notes


def test_a_fork_in_which_nothing_was_asked_yet_has_no_call(tmp_path: Path) -> None:
    empty = one(tmp_path, meta(id="thread-2", forked_from_id="thread-1"), meta(), message("assistant", "One."))
    assert not empty.calls and len(empty.items) == 1


def test_without_a_folder_a_parent_is_its_thread(tmp_path: Path) -> None:
    def parent_of(**fields: Any) -> str | None:
        data = "\n".join(map(json.dumps, [meta(**fields), message("assistant", "Hi.")])).encode()
        source = Source("rollout.jsonl", data=data)
        [transcript] = codex.read(source, Sample(source))
        return transcript.parent

    assert (parent_of(parent_thread_id="thread-1"), parent_of()) == ("thread-1", None)
    # With one: other rollouts beside a main session are not its parents.
    write(tmp_path / "rollout-a.jsonl", meta())
    assert one(tmp_path, meta(), message("assistant", "Hi.")).parent is None


def test_strange_times_are_no_error(tmp_path: Path) -> None:
    line = wrapped("response_item", message("assistant", "Done.")["payload"], timestamp="[trimmed]")
    assert one(tmp_path, meta(), line).calls[0].time_s is None


def test_the_stream_of_codex_exec_is_refused_with_the_reason(tmp_path: Path) -> None:
    lines: list[Json] = [
        {"type": "thread.started", "thread_id": "t"},
        {"type": "turn.started"},
        {"type": "item.completed", "item": {"id": "i", "type": "agent_message", "text": "Hi."}},
        {"type": "turn.completed", "usage": {"input_tokens": 1, "cached_input_tokens": 0, "output_tokens": 1}},
    ]
    with pytest.raises(InputError, match="no user texts"):
        one(tmp_path, *lines)


def test_the_first_line_says_whether_lines_are_wrapped(tmp_path: Path) -> None:
    # A file of one line, and a bare one whose later lines look wrapped.
    ended = wrapped("event_msg", {"type": "turn.completed", "usage": {"input_tokens": 9}})
    assert one(tmp_path, meta()).calls == ()
    assert one(tmp_path, meta(), ended).notes[-1] == "no response of the model is recorded"
    state = wrapped("turn_context", {"model": "gpt-x"})
    answered = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}
    bare = one(tmp_path, {"id": "s", "timestamp": NINE, "git": {}}, answered, {**state, "record_type": "turn_context"})
    assert kinds(bare) == [["assistant"]] and bare.calls[0].model == ""
