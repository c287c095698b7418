"""ctxsim's own format: what a reader found of compactions, costs and windows reads back equal."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from ctxsim.errors import InputError
from ctxsim.readers import read
from ctxsim.readers.formats.ctxsim_jsonl import lines
from ctxsim.transcript import Call, Compaction, Head, Item, Transcript, Usage

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
    file.write_bytes(b"\n".join(lines(whole)))
    assert list(read(str(file))) == [whole]


def test_a_compaction_that_cannot_be_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    wrong = msgspec.structs.replace(WHOLE, compactions=(Compaction(9, 3),))
    file.write_bytes(b"\n".join(lines(wrong)))
    with pytest.raises(InputError, match="compaction 1 is before call 9"):
        list(read(str(file)))
