"""tau-bench results: one transcript per run, ids that repeat, calls that stay open."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import read_back
from read_back import Json, kinds, write

from ctxsim.transcript import Transcript


def call(call_id: str, name: str = "find") -> Json:
    function = {"name": name, "arguments": '{"id": 7}'}
    calls = [{"id": call_id, "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(call_id: str, content: str, name: str = "find") -> Json:
    return {"role": "tool", "tool_call_id": call_id, "name": name, "content": content}


def run(task_id: Any, trial: Any, *messages: Json) -> Json:
    start = [{"role": "system", "content": "# Policy"}, {"role": "user", "content": "Where is my parcel?"}]
    return {"task_id": task_id, "trial": trial, "reward": 1.0, "info": {}, "traj": [*start, *messages]}


def all_of(tmp_path: Path, runs: Any) -> list[Transcript]:
    return read_back.all_of(write(tmp_path / "results.json", runs), "tau-bench")


def test_a_run_with_an_id_that_repeats(tmp_path: Path) -> None:
    messages = [call("c1"), result("c1", "on its way"), call("c1"), result("c1", "there")]
    (transcript,) = all_of(tmp_path, [run(7, 0, *messages, {"role": "assistant", "content": "There."})])
    assert transcript.name == f"{tmp_path}/results.json#7-0"
    assert transcript.head.system == "# Policy"
    assert transcript.head.recorded
    assert kinds(transcript) == ["user", *["tool_call", "tool_result"] * 2, "assistant"]
    assert [item.answers for item in transcript.items if item.kind == "tool_result"] == [1, 3]
    assert [(item.tool, item.text) for item in transcript.items if item.kind == "tool_call"] == [
        ("find", '{"id": 7}')
    ] * 2
    assert [(made.start, made.end) for made in transcript.calls] == [(1, 2), (3, 4), (5, 6)]


def test_one_transcript_per_run_also_of_the_same_trial(tmp_path: Path) -> None:
    answer = {"role": "assistant", "content": "Hm."}
    names = [
        t.name.partition("#")[2] for t in all_of(tmp_path, [run(7, 0, answer), run(7, 1, answer), run(7, 0, answer)])
    ]
    assert names == ["7-0", "7-1", "7-0-2"]
    assert [t.name.partition("#")[2] for t in all_of(tmp_path, [run("x", None, answer)])] == ["x"]
