"""Cline sessions with metrics, and task folders whose usage lies in another file."""

from __future__ import annotations

import json
import time
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from read_back import Json, only, said, text, write

from ctxsim.answers.bill.extract import facts_of
from ctxsim.errors import InputError
from ctxsim.readers import read
from ctxsim.readers.assembly import task_folders
from ctxsim.readers.formats import roo_code
from ctxsim.readers.source import Sample, Source
from ctxsim.transcript import NO_HISTORY, Transcript, Usage

FIRST_MS, SECOND_MS = 1_700_000_005_000, 1_700_000_009_000
THIRD_MS = SECOND_MS + 1_000


def call(call_id: str) -> Json:
    return {"type": "tool_use", "id": call_id, "name": "search", "input": {"q": "mail"}}


def result(call_id: str, content: Any) -> Json:
    return {"type": "tool_result", "tool_use_id": call_id, "name": "search", "content": content}


def user(*blocks: Json, **fields: Any) -> Json:
    return {"id": "u", "role": "user", "content": list(blocks), "ts": 1000} | fields


def answer(*blocks: Json, metrics: Json | None = None, **fields: Any) -> Json:
    made = {"id": "a", "role": "assistant", "content": list(blocks), "ts": FIRST_MS, "modelInfo": {"id": "m"}} | fields
    return made | ({"metrics": metrics} if metrics else {})


def metrics(prompt: int, output: int, read: int = 0) -> Json:
    return {"inputTokens": prompt, "outputTokens": output, "cacheReadTokens": read, "cacheWriteTokens": 0, "cost": 0.1}


def session(tmp_path: Path, *messages: Json, **fields: Any) -> Transcript:
    value = {"version": 1, "agent": "lead", "sessionId": "s", "system_prompt": "Be brief.", "messages": list(messages)}
    return only(write(tmp_path / "session.json", value | fields), "cline")


def test_a_session_with_metrics_and_an_attached_file(tmp_path: Path) -> None:
    transcript = session(
        tmp_path,
        user(text("Any mail?"), {"type": "file", "path": "/w/a.txt", "content": "one\ntwo"}),
        answer(text("I look."), call("t1"), metrics=metrics(900, 20)),
        user(result("t1", [{"query": "mail", "result": "2 messages", "success": True}])),
        answer(text("Two."), metrics=metrics(950, 5, 890)),
    )
    assert transcript.head.system == "Be brief."
    assert transcript.head.recorded
    assert said(transcript) == [
        ("user", "Any mail?"),
        ("user", "/w/a.txt\none\ntwo"),
        ("assistant", "I look."),
        ("tool_call", '{"q":"mail"}'),
        ("tool_result", '{"query":"mail","result":"2 messages","success":true}'),
        ("assistant", "Two."),
    ]
    # `inputTokens` is the whole prompt: 890 of the 950 were read from the cache.
    assert [made.usage for made in transcript.calls] == [
        Usage(900, 20, 0, 0, None, 0.1),
        Usage(950, 5, 890, 0, None, 0.1),
    ]
    assert [(made.time_s, made.model) for made in transcript.calls] == [(FIRST_MS / 1000, "m")] * 2
    assert transcript.notes == ()


def test_a_compacted_session(tmp_path: Path) -> None:
    mark = {"kind": "compaction"}
    kept = {"compaction": "preserved"}
    transcript = session(
        tmp_path,
        user(text("Any mail?"), text("Earlier context was compacted."), metadata=mark),
        answer(text("Two."), metadata=kept),
        user(text("Thanks.")),
        answer(text("Sure."), metrics=metrics(400, 2)),
    )
    assert [item.kind for item in transcript.items] == ["user", "user", "assistant", "user", "assistant"]
    # The kept response answered a longer request; what came after it, this history.
    assert [made.comparable for made in transcript.calls] == [False, True]
    assert transcript.notes == (NO_HISTORY,)


def request(
    tokens_in: int | None, tokens_out: int | None, ts: int, protocol: str | None = None, cost: float = 0, **fields: Any
) -> Json:
    shown: Json = {"request": "...", "cost": cost}
    if tokens_in is not None:
        shown |= {"tokensIn": tokens_in, "tokensOut": tokens_out, "cacheReads": 70, "cacheWrites": 10}
    shown |= {"apiProtocol": protocol} if protocol else {}
    return {"ts": ts, "type": "say", "say": "api_req_started", "text": json.dumps(shown)} | fields


def task(tmp_path: Path, messages: list[Json], shown: list[Json] | None = None, format: str = "cline") -> Transcript:
    folder = tmp_path / "tasks" / "1"
    write(folder / "api_conversation_history.json", messages)
    if shown is not None:
        write(folder / "ui_messages.json", shown)
    write(folder / "task_metadata.json", "{}")
    return only(tmp_path / "tasks", format)


TURNS = [
    {"role": "user", "content": [text("Any mail?")]},
    {"role": "assistant", "content": [call("t1")]},
    {"role": "user", "content": [result("t1", "2 messages")]},
    {"role": "assistant", "content": [text("Two.")]},
]


def test_a_task_folder_is_one_source_with_the_usage_of_its_other_file(tmp_path: Path) -> None:
    shown = [
        {"ts": 1, "type": "say", "say": "text", "text": "Any mail?"},
        request(20, 5, FIRST_MS, modelInfo={"modelId": "m"}),
        request(100, 2, SECOND_MS, "openai", 0.25),
    ]
    transcript = task(tmp_path, TURNS, shown)
    assert transcript.name == f"{tmp_path}/tasks/1"
    assert [item.kind for item in transcript.items] == ["user", "tool_call", "tool_result", "assistant"]
    # 20 + 70 read + 10 written; the OpenAI protocol counts cached tokens in its 100
    assert [made.usage for made in transcript.calls] == [Usage(100, 5, 70, 10), Usage(100, 2, 70, 10, cost_usd=0.25)]
    assert [(made.time_s, made.model) for made in transcript.calls] == [(FIRST_MS / 1000, "m"), (SECOND_MS / 1000, "")]
    assert not transcript.head.recorded
    assert transcript.notes == ()


def test_roo_states_the_model_in_its_requests(tmp_path: Path) -> None:
    _, *rest = TURNS
    told = "<environment_details>\n# Current Mode\n<slug>code</slug>\n<model>{}</model>\n</environment_details>"
    asked = {"role": "user", "content": [text("Use <model>x</model>."), text(told.format("claude-opus-4.5"))]}
    again = {"role": "user", "content": [result("t1", "2 messages"), text(told.format("claude-haiku-4.5"))]}
    shown = [request(20, 5, 1000), request(30, 5, 2000), request(40, 5, 3000)]
    turns = [asked, rest[0], rest[1], rest[2], again, rest[2]]
    assert [made.model for made in task(tmp_path, turns, shown, "roo-code").calls] == ["claude-opus-4.5"] * 2 + [
        "claude-haiku-4.5"
    ]
    more = task(tmp_path, turns, [*shown, request(9, 9, 4000) | {"say": "api_req_deleted"}], "roo-code").beside
    assert [made.model for made in more] == ["claude-haiku-4.5"], "that of the last request"


@pytest.mark.parametrize(("format", "began", "tokens", "inputs"), [
    # Since November 2025 Roo counts 70 read and 10 written tokens in all its input; less than these is the rest.
    ("roo-code", "2025-10-31T23:59:59+00:00", 500, 580), ("roo-code", "2025-11-01T00:00:00+00:00", 500, 500),
    ("roo-code", "2025-11-02T00:00:00+00:00", 79, 159), ("roo-code", "2025-11-02T00:00:00+00:00", 80, 80),
    ("cline", "2025-11-02T00:00:00+00:00", 500, 580),
])  # fmt: skip
def test_since_when_roo_counts_cached_tokens(format: str, began: str, tokens: int, inputs: int, tmp_path: Path) -> None:
    place = "rooveterinaryinc.roo-cline" if format == "roo-code" else "saoudrizwan.claude-dev"
    asked = request(tokens, 5, int(datetime.fromisoformat(began).timestamp() * 1000), "anthropic")
    (made,) = task(tmp_path / place, TURNS[:2], [asked], format).calls
    assert made.usage == Usage(inputs, 5, 70, 10)


@pytest.mark.parametrize(("provider", "inputs"), [("anthropic", 580), ("litellm", 500), ("", 580)])
def test_which_of_clines_providers_count_cached_tokens(provider: str, inputs: int, tmp_path: Path) -> None:
    asked = request(500, 5, FIRST_MS, modelInfo={"modelId": "m", "providerId": provider})
    assert [made.usage for made in task(tmp_path, TURNS[:2], [asked]).calls] == [Usage(inputs, 5, 70, 10)]


def test_a_task_where_roo_keeps_them_is_roos(tmp_path: Path) -> None:
    for place, format in (("rooveterinaryinc.roo-cline", "roo-code"), ("saoudrizwan.claude-dev", "cline")):
        assert task(tmp_path / place, TURNS, format=format).format == format
    ours, theirs = (
        Sample(Source("task", next((tmp_path / place).rglob(task_folders.MESSAGES_FILE)).parent))
        for place in ("rooveterinaryinc.roo-cline", "saoudrizwan.claude-dev")
    )
    assert roo_code.matches(ours) and not roo_code.matches(theirs)


def test_time_is_linear_in_what_is_nearly_roos_model(tmp_path: Path) -> None:
    turns = [{"role": "user", "content": [text("<environment_details>" * 40_000)]}, *TURNS[1:]]
    began = time.process_time()
    assert not task(tmp_path, turns).calls[0].model and time.process_time() - began < 5


def test_whose_a_task_is_stands_in_the_first_megabyte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[bytes] = []
    monkeypatch.setattr(task_folders, "_OF_ROO", SimpleNamespace(search=looked.append))
    task(tmp_path, [{"role": "user", "content": [text("x" * (1 << 20))]}, *TURNS[1:]])
    assert {len(one) for one in looked} == {1 << 20}


UNTOLD = "usage only as a sum: {} request(s) in ui_messages.json for 2 response(s)"


@pytest.mark.parametrize(("shown", "outputs", "notes"), [
    # Requests that failed have no response; as many as responses are theirs, whatever they counted.
    ([request(None, None, 1000), request(20, 4, FIRST_MS), request(30, 5, SECOND_MS)], [4, 5], ()),
    ([request(20, 0, FIRST_MS), request(30, 5, SECOND_MS)], [0, 5], ()),
    ([request(20, 5, FIRST_MS)], [None, None], (UNTOLD.format(1),)),
    ([request(20, 5, FIRST_MS), request(30, 5, 2), request(40, 6, SECOND_MS)], [None, None], (UNTOLD.format(3),)),
])  # fmt: skip
def test_which_request_a_response_answers(
    tmp_path: Path, shown: list[Json], outputs: list[int | None], notes: tuple[str, ...]
) -> None:
    transcript = task(tmp_path, TURNS, shown)
    assert [made.usage and made.usage.output_tokens for made in transcript.calls] == outputs
    times = [None, None] if notes else [FIRST_MS / 1000, SECOND_MS / 1000]
    assert [made.time_s for made in transcript.calls] == times
    assert transcript.notes == notes


def beside(transcript: Transcript) -> list[tuple[int, int, Usage | None, float | None]]:
    return [(one.start, one.end, one.usage, one.time_s) for one in transcript.beside]


def test_what_cannot_be_matched_is_billed_as_a_sum(tmp_path: Path) -> None:
    shown = [
        request(20, 5, FIRST_MS, cost=0.5),
        request(30, 5, THIRD_MS),
        request(90, 6, SECOND_MS, "openai", cost=0.25),
    ]
    shown[1]["text"] = json.dumps({"tokensIn": 30})
    # 20 + 70 + 10, 30, and 90; no request states reasoning. In the bill, half of it for each response.
    one = task(tmp_path, TURNS, [*shown, request(None, None, 1)] * 2)
    assert beside(one) == [
        (0, 0, Usage(30), THIRD_MS / 1000), (0, 0, Usage(30), THIRD_MS / 1000),
        (0, 4, Usage(380, 22, 280, 40, cost_usd=1.5), SECOND_MS / 1000)
    ]  # fmt: skip
    facts = facts_of(one)
    assert [(made.read, made.output, made.usd) for made in facts.beside[2:]] == [(140, 11, 0.75)] * 2
    assert facts.unrecorded == ()


def test_dollars_of_a_sum_are_those_of_all_or_none(tmp_path: Path) -> None:
    shown = [request(20, 5, FIRST_MS, cost=0.5), request(900, 5, SECOND_MS), request(40, 6, SECOND_MS, cost=0.25)]
    assert beside(task(tmp_path, TURNS, shown))[0][2] == Usage(1_200, 16, 210, 30)
    # Without any request the note is all.
    assert task(tmp_path, TURNS, []).notes == (UNTOLD.format(0),)


def test_what_has_another_form_is_counted_and_the_rest_is_read(tmp_path: Path) -> None:
    odd = {"ts": FIRST_MS, "type": "say", "say": "deleted_api_reqs", "text": "three"}
    worse = {"ts": FIRST_MS, "type": "say", "say": "condense_context", "contextCondense": {"prevContextTokens": "many"}}
    found = task(tmp_path, TURNS, [request(20, 5, FIRST_MS), odd, worse, request(30, 5, SECOND_MS)])
    assert found.beside == () and [made.usage and made.usage.input_tokens for made in found.calls] == [100, 110]
    assert found.notes == ("left out: 1 x deleted_api_reqs in another form",)


@pytest.mark.parametrize("say", ["deleted_api_reqs", "api_req_deleted", "subagent_usage"])
def test_what_was_paid_for_without_a_response_stands_beside_it(say: str, tmp_path: Path) -> None:
    shown = [request(20, 5, FIRST_MS), request(30, 5, SECOND_MS), request(40, 6, THIRD_MS, cost=0.5) | {"say": say}]
    assert beside(task(tmp_path, TURNS, shown)) == [(0, 0, Usage(120, 6, 70, 10, cost_usd=0.5), THIRD_MS / 1000)]
    # A request that was stopped before its first token was paid for too.
    shown = [request(50, 0, THIRD_MS, cost=0.2), *shown[:2]]
    assert beside(task(tmp_path, TURNS, shown)) == [(0, 0, Usage(130, 0, 70, 10, cost_usd=0.2), THIRD_MS / 1000)]


def test_older_messages_no_longer_sent(tmp_path: Path) -> None:
    transcript = task(tmp_path, TURNS, [request(20, 5, 1), request(9, 5, 2, conversationHistoryDeletedRange=[1, 1])])
    assert [made.comparable for made in transcript.calls] == [True, True]
    (compaction,) = transcript.compactions
    assert (compaction.call, compaction.at, compaction.started_by) == (2, transcript.calls[1].start, "auto")
    gone = range(transcript.calls[0].start, transcript.calls[0].end)
    assert compaction.kept == tuple(place for place in range(compaction.at) if place not in gone)
    assert transcript.notes == ("recorded compaction before call 2 (auto)",)


def test_tool_calls_in_the_text_stay_text(tmp_path: Path) -> None:
    xml = "I look.\n<read_file>\n<path>a.txt</path>\n</read_file>\n"
    turns = [
        {"role": "user", "content": "Read it."},
        {"role": "assistant", "content": [text(xml)]},
        {"role": "user", "content": [text("[read_file for 'a.txt'] Result:"), text("one")]},
    ]
    transcript = task(tmp_path, turns)
    assert [item.kind for item in transcript.items] == ["user", "assistant", "user", "user"]
    assert transcript.notes == (
        "no ui_messages.json: no usage",
        "tool calls that stand in the text as XML stay text, their results user text",
    )


def test_summaries_of_roo_are_left_out_but_not_what_they_replaced(tmp_path: Path) -> None:
    summary = {"role": "assistant", "content": [text("So far: mail.")], "isSummary": True, "ts": 3}
    transcript = task(
        tmp_path, [*TURNS, summary, {"role": "user", "content": "And now?"}, TURNS[3]], [request(1, 1, 1)] * 3,
        "roo-code",
    )  # fmt: skip
    assert [item.text for item in transcript.items if item.kind == "assistant"] == ["Two.", "Two."]
    assert [made.comparable for made in transcript.calls] == [True, True, True]
    (compaction,) = transcript.compactions
    assert (compaction.call, compaction.summary, compaction.kept) == (3, ("So far: mail.",), ())
    assert transcript.notes == ("recorded compaction before call 3",)


def test_what_summaries_of_roo_cost(tmp_path: Path) -> None:
    def condensed(tokens: int, usd: float) -> Json:
        done = {"summary": "So far: mail.", "cost": usd, "prevContextTokens": tokens, "newContextTokens": 5}
        return {"ts": FIRST_MS, "type": "say", "say": "condense_context", "contextCondense": done}

    summary = {"role": "assistant", "content": [text("So far: mail.")], "isSummary": True, "ts": 3}
    turns = [*TURNS, summary, {"role": "user", "content": "And now?"}, TURNS[3]]
    found = task(tmp_path, turns, [*[request(1, 1, 1)] * 3, condensed(900, 0.5), condensed(800, 0.25)], "roo-code")
    # The second has no summary in the history.
    assert beside(found) == [
        (4, 4, Usage(900, cost_usd=0.5), FIRST_MS / 1000), (0, 0, Usage(800, cost_usd=0.25), FIRST_MS / 1000)
    ]  # fmt: skip


def test_a_truncation_that_does_not_say_what_it_left_out(tmp_path: Path) -> None:
    marker = {"role": "user", "content": [text("Cut.")], "isTruncationMarker": True}
    transcript = task(tmp_path, [*TURNS, marker, {"role": "user", "content": "And now?"}, TURNS[3]], None, "roo-code")
    assert [made.comparable for made in transcript.calls] == [True, True, False]
    assert (transcript.compactions, transcript.notes[-1]) == ((), "recorded truncation before call 3")


def test_a_task_that_starts_with_a_summary(tmp_path: Path) -> None:
    summary = {"role": "user", "content": [text("So far: mail.")], "isSummary": True}
    transcript = task(tmp_path, [summary, TURNS[3]], [request(1, 1, 1)], "roo-code")
    assert said(transcript) == [("user", "So far: mail."), ("assistant", "Two.")]
    assert NO_HISTORY in transcript.notes


def test_a_damaged_file_of_a_task_says_which(tmp_path: Path) -> None:
    (tmp_path / "api_conversation_history.json").write_text('[{"role": "user"')
    with pytest.raises(InputError, match=r"api_conversation_history.json: is not complete JSON"):
        list(read(str(tmp_path)))
    (tmp_path / "api_conversation_history.json").write_text("[]")
    (tmp_path / "ui_messages.json").write_text(json.dumps([request(1, 1, 1) | {"text": "{"}]))
    with pytest.raises(InputError, match=r"ui_messages.json message 0: text of the request"):
        list(read(str(tmp_path)))


@pytest.mark.parametrize(("counted", "usage"), [
    ({"tokensIn": 5, "tokensOut": 2}, Usage(5, 2)), ({"tokensIn": 0, "tokensOut": 2, "cacheReads": 3}, Usage(3, 2, 3)),
    ({"tokensIn": 0, "tokensOut": 2, "cacheWrites": 4}, Usage(4, 2, None, 4)), ({"tokensIn": 0, "tokensOut": 2}, None),
    ({"tokensOut": 2, "cacheReads": 3}, None),
    ({"tokensIn": 5, "cacheReads": 3, "apiProtocol": None}, Usage(8, None, 3)),
    ({"tokensIn": 9, "tokensOut": 2, "cacheReads": 3, "apiProtocol": "openai"}, Usage(9, 2, 3)),
])  # fmt: skip
def test_tokens_of_a_request(tmp_path: Path, counted: Json, usage: Usage | None) -> None:
    shown = {"ts": 1, "type": "say", "say": "api_req_started", "text": json.dumps(counted)}
    transcript = task(tmp_path, TURNS[:2], [shown])
    assert [made.usage for made in transcript.calls] == [usage]


def test_files_are_text_where_they_say_what_is_in_them(tmp_path: Path) -> None:
    blocks = [{"type": "file", "content": "one"}, {"type": "file", "path": "b"}, {"type": "other", "content": "x"}]
    transcript = session(tmp_path, user(*blocks), user(text("Plain.")), answer(text("Done.")))
    assert said(transcript) == [
        ("user", "\none"), ("user", ""), ("user", '{"type":"other","content":"x"}'), ("user", "Plain."), ("assistant",
        "Done.")
    ]  # fmt: skip
    plain = {"id": "u", "role": "user", "content": "As text.", "ts": 1}
    assert said(session(tmp_path, plain, answer(text("Done.")))) == [("user", "As text."), ("assistant", "Done.")]


def session_folder(tmp_path: Path, **files: Any) -> list[Transcript]:
    """Return the transcripts of a session's folder; `_` in a file's name stands for `.`."""
    folder = tmp_path / "sessions" / "s"
    for name, value in files.items():
        write(folder / f"{name.replace('_', '.')}.json", value)
    return list(read(str(tmp_path / "sessions")))


def messages_of(agent: str, *messages: Json) -> Json:
    return {"version": 1, "agent": agent, "sessionId": "s", "messages": list(messages)}


def test_a_session_folder_has_its_last_compaction_its_sub_agents_and_its_project(tmp_path: Path) -> None:
    main = [
        user(text("Any mail?"), id="m1"),
        answer(text("I look."), call("t1"), metrics=metrics(900, 20), id="m2"),
        user(result("t1", "2 messages"), id="m3"),
        answer(text("Two."), metrics=metrics(950, 5), id="m4"),
        user(text("Read them."), id="m5"),
        answer(text("Done."), metrics=metrics(400, 2), id="m6"),
    ]
    summary = user(text("So far: two messages."), metadata={"kind": "compaction_summary"})
    # The first four messages became the summary and the fourth; m5 and m6 follow.
    made = {"version": 1, "source_message_count": 4, "messages": [summary, main[3]]}
    found, child = session_folder(
        tmp_path,
        s_messages=messages_of("lead", *main),
        s_compaction=made,
        s={"version": 1, "session_id": "s", "cwd": "/w"},
        a1_messages=messages_of("subagent", user(text("Find it.")), answer(text("Found."), metrics=metrics(70, 3))),
    )
    assert (found.format, found.project, found.parent) == ("cline", "/w", None)
    # Items: question, text, call, result, "Two." at place 4, "Read them.", "Done."; the compaction precedes call 3.
    (compaction,) = found.compactions
    assert (compaction.call, compaction.at, compaction.summary) == (3, 5, ("So far: two messages.",))
    assert compaction.kept == (4,)
    assert [one.usage.input_tokens for one in found.calls if one.usage] == [900, 950, 400]
    assert (child.name, child.parent, child.project) == (f"{found.name}#a1", found.name, "/w")
    assert [one.usage for one in child.calls] == [Usage(70, 3, 0, 0, None, 0.1)]


def test_a_compaction_after_the_last_message(tmp_path: Path) -> None:
    main = [user(text("Any mail?")), answer(text("No."), metrics=metrics(900, 20))]
    made = {"version": 1, "source_message_count": 2, "messages": [user(text("So far: none."))]}
    (found,) = session_folder(tmp_path, s_messages=messages_of("lead", *main), s_compaction=made)
    assert [(one.call, one.at, one.summary, one.kept) for one in found.compactions] == [(2, 2, ("So far: none.",), ())]
