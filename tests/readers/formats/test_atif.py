"""ATIF: what Harbor's documents hold, what ctxsim writes, and that nothing is lost on the way there and back."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from command_line import ctxsim
from hypothesis import given, settings
from hypothesis import strategies as st
from read_back import Json, all_of, said, write

from ctxsim.errors import InputError
from ctxsim.readers import read
from ctxsim.readers.assembly import Assembly, Part
from ctxsim.readers.formats.atif.written import written
from ctxsim.transcript import Compaction, Head, Media, Transcript, Usage

CALL = {"tool_call_id": "c1", "function_name": "search", "arguments": {"q": "mail"}}


def document(*steps: Json, **fields: Any) -> Json:
    agent = {"name": "a", "version": "1", "model_name": "m"} | fields.pop("agent", {})
    numbered = [{"step_id": number} | step for number, step in enumerate(steps, 1)]
    return {"schema_version": "ATIF-v1.7", "agent": agent, "steps": numbered} | fields


def user(message: Any, **fields: Any) -> Json:
    return {"source": "user", "message": message} | fields


def agent(message: str = "", *results: Json, **fields: Any) -> Json:
    return {"source": "agent", "message": message, "observation": {"results": list(results)}} | fields


def result(content: Any, call: str | None = "c1", **fields: Any) -> Json:
    return {"source_call_id": call, "content": content} | fields


def found(tmp_path: Path, *values: Json) -> list[Transcript]:
    return all_of(write(tmp_path / "t.json", *values), "atif")


def test_steps_calls_usage_and_tools(tmp_path: Path) -> None:
    metrics = {"prompt_tokens": 40, "completion_tokens": 9, "cached_tokens": 30, "cost_usd": 0.5}
    (transcript,) = found(
        tmp_path,
        document(
            {"source": "system", "message": "Be brief."},
            user("Any mail?"),
            agent("I look.", result("2 messages"), tool_calls=[CALL], metrics=metrics, reasoning_content="Hm.",
                  timestamp="2026-01-01T00:00:00Z"),
            agent("Two.", model_name="n"),
            agent={"tool_definitions": [{"name": "search"}]},
        ),
    )  # fmt: skip
    assert said(transcript) == [
        ("user", "Any mail?"), ("reasoning", "Hm."), ("assistant", "I look."), ("tool_call", '{"q":"mail"}'),
        ("tool_result", "2 messages"), ("assistant", "Two."),
    ]  # fmt: skip
    assert transcript.head == Head("Be brief.", ('{"name":"search"}',))
    first, second = transcript.calls
    assert (first.usage, first.model, first.time_s) == (Usage(40, 9, 30, cost_usd=0.5), "m", 1_767_225_600)
    assert (second.usage, second.model) == (None, "n")
    assert (transcript.format, transcript.notes) == ("atif", ())


def test_a_total_cost_counts_where_no_step_states_its_own(tmp_path: Path) -> None:
    total = {"final_metrics": {"total_cost_usd": 2.5}}
    (whole,) = found(tmp_path, document(user("Go."), agent("x", metrics={"prompt_tokens": 40}), **total))
    (steps,) = found(
        tmp_path, document(user("Go."), agent("x", metrics={"prompt_tokens": 40, "cost_usd": 0.5}), **total)
    )
    assert (whole.cost_usd, steps.cost_usd) == (2.5, None)
    assert [made.get("final_metrics") for made in documents([whole, steps])] == [{"total_cost_usd": 2.5}, None]


def test_a_head_that_ctxsim_wrote_beside_a_step_is_that_calls(tmp_path: Path) -> None:
    held = {"ctxsim": {"system": "Other.", "tools": ["{}"]}}
    (transcript,) = found(tmp_path, document(user("Go."), agent("x"), agent("y", extra=held)))
    assert [call.head for call in transcript.calls] == [None, Head("Other.", ("{}",))]


def test_what_is_no_plain_step_is_noted(tmp_path: Path) -> None:
    other = {"trajectory_path": "sub.json"}
    metrics = {"prompt_tokens": 40}
    (transcript,) = found(
        tmp_path,
        document(
            user("Go."),
            agent("Old.", is_copied_context=True),
            agent("ls", result("a", None), llm_call_count=0),
            agent("x", metrics=metrics, llm_call_count=3),
            {"source": "system", "message": "Hurry."},
            agent("y", {"subagent_trajectory_ref": [other]}, metrics=metrics),
            continued_trajectory_ref="more.json",
        ),
    )
    assert [call.usage and call.usage.input_tokens for call in transcript.calls] == [None, None, 40]
    assert [call.comparable for call in transcript.calls] == [False, False, True]
    assert set(transcript.notes) == {
        "1 step(s) copied from an earlier trajectory: their calls were made there, without usage here",
        "1 step(s) that no model made (`llm_call_count` 0): kept as user texts",
        "1 step(s) of several requests at once: their usage is a sum, left out",
        "1 system step(s) in mid-conversation kept as user texts",
        "1 reference(s) to trajectories in other files left out",
        "goes on in more.json, a trajectory of its own",
    }


def test_results_without_ids_several_of_one_call_and_of_actions_in_the_text(tmp_path: Path) -> None:
    image = [{"type": "text", "text": "c"}, {"type": "image", "source": {"media_type": "image/png", "path": "x.png"}}]
    (transcript,) = found(
        tmp_path,
        document(
            user("Go."),
            agent("", result("a"), result("b"), result(image, None), tool_calls=[CALL, CALL | {"tool_call_id": "c2"}]),
            agent("ls", result("screen", None)),
        ),
    )
    assert said(transcript)[3:] == [
        ("tool_result", "a\nb"), ("tool_result", "c"), ("assistant", "ls"), ("user", "screen"),
    ]  # fmt: skip
    assert [media.kind for media in transcript.items[4].media] == ["image"]


def test_compaction_as_harbors_agent_records_it(tmp_path: Path) -> None:
    managed = {"context_management": {"type": "compaction", "boundary": "replace"}}
    boundary = {"source": "system", "message": "Summarized.", "extra": managed}
    (transcript,) = found(tmp_path, document(user("Go."), agent("x"), boundary, user("So far: x."), agent("y")))
    assert transcript.compactions == (Compaction(2, 2),)
    assert said(transcript)[2] == ("user", "So far: x.")
    assert transcript.notes == ("recorded compaction before call 2",)


def documents(transcripts: list[Transcript]) -> list[Json]:
    return list(map(json.loads, b"".join(written(transcripts)).splitlines()))


def test_sub_agents_and_several_documents(tmp_path: Path) -> None:
    inner = document(user("Look."), agent("Seen."), trajectory_id="s1")
    outer = document(user("Go."), agent("x"), subagent_trajectories=[inner])
    whole, child = found(tmp_path, outer)
    assert (child.name, child.parent) == (f"{whole.name}#s1", whole.name)
    assert [transcript.name[-2:] for transcript in found(tmp_path, outer, inner)] == ["#1", "s1", "#2"]


def test_images_beside_a_result_that_are_none_are_named(tmp_path: Path) -> None:
    extra = {"ctxsim": {"media": [["image", "many"]]}}
    with pytest.raises(InputError, match=r"t.json step 2 extra: .*int.*media"):
        found(tmp_path, document(user("Go."), agent("x", result("r", extra=extra), tool_calls=[CALL])))


def texts() -> st.SearchStrategy[str]:
    return st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


def responses() -> st.SearchStrategy[list[Part]]:
    media = st.sampled_from([(), (Media("image", 5),)])
    spoken = st.builds(Part, st.sampled_from(["assistant", "reasoning"]), texts(), media=media)
    arguments = st.sampled_from(['{"q":"mail"}', '{"q": "mail"}', "not json", "[1]", ""])
    called = st.builds(Part, st.just("tool_call"), arguments, st.just("search"), st.sampled_from(["", "c1", "c2"]))
    return st.lists(spoken | called, max_size=4)


@st.composite
def transcripts(draw: st.DrawFn) -> Transcript:
    """Whatever an assembly may give: odd orders, empty texts, ids missing or twice, images, compactions."""
    made = Assembly("t", "invented")
    made.system = draw(st.lists(texts(), max_size=1))
    made.tools = draw(st.lists(st.sampled_from(['{"name":"search"}', '{"name": "search"}', "odd"]), max_size=2))
    made.user("Go.")
    for _ in range(draw(st.integers(0, 3))):
        parts = draw(responses())
        usage = draw(st.none() | st.builds(Usage, st.integers(3, 99), st.none() | st.integers(0, 9), st.just(3)))
        made.response(parts, usage, draw(st.none() | st.floats(0, 2e9)), draw(st.sampled_from(["", "m", "n"])))
        for part in parts:
            if part.kind == "tool_call" and draw(st.booleans()):
                made.result(draw(texts()), part.call_id, media=draw(st.sampled_from([(), (Media("image", 5),)])))
        made.user(*draw(st.lists(texts(), max_size=2)))
        if draw(st.booleans()):
            made.compacted("auto", ["So far."])
    return made.transcript()


@settings(max_examples=25)
@given(transcripts())
def test_there_and_back_is_equal(tmp_path_factory: pytest.TempPathFactory, transcript: Transcript) -> None:
    (made,) = documents([transcript])
    folder = tmp_path_factory.mktemp("atif")
    (folder / "t.json").write_bytes(b"".join(written([transcript])))
    (again,) = read(str(folder / "t.json"))
    assert again == transcript
    assert documents([again]) == [made]
    _fits_the_schema(made)


def _fits_the_schema(made: Json) -> None:
    """The rules beside the types that Harbor's own models check."""
    assert [step["step_id"] for step in made["steps"]] == list(range(1, len(made["steps"]) + 1))
    for step in made["steps"]:
        ids = [call["tool_call_id"] for call in step.get("tool_calls", ())]
        assert len(set(ids)) == len(ids)
        assert {one["source_call_id"] for one in step.get("observation", {}).get("results", ())} <= set(ids)
        assert all(isinstance(call["arguments"], dict) for call in step.get("tool_calls", ()))
        if step["source"] != "agent":
            assert not {"model_name", "reasoning_content", "tool_calls", "metrics"} & step.keys()


def test_steps_that_somebody_took_out_end_what_stood_beside_them(tmp_path: Path) -> None:
    made = Assembly("t", "invented")
    made.user("Go.")
    made.response([Part("assistant", "x")])
    made.compacted("auto", ["So far."])
    made.response([Part("assistant", "y")])
    (whole,) = documents([made.transcript()])
    (transcript,) = found(tmp_path, whole | {"steps": whole["steps"][:1]})
    assert transcript.compactions == ()
    assert "no longer fits them" in transcript.notes[-1]


def family(*parents: str) -> list[Transcript]:
    """Transcripts `0`, `1` and so on with these parents."""
    made = Assembly("0", "invented")
    made.user("Go.")
    made.response([Part("assistant", "x")])
    replaced = msgspec.structs.replace
    return [replaced(made.transcript(), name=f"{n}", parent=parent or None) for n, parent in enumerate(parents)]


@pytest.mark.parametrize(("parents", "trees"), [
    (("", ""), [["0"], ["1"]]),
    (("", "0", "0", "1"), [["0", ["1", ["3"]], ["2"]]]),
    # A child's file may come first; one whose parent isn't there is on its own.
    (("2", "gone", ""), [["1"], ["2", ["0"]]]),
    # Who is in a circle is in nobody else's: nothing is lost.
    (("0", "0"), [["0", ["1"]]]),
    (("1", "2", "1", "0"), [["1", ["0", ["3"]], ["2"]]]),
])  # fmt: skip
def test_every_transcript_is_written_once_inside_its_parent(parents: tuple[str, ...], trees: list[Any]) -> None:
    def tree(made: Json) -> list[Any]:
        return [made["session_id"], *map(tree, made.get("subagent_trajectories", []))]

    assert [tree(made) for made in documents(family(*parents))] == trees


def test_thousands_of_agents_inside_one_another_are_written() -> None:
    pieces = list(written(family("", *map(str, range(1_500)))))
    assert b"".join(pieces).count(b'"subagent_trajectories":[') == 1_500


def test_in_memory_is_one_transcript_at_a_time() -> None:
    def made() -> Iterator[Transcript]:
        for number in range(40):
            assembly = Assembly(f"{number}", "invented")
            assembly.user("x" * 500_000)
            assembly.response([Part("assistant", "y" * 500_000)])
            yield assembly.transcript()

    tracemalloc.start()
    size = sum(map(len, written(made())))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # 40 MB are written; a transcript of 1 MB, its two steps, and a block of 1 MiB are held.
    assert size > 40_000_000 and peak < 8_000_000


def test_convert_writes_a_document_a_line_with_sub_agents_inside(tmp_path: Path) -> None:
    inner = document(user("Look."), agent("Seen."), trajectory_id="s1")
    write(tmp_path / "a.json", document(user("Go."), agent("x"), subagent_trajectories=[inner]))
    write(tmp_path / "b.json", document(user("Go."), agent("y")))
    write(tmp_path / "c.json", document())
    done = ctxsim("transcripts", "convert", "--to", "atif", "a.json", "b.json", "c.json", cwd=tmp_path)
    assert done.returncode == 0
    assert "c.json: is empty" in done.stderr
    first, second = map(json.loads, done.stdout.splitlines())
    assert [one["trajectory_id"] for one in first["subagent_trajectories"]] == ["a.json#s1"]
    assert "subagent_trajectories" not in second
