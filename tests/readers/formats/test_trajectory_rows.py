"""Rows of trajectories as JSON: what is taken for messages, what each role becomes, and what is told of other rows."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from read_back import Json, all_of, taken, write
from read_back import called as said

from ctxsim.errors import InputError
from ctxsim.readers import read
from ctxsim.transcript import Transcript

GO = {"from": "human", "value": "Go."}
SAID = {"from": "gpt", "value": "Done."}


def rows(tmp_path: Path, *values: Any) -> list[Transcript]:
    return all_of(write(tmp_path / "rows.jsonl", *values), "trajectories")


def row(tmp_path: Path, *messages: Json, **fields: Any) -> Transcript:
    (found,) = rows(tmp_path, {"conversations": messages} | fields)
    return found


@pytest.mark.parametrize(("value", "matched"), [
    ({"conversations": [GO]}, True), ([{"conversations": [GO]}], True), ({"conversations": json.dumps([GO])}, True),
    ({"dialog": {"messages": [GO]}}, True), ({"conversations": []}, False), ({"other": [GO]}, False),
    ({"conversations": [GO, {"from": "wizard"}]}, False),
    ({"conversations": [{"from": "human", "said": "Go."}]}, False),
    ({"conversations": [{"role": "Assistant", "tool_calls": []}]}, True), ([], False), ("text", False),
    # Chat messages under `messages` are another format's, unless they are text, or have a role or a field of their own.
    ({"messages": [{"role": "user", "content": "Go."}]}, False),
    ({"trajectory": [{"role": "user", "content": "Go."}]}, True),
    ({"messages": json.dumps([{"role": "user", "content": "Go."}])}, True),
    ({"messages": [{"role": "user", "text": "Go."}]}, True), ({"messages": [{"role": "ai", "content": "Go."}]}, True),
    ({"messages": [{"role": "user", "content": None}]}, False),
])  # fmt: skip
def test_what_is_taken_for_a_row(value: Any, matched: bool) -> None:
    assert taken("trajectories", value) is matched


def test_each_role(tmp_path: Path) -> None:
    calls = '[{"name": "a", "arguments": {"x": 1}}, {"name": "b"}]'
    found = row(
        tmp_path,
        {"from": "system_prompt", "value": "Be brief."}, GO,
        {"from": "tool_call", "value": calls}, {"from": "ipython", "value": "1"}, {"from": "observation", "value": "2"},
        {"from": "function_call", "value": "not json"}, {"from": "tool", "value": "3", "name": "x"},
        {"from": "tool_call", "value": "[]"}, {"from": "tool", "value": "4"}, {"from": "tool", "value": "of none"},
        {"from": "system", "value": "Be kind."}, {"from": "developer", "value": "Be quick."}, SAID,
        {"from": "human", "value": "More."}, {"from": "tool", "value": "of nobody"},
        model_name="m", tools='[{"name": "a", "strict": null}]',
    )  # fmt: skip
    assert (found.head.system, found.head.tools, found.model) == ("Be brief.", ('{"name":"a"}',), "m")
    assert said(found) == [
        ("user", "", "Go."), ("tool_call", "a", '{"x":1}'), ("tool_call", "b", ""), ("tool_result", "a", "1"),
        ("tool_result", "b", "2"), ("tool_call", "", "not json"), ("tool_result", "", "3"), ("tool_call", "", "[]"),
        ("tool_result", "", "4"), ("user", "", "of none"), ("user", "", "Be kind."), ("user", "", "Be quick."),
        ("assistant", "", "Done."), ("user", "", "More."), ("user", "", "of nobody"),
    ]  # fmt: skip
    assert sorted(found.notes) == [
        "2 result(s) without a call in the message before kept as user texts",
        "2 system message(s) in mid-conversation kept as user text",
    ]


def test_results_are_paired_by_id_and_by_name(tmp_path: Path) -> None:
    calls = [
        {"id": call_id, "function": {"name": name, "arguments": "{}"}}
        for call_id, name in (("c1", "a"), ("", "b"), ("", "c"))
    ]
    found = row(
        tmp_path, GO, {"role": "assistant", "content": "", "tool_calls": calls},
        {"role": "tool", "content": "of c", "name": "c"}, {"role": "tool", "content": "of a", "tool_call_id": "c1"},
        {"role": "tool", "content": "of b"},
    )  # fmt: skip
    assert [(item.text, item.answers) for item in found.items[4:]] == [("of c", 3), ("of a", 1), ("of b", 2)]


FENCED = {"from": "gpt", "value": "So:\n```\nls\n```"}


@pytest.mark.parametrize(("without", "commands"), [(1, True), (2, False)])
def test_where_nine_in_ten_responses_have_a_fenced_block_it_is_a_command(
    tmp_path: Path, without: int, commands: bool
) -> None:
    said = [message for n in range(10) for message in (SAID if n < without else FENCED, GO)]
    found = row(tmp_path, GO, *said)
    assert any(item.kind == "tool_call" for item in found.items) is commands


def test_fenced_blocks_are_no_commands_where_there_are_calls_or_nothing_follows(tmp_path: Path) -> None:
    called = {"from": "function_call", "value": '{"name": "a"}'}
    tagged = {"from": "gpt", "value": "<function=search>\n</function>"}
    for messages, tools in (
        ([GO, FENCED], []), ([GO, FENCED, GO, called], ["a"]), ([GO, FENCED, GO, tagged, GO], ["search"]),
        ([GO, FENCED, GO], ["ls"]),
    ):  # fmt: skip
        found = row(tmp_path, *messages)
        assert [item.tool for item in found.items if item.kind == "tool_call"] == tools


def test_tools_that_are_no_json_and_a_model_that_is_no_name(tmp_path: Path) -> None:
    found = row(tmp_path, GO, SAID, tools="[broken", model=5)
    assert (found.head.tools, found.notes, found.model) == ((), ("column 'tools' is no JSON: left out",), "")
    assert row(tmp_path, GO, SAID, tools="some tools", model="m", model_name="n").model == "m"


@pytest.mark.parametrize(("bad", "more"), [(5, []), (6, ["left out: 1 more that can't be read either"])])
def test_of_rows_that_cant_be_read_five_are_named(tmp_path: Path, bad: int, more: list[str]) -> None:
    good = {"conversations": [GO, SAID]}
    found = rows(tmp_path, good, *[{"conversations": 3}] * bad, good)
    assert [one.name.partition("#")[2] for one in found] == ["1", str(bad + 2)]
    assert found[0].notes == ()
    assert [*found[1].notes] == [
        *(f"left out: {tmp_path}/rows.jsonl row {n}: column 'conversations' holds no messages with roles"
          for n in range(2, 7)), *more
    ]  # fmt: skip


def test_a_list_of_rows_is_counted_from_one_and_a_column_may_be_named(tmp_path: Path) -> None:
    path = write(tmp_path / "list.json", [{"chosen": [GO, SAID]}, 7, {"chosen": [GO]}])
    found = list(read(f"column:chosen:{path}"))
    assert [one.name.partition("#")[2] for one in found] == ["1", "3"]
    assert found[1].notes == (
        "no response of the model is recorded",
        f"left out: {path}:chosen row 2: has no column 'chosen', but (none)",
    )
    for value, refused in (
        ([{"chosen": [GO]}], "has no column 'none', but chosen"), ([], "holds no sessions with messages"),
        ([{"none": 1}, 3], "row 1: column 'none' holds no messages with roles"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=refused):
            list(read(f"column:none:{write(path, value)}"))


@pytest.mark.parametrize("names", [["talk"], ["id", "talk"], ["id", "talk", "more"]])
def test_a_csv_table_of_few_columns_is_one_if_it_has_the_named_column(tmp_path: Path, names: list[str]) -> None:
    path = tmp_path / "table.csv"
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, names)
        table.writeheader()
        table.writerows({name: json.dumps([GO, SAID]) for name in names} for _ in range(2))
    found = list(read(f"column:talk:{path}"))
    assert [(one.name.partition("#")[2], len(one.calls)) for one in found] == [("1", 1), ("2", 1)]
