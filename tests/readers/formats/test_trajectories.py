"""Tables of trajectories: every column form that data sets are known to have, refusals, and memory."""

from __future__ import annotations

import gzip
import json
import os
import tracemalloc
from pathlib import Path
from zipfile import ZipFile

import pyarrow as pa
import pytest
import read_back
from command_line import ctxsim
from pyarrow import parquet
from read_back import Json, called, kinds, write

from ctxsim.errors import InputError
from ctxsim.readers import read, sources
from ctxsim.transcript import Transcript

CALL = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"q":  "mail"}'}}
CHAT: list[Json] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Any mail?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "content": "2 messages", "tool_call_id": "c1", "name": "search"},
    {"role": "assistant", "content": "Two."},
]
OWN: list[Json] = [
    {"role": "system", "system_prompt": "Be brief.", "text": None, "mask": False},
    {"role": "user", "text": "Any mail?", "system_prompt": None, "mask": False},
    {"role": "ai", "text": "I look.\n```\nls mail\n```", "system_prompt": None, "mask": True},
    {"role": "user", "text": "2 messages", "system_prompt": None, "mask": False},
    {"role": "ai", "text": "Done.\n```\nsubmit\n```", "system_prompt": None, "mask": True},
]
SHARED: list[Json] = [
    {"from": "system", "value": "Be brief."},
    {"from": "human", "value": "Any mail?"},
    {"from": "function_call", "value": '{"name": "search", "arguments": {"q": "mail"}}'},
    {"from": "observation", "value": "2 messages"},
    {"from": "gpt", "value": "Two."},
]


def table(path: Path, columns: Json, rows_a_group: int = 4) -> str:
    parquet.write_table(pa.table(columns), path, row_group_size=rows_a_group)
    return str(path)


def all_of(path: Path | str) -> list[Transcript]:
    return read_back.all_of(path, "trajectories")


ANSWERED = [
    ("user", "", "Any mail?"),
    ("tool_call", "search", '{"q":  "mail"}'),
    ("tool_result", "search", "2 messages"),
    ("assistant", "", "Two."),
]


@pytest.mark.parametrize("as_text", [False, True])
def test_chat_messages_with_tools_one_transcript_a_row(tmp_path: Path, as_text: bool) -> None:
    """As nebius/SWE-rebench-openhands-trajectories has them (lists), and SWE-smith (JSON text)."""
    tool = {"type": "function", "function": {"name": "search", "parameters": None}}
    path = table(
        tmp_path / "t.parquet",
        {
            "instance_id": [f"mail-{number}" for number in range(9)],
            "trajectory": [json.dumps(CHAT) if as_text else CHAT] * 9,
            "tools": [json.dumps([tool]) if as_text else [tool]] * 9,
            "model": ["m"] * 9,
        },
    )
    found = all_of(path)
    assert [transcript.name for transcript in found] == [f"{path}#{row}" for row in range(1, 10)]
    assert {transcript.head.system for transcript in found} == {"Be brief."}
    # A column that only other rows fill is null in this one, and was not sent.
    assert found[0].head.tools == ('{"type":"function","function":{"name":"search"}}',)
    assert called(found[8]) == ANSWERED
    assert (found[0].model, len(found[0].calls), found[0].notes) == ("m", 2, ())


def test_messages_may_be_an_object_with_a_list_of_messages(tmp_path: Path) -> None:
    (found,) = all_of(write(tmp_path / "row.json", {"messages": {"messages": CHAT}}))
    assert called(found) == ANSWERED


def test_roles_of_its_own_and_commands_in_fenced_blocks(tmp_path: Path) -> None:
    """As nebius/SWE-agent-trajectories has them."""
    (found,) = all_of(table(tmp_path / "t.parquet", {"trajectory": [OWN], "model_name": ["m"]}))
    assert found.head.system == "Be brief."
    assert called(found) == [
        ("user", "", "Any mail?"),
        ("assistant", "", "I look.\n```\n"),
        ("tool_call", "ls", " mail\n```"),
        ("tool_result", "ls", "2 messages"),
        ("assistant", "", "Done.\n```\n"),
        ("tool_call", "submit", "\n```"),
    ]
    assert found.notes == ("2 call(s) that stand in the text: the message after each is taken as its result",)


def test_only_a_call_in_a_text_waits_for_the_next_message(tmp_path: Path) -> None:
    call = {"id": "a", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    chat = [
        {"role": "user", "content": "Any mail?"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "user", "content": "Stop."},
        {"role": "assistant", "content": "Stopped."},
    ]
    (found,) = all_of(table(tmp_path / "t.parquet", {"messages": [chat]}))
    assert ("user", "", "Stop.") in called(found)


def test_code_blocks_in_a_chat_are_no_commands(tmp_path: Path) -> None:
    chat = [
        {"role": "human", "text": "How do I list mail?"},
        {"role": "ai", "text": "So:\n```\nls mail\n```"},
        {"role": "human", "text": "And why?"},
        {"role": "ai", "text": "It lists."},
        {"role": "human", "text": "Thanks."},
        {"role": "ai", "text": "Bye."},
    ]
    (found,) = all_of(table(tmp_path / "t.parquet", {"conversation": [chat]}))
    assert {item.kind for item in found.items} == {"user", "assistant"}


@pytest.mark.parametrize(
    ("text", "before", "name"),
    [
        ("I look.\n<function=search>\n<parameter=q>mail</parameter>\n</function>", "I look.\n<function=", "search"),
        ('<tool_call>\n{"name": "search", "arguments": {}}\n</tool_call>', '<tool_call>\n{"name": "', "search"),
    ],
)
def test_calls_in_tags(tmp_path: Path, text: str, before: str, name: str) -> None:
    """As SWE-Gym's and SWE-smith's `xml` rows have them."""
    chat = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": text},
        {"role": "user", "content": "2"},
    ]
    (found,) = all_of(table(tmp_path / "t.parquet", {"messages": [json.dumps(chat)]}))
    assert kinds(found) == ["user", "assistant", "tool_call", "tool_result"]
    assert (found.items[1].text, found.items[2].tool) == (before, name)
    # What the model wrote is there to the letter.
    assert "".join(item.tool + item.text for item in found.items[1:3]) == text


def test_sharegpt_rows_in_json_lines_and_in_a_list(tmp_path: Path) -> None:
    row = {"id": "1", "conversations": SHARED}
    expected = [*ANSWERED[:1], ("tool_call", "search", '{"q":"mail"}'), *ANSWERED[2:]]
    for lines, rows in (([row, row], 2), ([[row, row, row]], 3)):
        found = all_of(write(tmp_path / "rows.json", *lines))
        assert [called(transcript) for transcript in found] == [expected] * rows


def test_blocks_of_anthropic(tmp_path: Path) -> None:
    use = {"type": "tool_use", "id": "t1", "name": "search", "input": {"q": "mail"}}
    answer = {"type": "tool_result", "tool_use_id": "t1", "content": "2 messages"}
    chat = [
        {"role": "user", "content": "Any mail?"},
        {"role": "assistant", "content": [{"type": "text", "text": "I look."}, use]},
        {"role": "user", "content": [answer]},
    ]
    (found,) = all_of(table(tmp_path / "t.parquet", {"messages": [json.dumps(chat)]}))
    assert kinds(found) == ["user", "assistant", "tool_call", "tool_result"]


def test_any_column_by_name(tmp_path: Path) -> None:
    path = table(tmp_path / "t.parquet", {"chosen": [CHAT, CHAT], "rejected": [CHAT[:2] + CHAT[4:]] * 2})
    with pytest.raises(InputError, match="in its first rows; write column:NAME:PATH, NAME being one of chosen, reje"):
        list(read(path))
    chosen, rejected = (all_of(f"column:{name}:{path}") for name in ("chosen", "rejected"))
    assert ([len(one.items) for one in chosen], [len(one.items) for one in rejected]) == ([4, 4], [2, 2])
    assert chosen[0].name == f"{path}:chosen#1"
    assert len(list(sources(f"column:chosen:{path}", f"column:rejected:{path}"))) == 2
    with pytest.raises(InputError, match=r"t.parquet:none row 1: has no column 'none', but chosen, rejected"):
        list(read(f"column:none:{path}"))
    done = ctxsim("transcripts", "check", f"column:rejected:{path}", cwd=tmp_path)
    assert done.returncode == 0
    assert "2 transcripts: 2 trajectories" in done.stdout


def test_damaged_and_empty_tables(tmp_path: Path) -> None:
    whole = Path(table(tmp_path / "t.parquet", {"messages": [CHAT] * 3})).read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[:-20])
    with pytest.raises(InputError, match="damaged Parquet"):
        list(read(str(tmp_path / "cut.parquet")))
    empty = pa.table({"messages": pa.array([], pa.string())})
    parquet.write_table(empty, tmp_path / "empty.parquet")
    with pytest.raises(InputError, match="without messages in its first rows"):
        list(read(str(tmp_path / "empty.parquet")))


def test_memory_is_bounded_whatever_the_row_groups_are(tmp_path: Path) -> None:
    """One row group of 300 rows of 100 KB each: reading all must not hold 30 MB, in Python or in Arrow."""
    chat = [{"role": "user", "content": f"{'word ' * 20_000}"}, {"role": "assistant", "content": "ok"}]
    # Without what can't be compressed it would be refused, as expanding too far.
    rows = {"messages": [json.dumps(chat)] * 300, "noise": [os.urandom(2_000).hex() for _ in range(300)]}
    path = table(tmp_path / "t.parquet", rows, rows_a_group=300)
    before = pa.total_allocated_bytes()
    tracemalloc.start()
    try:
        most = count = 0
        for transcript in read(path):
            count += len(transcript.calls)
            most = max(most, pa.total_allocated_bytes() - before)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 300
    assert peak < 12 << 20
    assert most < 24 << 20


def test_a_table_that_is_packed_is_read_as_the_table_itself(tmp_path: Path) -> None:
    path = table(tmp_path / "t.parquet", {"messages": [CHAT]})
    items = [one.items for one in all_of(path)]
    (tmp_path / "t.parquet.gz").write_bytes(gzip.compress(Path(path).read_bytes()))
    with pa.CompressedOutputStream(str(tmp_path / "t.parquet.zst"), "zstd") as packed:
        packed.write(Path(path).read_bytes())
    with ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.write(path, "t.parquet")
    for name in ("t.parquet.gz", "t.parquet.zst", "t.zip"):
        assert items and [one.items for one in all_of(str(tmp_path / name))] == items
