"""Our own format round-trips and says where a file is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from strategies import transcripts

from ctxsim.errors import InputError
from ctxsim.readers import read
from ctxsim.readers.formats import ctxsim_jsonl
from ctxsim.transcript import Transcript


@settings(max_examples=60)
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
