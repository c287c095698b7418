"""Exports of observing products: one conversation of a real client through each, in every container they have.

`spans/` was captured from a client of OpenAI's Python SDK against `ctxsim serve`, an invented conversation. `phoenix-*`
is what a server of Phoenix 20.26.1 gave: spans of its client, its frame of spans as JSON lines, a page of its API (of
the empty fields of each value one is left). `braintrust` and `weave` are the rows that the Python SDKs 0.47.0 and
0.54.0 sent, without names of files and machines. `langfuse` is what the SDK 5.0.4 recorded, `helicone` the client's
bodies, both put into the documented fields of an export.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import pytest
from read_back import Json, all_of, kinds, only, said, write

from ctxsim.errors import InputError
from ctxsim.readers import read
from ctxsim.transcript import Transcript, Usage

SPANS = Path(__file__).parent / "spans"
FORMATS = {"phoenix-client.jsonl": "opentelemetry", "phoenix-frame.jsonl": "opentelemetry",
           "phoenix-page.json": "opentelemetry", "braintrust.jsonl": "braintrust", "weave.jsonl": "weave",
           "langfuse.jsonl": "langfuse", "helicone.jsonl": "helicone"}  # fmt: skip


def lines(name: str) -> list[Json]:
    return [json.loads(line) for line in (SPANS / f"{name}.jsonl").read_text().splitlines()]


def one(tmp_path: Path, value: Any, format: str) -> Transcript:
    return only(write(tmp_path / "rows.json", value), format)


def check(transcript: Transcript) -> None:
    """The one conversation, with what the endpoint counted."""
    assert transcript.head.system == "Be brief."
    assert [json.loads(tool)["function"]["name"] for tool in transcript.head.tools] == ["search"]
    assert [(item.kind, item.tool, item.text) for item in transcript.items if item.kind != "tool_result"] == [
        ("user", "", "Any mail?"),
        ("assistant", "", "I look for mail first."),
        ("tool_call", "search", '{"q": "mail"}'),
        ("assistant", "", "Now the second page of it."),
        ("tool_call", "search", '{"q": "page 2"}'),
        ("assistant", "", "Two messages in all."),
    ]
    results = [item.text.split(":")[0] for item in transcript.items if item.kind == "tool_result"]
    assert results == ["result 0", "result 1"]
    counted = [(call.usage.input_tokens, call.usage.output_tokens) for call in transcript.calls if call.usage]
    assert counted == [(43, 13), (109, 16), (182, 5)]
    times = [call.time_s or 0.0 for call in transcript.calls]
    assert times == sorted(times) and times[0] > 1.79e9
    assert {call.model for call in transcript.calls} == {"gpt-4o-mini"}
    assert all(call.comparable for call in transcript.calls)
    assert not any("of another kind" in note for note in transcript.notes)


@pytest.mark.parametrize("name", FORMATS)
def test_one_conversation_whatever_watched_it(name: str) -> None:
    check(only(SPANS / name, FORMATS[name]))


def test_messages_of_anthropics_api() -> None:
    """`braintrust-claude` is the same conversation by a client of Anthropic's SDK 2.12.0."""
    transcript = only(SPANS / "braintrust-claude.jsonl", "braintrust")
    assert (transcript.head.system, transcript.model) == ("Be brief.", "claude-sonnet-4-5")
    assert kinds(transcript) == [
        "user", "assistant", "tool_call", "tool_result", "assistant", "tool_call", "tool_result", "assistant",
    ]  # fmt: skip
    assert [call.usage for call in transcript.calls] == [
        Usage(37, 13, 0, 0), Usage(102, 16, 0, 0), Usage(174, 5, 0, 0),
    ]  # fmt: skip


def test_a_frame_of_spans_as_parquet(tmp_path: Path) -> None:
    frame = pandas.DataFrame(lines("phoenix-frame"))
    for name in ("start_time", "end_time"):
        frame[name] = pandas.to_datetime(frame[name])
    frame.to_parquet(tmp_path / "spans.parquet")
    check(only(tmp_path / "spans.parquet", "opentelemetry"))


def test_a_frame_of_spans_as_csv(tmp_path: Path) -> None:
    """What a frame is in CSV is no JSON; the bodies of requests and responses are."""
    pandas.DataFrame(lines("phoenix-frame")).set_index("context.span_id", drop=False).to_csv(tmp_path / "spans.csv")
    transcript = only(tmp_path / "spans.csv", "opentelemetry")
    check(transcript)
    assert not any("parent is missing" in note for note in transcript.notes)


def test_observations_as_csv(tmp_path: Path) -> None:
    path = tmp_path / "observations.csv"
    rows = [_strings(row | {"totalCost": row["costDetails"].get("total")}) for row in lines("langfuse")]
    pandas.DataFrame(rows).to_csv(path, index=False)
    transcript = only(path, "langfuse")
    check(transcript)
    assert transcript.calls[0].usage and transcript.calls[0].usage.cost_usd == pytest.approx(0.0056)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    check(only(path, "langfuse"))


def test_other_tables_and_cells_over_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "other.csv"
    path.write_text("name,age,town\nAnn,40,Bern\n")
    with pytest.raises(InputError, match="that ctxsim knows: a table with columns name, age, town"):
        list(read(str(path)))
    monkeypatch.setenv("CTXSIM_MAX_MB", "0.001")
    pandas.DataFrame([_strings(row | {"input": "x" * 2000}) for row in lines("langfuse")]).to_csv(path, index=False)
    with pytest.raises(InputError, match="row 1: cannot be read: field larger than field limit"):
        list(read(str(path)))


def _strings(row: Json) -> Json:
    """As blob storage and some downloads have them: objects as JSON text."""
    return {name: json.dumps(value) if isinstance(value, dict | list) else value for name, value in row.items()}


def _snake(row: Json) -> Json:
    told = {"traceId": "trace_id", "parentObservationId": "parent_observation_id", "startTime": "start_time",
            "usageDetails": "usage_details", "costDetails": "cost_details", "model": "provided_model_name"}  # fmt: skip
    return {told.get(name, name): value for name, value in row.items()}


def _old_usage(row: Json) -> Json:
    """As the first version of the API has it."""
    counts = row["usageDetails"]
    return {name: value for name, value in row.items() if name not in ("usageDetails", "costDetails")} | {
        "usage": {"input": counts.get("input"), "output": counts.get("output"), "unit": "TOKENS"},
        "calculatedTotalCost": row["costDetails"].get("total"),
    }


@pytest.mark.parametrize("held", [
    lambda rows: rows,
    lambda rows: {"data": rows, "meta": {"cursor": None}},
    lambda rows: {"id": "t", "name": "agent", "observations": rows, "scores": []},
    lambda rows: {"trace": {"id": "t", "observations": rows}},
    lambda rows: {"id": "session", "traces": [{"id": "t", "observations": rows}]},
    lambda rows: [_strings(_snake(row)) for row in rows],
    lambda rows: [_old_usage(row) for row in rows],
])  # fmt: skip
def test_observations_of_langfuse_in_their_containers(held: Callable[[list[Json]], Any], tmp_path: Path) -> None:
    transcript = one(tmp_path, held(lines("langfuse")), "langfuse")
    check(transcript)
    # 56 tokens at 0.0001 dollars each
    assert transcript.calls[0].usage and transcript.calls[0].usage.cost_usd == pytest.approx(0.0056)


def test_parts_of_usage_add_up_under_langfuses_names(tmp_path: Path) -> None:
    rows = lines("langfuse")
    counted = [row for row in rows if row["type"] == "GENERATION"]
    counted[0]["usageDetails"] = {"input": 30, "input_cached_tokens": 10, "output": 4, "output_reasoning_tokens": 3}
    counted[1]["usageDetails"] = {
        "input": 50,
        "cache_read_input_tokens": 20,
        "cache_creation_input_tokens": 7,
        "output": 2,
    }
    counted[2]["usageDetails"] = {"prompt_tokens": 90, "completion_tokens": 9, "total_tokens": 99}
    counted[2]["usageDetails"] |= {"input_cache_creation_1h": 5, "input_ephemeral_5m_input_tokens": 2}
    used = [call.usage for call in one(tmp_path, rows, "langfuse").calls]
    costs = [0.0056, 0.0125, 0.0187]
    # 30 + 10, 4 + 3; 50 + 20 + 7: cached tokens stand beside the input
    parts = [Usage(40, 7, 10, None, 3), Usage(77, 2, 20, 7), Usage(90, 9, None, 7, cache_write_long_tokens=5)]
    assert [usage and usage.costing(None) for usage in used] == parts
    assert [usage and usage.cost_usd for usage in used] == pytest.approx(costs)


@pytest.mark.parametrize("name", ["events", "data", "rows"])
def test_events_of_braintrust_in_their_containers(name: str, tmp_path: Path) -> None:
    rows = lines("braintrust")
    check(one(tmp_path, {name: rows, "cursor": None}, "braintrust"))
    # Without an id they are told apart by their span.
    check(one(tmp_path, {name: [row | {"id": None} for row in rows]}, "braintrust"))


def test_prompts_and_costs_of_braintrust(tmp_path: Path) -> None:
    rows = lines("braintrust")
    model = next(row for row in rows if row.get("span_attributes", {}).get("type") == "llm")
    answered = next(row for row in rows if row["id"] == model["id"] and "output" in row)
    answered["metrics"] |= {"prompt_cached_tokens": 30, "estimated_cost": 0.25}
    usage = one(tmp_path, rows, "braintrust").calls[0].usage
    assert usage == Usage(43, 13, 30, None, 0, 0.25)
    # What was written for 5 minutes and for an hour: 4 + 3.
    answered["metrics"] |= {"prompt_cache_creation_5m_tokens": 4, "prompt_cache_creation_1h_tokens": 3}
    usage = one(tmp_path, rows, "braintrust").calls[0].usage
    assert usage == Usage(43, 13, 30, 7, 0, 0.25, 3)


def test_a_span_of_braintrust_began_at_its_start_or_when_it_was_created(tmp_path: Path) -> None:
    answer = [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "None."}}]
    row = lines("braintrust")[1] | {"created": "2026-01-02T00:00:00Z", "output": answer}
    for start, begun in ({"start": 1_767_225_600.5}, 1_767_225_600.5), ({}, 1_767_312_000.0):
        assert one(tmp_path, [row | {"metrics": start}], "braintrust").calls[0].time_s == begun


def test_calls_of_weave_that_do_not_say_what_they_are(tmp_path: Path) -> None:
    calls = lines("weave")
    for call in calls:
        call["attributes"] = {}
        parts = ("prompt", "completion", "cache_read_input", "cache_creation_input")
        costs = {f"{part}_tokens_total_cost": usd for part, usd in zip(parts, (0.25, 0.5, 1, 2), strict=True)}
        call["summary"] = {"weave": {"costs": {"m": costs}}}
    transcript = one(tmp_path, {"batch": calls}, "weave")
    check(transcript)
    assert [call.usage and call.usage.cost_usd for call in transcript.calls] == [3.75] * 3


def test_usage_of_weave_beside_a_response_without_any(tmp_path: Path) -> None:
    row = next(call for call in lines("weave") if call["attributes"]["weave"].get("kind") == "llm")
    counted = {"prompt_tokens": 50, "completion_tokens": 30, "prompt_tokens_details": {"cached_tokens": 9},
               "completion_tokens_details": {"reasoning_tokens": 4}}  # fmt: skip
    row |= {"output": {"choices": row["output"]["choices"]}, "summary": {"usage": {"m": counted}}}
    assert one(tmp_path, [row], "weave").calls[0].usage == Usage(50, 30, 9, None, 4)


def test_a_function_around_a_model_is_no_request_of_its_own(tmp_path: Path) -> None:
    calls = lines("weave")
    outer = next(call for call in calls if call["parent_id"] is None)
    outer |= {"inputs": {"model": "m", "messages": [{"role": "user", "content": "Any mail?"}]}, "output": "Two."}
    models = [call for call in calls if call["attributes"]["weave"].get("kind") == "llm"]
    models[0]["inputs"]["tools"] = "NOT_GIVEN"
    transcript = one(tmp_path, calls, "weave")
    assert len(transcript.calls) == 3
    assert transcript.notes[0].startswith("3 span(s) that are no request")


def test_what_nobody_counted_is_no_usage(tmp_path: Path) -> None:
    rows = [row | {"prompt_tokens": 0, "completion_tokens": 0} for row in lines("helicone")]
    for row in rows:
        del row["response_body"]["usage"]
    assert [call.usage for call in one(tmp_path, rows, "helicone").calls] == [None] * 3
    # A frame has a column for what any of its rows has: not a number where one hasn't.
    frame = lines("phoenix-frame")
    for row in frame:
        row |= {"attributes.llm.token_count.prompt": float("nan"), "attributes.output.value": None}
    assert [call.usage for call in one(tmp_path, frame, "opentelemetry").calls] == [None] * 3


def test_bodies_of_helicone_that_were_fetched_beside_the_rows(tmp_path: Path) -> None:
    rows = lines("helicone")
    for row in rows:
        bodies = {"request": row.pop("request_body"), "response": row.pop("response_body")}
        del bodies["response"]["usage"]
        row |= {"request_body": "see signed_body_url", "signed_body_content": bodies}
    transcript = one(tmp_path, {"data": rows}, "helicone")
    check(transcript)
    assert transcript.calls[0].usage == Usage(43, 13).costing(0.0056)


@pytest.mark.parametrize("name", ["braintrust", "weave", "langfuse", "helicone", "phoenix-client"])
def test_a_row_that_is_there_again_counts_once(name: str, tmp_path: Path) -> None:
    rows = lines(name)
    format = FORMATS[f"{name}.jsonl"]
    once, again = (
        only(write(tmp_path / str(n) / "rows.jsonl", *some), format) for n, some in enumerate((rows, rows * 2))
    )
    assert [call.usage for call in again.calls] == [call.usage for call in once.calls] and len(once.calls) == 3
    assert again.beside == once.beside == () and again.items == once.items


def test_of_two_rows_of_one_id_the_fuller_counts(tmp_path: Path) -> None:
    rows = lines("helicone")
    empty = [row | {"response_body": None, "prompt_tokens": None} for row in rows]
    for some in (rows + empty, empty + rows):
        assert [call.usage and call.usage.input_tokens for call in one(tmp_path, some, "helicone").calls] == [
            43,
            109,
            182,
        ]


def test_what_a_products_own_cache_answered_is_no_request(tmp_path: Path) -> None:
    def paid(rows: list[Json], format: str) -> int:
        return sum(call.usage is not None for call in one(tmp_path, rows, format).calls)

    first, *rest = lines("helicone")
    for digit, requests in (("0", 3), ("1", 2)):
        named = first | {"cache_reference_id": f"{digit * 8}-0000-0000-0000-000000000000"}
        assert paid([named, *rest], "helicone") == requests
    rows = lines("braintrust")
    last = max(number for number, row in enumerate(rows) if "prompt_tokens" in row.get("metrics", {}))
    rows[last]["metrics"]["cached"] = 1
    assert (paid(lines("braintrust"), "braintrust"), paid(rows, "braintrust")) == (3, 2)


def test_rows_without_bodies_are_told(tmp_path: Path) -> None:
    rows = [row | {"request_body": {}, "response_body": {}} for row in lines("helicone")]
    assert one(tmp_path, rows, "helicone").notes[0].startswith("3 request(s) without recorded content left out")


OBSERVED = {"id": "o", "traceId": "t", "type": "GENERATION", "parentObservationId": None,
            "startTime": "2026-01-01T00:00:00Z"}  # fmt: skip


@pytest.mark.parametrize(("sent", "answered"), [
    ("Any mail?", "Two."),
    ({"role": "user", "content": "Any mail?"}, {"role": "assistant", "content": "Two."}),
    ([{"role": "user", "content": "Any mail?"}], [{"role": "assistant", "content": "Two."}]),
    ('[{"role": "user", "content": "Any mail?"}]', '{"role": "assistant", "content": "Two."}'),
    ([{"role": "user", "content": [{"type": "text", "text": "Any mail?"}]}],
     {"role": "assistant", "content": [{"type": "text", "text": "Two."}]}),
    ([{"role": "user", "content": "Any mail?"}],
     [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Two."}]}]),
    ({"input": "Any mail?", "model": "m"}, {"output": [{"type": "message", "role": "assistant",
                                                        "content": [{"type": "output_text", "text": "Two."}]}]}),
    ({"contents": [{"role": "user", "parts": [{"text": "Any mail?"}]}]},
     {"candidates": [{"content": {"role": "model", "parts": [{"text": "Two."}]}}]}),
])  # fmt: skip
def test_forms_of_inputs_and_outputs(sent: Any, answered: Any, tmp_path: Path) -> None:
    row = OBSERVED | {"input": sent, "output": answered}
    assert said(one(tmp_path, [row], "langfuse")) == [
        ("user", "Any mail?"),
        ("assistant", "Two."),
    ]


@pytest.mark.parametrize(("sent", "answered"), [
    ({"question": "Any mail?"}, "Two."), ("Any mail?", None), ("Any mail?", {"answer": 2}), ([1, 2], "Two."), ("", ""),
    ([{"question": "Any mail?"}], "Two."),
])  # fmt: skip
def test_what_is_no_conversation_is_left_out_and_told(sent: Any, answered: Any, tmp_path: Path) -> None:
    transcript = one(tmp_path, [OBSERVED | {"input": sent, "output": answered}], "langfuse")
    assert not transcript.calls and transcript.notes[0].startswith("1 request(s) without recorded content left out")


def test_agents_inside_agents_are_children(tmp_path: Path) -> None:
    def row(own: str, parent: str | None, kind: str, text: str = "") -> Json:
        return {"id": own, "traceId": "t", "type": kind, "parentObservationId": parent, "input": text or None,
                "startTime": f"2026-01-01T00:00:0{own}Z", "output": text and f"{text} Two."}  # fmt: skip

    rows = [row("1", None, "AGENT"), row("2", "1", "GENERATION", "Any mail?"), row("3", "1", "AGENT"),
            row("4", "3", "GENERATION", "Is there mail?")]  # fmt: skip
    main, child = all_of(write(tmp_path / "rows.json", rows), "langfuse")
    assert (said(main)[0], said(child)[0]) == (("user", "Any mail?"), ("user", "Is there mail?"))
    assert child.parent == main.name


@pytest.mark.parametrize(
    "row", [{"id": "x", "type": "GENERATION"}, {"op_name": "x"}, {"request_id": "x"}, {"span_id": "x"}]
)
def test_rows_of_nobody_are_refused_in_a_line(row: Json, tmp_path: Path) -> None:
    path = write(tmp_path / "rows.json", [row])
    with pytest.raises(InputError, match="no transcript format that ctxsim knows: JSON list"):
        list(read(str(path)))
