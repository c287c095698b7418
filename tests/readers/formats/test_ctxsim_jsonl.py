"""Our own format round-trips, with all that a reader can find, and says where a file is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from strategies import transcripts

from ctxsim.errors import InputError
from ctxsim.readers import read
from ctxsim.readers.formats import ctxsim_jsonl
from ctxsim.transcript import Call, Compaction, Head, Item, Transcript, Usage


@settings(max_examples=25)
@given(transcripts())
def test_own_format_round_trips(tmp_path_factory: pytest.TempPathFactory, transcript: Transcript) -> None:
    file = tmp_path_factory.mktemp("own") / "t.jsonl"
    with file.open("wb") as stream:
        for _ in range(2):
            stream.writelines(line.replace(b"\\ud800", b"") + b"\n" for line in ctxsim_jsonl.lines(transcript))
    assert list(read(str(file))) == [transcript, transcript]


def test_own_format_says_where_it_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    start = json.dumps({"ctxsim": 1, "name": "x"})
    file.write_text(start + '\n{"item": {"kind": "user", "place": "zero", "message": 1}}\n')
    with pytest.raises(InputError, match=r"t\.jsonl:2: Expected `int`"):
        list(read(str(file)))
    file.write_text(start + '\n{"item": {"kind": "user", "place": 4, "message": 1}}\n')
    with pytest.raises(InputError, match="item 0 says its place is 4"):
        list(read(str(file)))
    file.write_text(json.dumps({"ctxsim": 9, "name": "x"}) + "\n" + start)
    with pytest.raises(InputError, match="version 9"):
        list(read(str(file)))


WHOLE = Transcript(
    "s.jsonl",
    Head(),
    (
        Item("user", 0, 1, "Any mail?"),
        Item("tool_call", 1, 2, "{}", "search", call_id="c1"),
        Item("tool_result", 2, 3, "2 messages", "search", 1, "c1"),
        Item("assistant", 3, 4, "Two."),
    ),
    (Call(1, 2, Usage(40, 9, cost_usd=0.25), window=258_400), Call(3, 4)),
    "ctxsim",
    compactions=(Compaction(2, 3, "auto", ("Mail.",), (1, 2), 41, 12, 2.5),),
    cleared=((2, 2),),
    cost_usd=0.5,
    beside=(Call(0, 0, Usage(30, None, output_begun_tokens=2), 1.5, "m", comparable=False),),
)


@pytest.mark.parametrize("whole", [WHOLE, msgspec.structs.replace(WHOLE, compactions=(), carried=1)])
def test_everything_reads_back_equal(tmp_path: Path, whole: Transcript) -> None:
    file = tmp_path / "s.jsonl"
    file.write_bytes(b"\n".join(ctxsim_jsonl.lines(whole)))
    assert list(read(str(file))) == [whole]


def test_a_compaction_that_cannot_be_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    wrong = msgspec.structs.replace(WHOLE, compactions=(Compaction(9, 3),))
    file.write_bytes(b"\n".join(ctxsim_jsonl.lines(wrong)))
    with pytest.raises(InputError, match="compaction 1 is before call 9"):
        list(read(str(file)))
