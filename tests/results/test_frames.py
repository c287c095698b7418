"""Rows as tables: types, groups of columns that are shared, and files of a table of its own."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import msgspec
import pandas
import pyarrow
import pyarrow.parquet
import pytest

from ctxsim.errors import InputError
from ctxsim.results import frame
from ctxsim.results.columns import CallRow, FrontierRow, NeedRow
from ctxsim.results.compactions import CompactionRow, read_compactions
from ctxsim.results.csv_text import csv_header, csv_text, harmless, write_csv, write_table
from ctxsim.results.frames import (
    arrow_batch,
    arrow_batch_of,
    arrow_schema,
    columns_of,
    frame_of,
    packed,
    refused,
    tables_of,
)
from ctxsim.results.run_info import Tables


class Row(msgspec.Struct):
    name: str
    number: int | None
    share: float
    kept: bool = False


ROWS = [Row("a", 1, 0.5), Row("é", None, 1.0, True), Row("a", 3, 2.0, True)]


def test_types_are_those_that_columns_declare() -> None:
    found = [(one.name, str(one.type), one.nullable) for one in arrow_schema(Row)]
    assert found == [("name", "string", False), ("number", "int64", True), ("share", "double", False),
                     ("kept", "bool", False)]  # fmt: skip
    assert columns_of(Row, ROWS) == {"name": ["a", "é", "a"], "number": [1, None, 3], "share": [0.5, 1.0, 2.0],
                                     "kept": [False, True, True]}  # fmt: skip
    assert arrow_batch(Row, ROWS).to_pylist() == [msgspec.structs.asdict(row) for row in ROWS]
    assert arrow_batch(Row, []).num_rows == 0


def test_groups_stand_below_one_another_and_what_they_share_is_packed_once() -> None:
    names = ["a", "b"]
    groups = [{"name": names, "number": [n, None], "share": [0.5, n], "kept": [True, False]} for n in (1, 2, 3)]
    found = arrow_batch_of(Row, groups)
    assert found.column("name").to_pylist() == names * 3
    assert found.column("number").to_pylist() == [1, None, 2, None, 3, None]
    assert found.column("share").to_pylist() == [0.5, 1, 0.5, 2, 0.5, 3] and found.num_rows == 6
    # Equal columns that are two are packed as two.
    groups[2]["name"] = ["c", "d"]
    assert arrow_batch_of(Row, groups).column("name").to_pylist() == ["a", "b", "a", "b", "c", "d"]
    assert arrow_batch_of(Row, []).num_rows == 0


@pytest.mark.parametrize(
    ("values", "kind", "code"),
    [([None, None], pyarrow.string(), "s"), (["", None, "éa", "b"], pyarrow.string(), "s"),
     (["a"], pyarrow.string(), "s"),
     ([1, None, -(2**63)], pyarrow.int64(), "q"), ([None, 0.5, 1], pyarrow.float64(), "d"), ([], pyarrow.int64(), "q"),
     ([True] * 9 + [False], pyarrow.bool_(), "?"), ([None, True, False], pyarrow.bool_(), "?")],
)  # fmt: skip
def test_values_are_packed_as_they_are(values: list[Any], kind: Any, code: str) -> None:
    found = packed(values, kind, code)
    found.validate(full=True)
    assert found.to_pylist() == values and found.type == kind


def test_values_of_another_type_are_none() -> None:
    with pytest.raises(struct.error):
        packed(["a"], pyarrow.int64(), "q")
    with pytest.raises(struct.error):
        packed([None, "a"], pyarrow.int64(), "q")


def test_one_transcript_s_rows_are_its_tables() -> None:
    need = NeedRow("t", 1, "strict", "value", 1, "head", "read", 1, 1, "x")
    found = tables_of({"needs": [need]})
    counts = {name: getattr(found, name).num_rows for name in Tables.__struct_fields__}
    assert counts == {**dict.fromkeys(counts, 0), "needs": 1}
    texts = ("transcript", "policy", "status", "reason", "trigger", "cache_break")
    columns: dict[str, Any] = {name: ["x" if name in texts else 0] for name in CallRow.__struct_fields__}
    calls = tables_of({"needs": [need]}, [columns] * 2)
    assert (calls.calls.num_rows, calls.needs.num_rows) == (2, 1)


def test_frames_are_as_if_read_from_a_file() -> None:
    found = frame("frontier", [FrontierRow("t", "any", 0.5, 10.0, None, 2.0)])
    assert found.to_dict("records")[0] == {"transcript": "t", "family": "any", "survival": 0.5, "tokens": 10.0,
                                           "cost_usd": pytest.approx(float("nan"), nan_ok=True),
                                           "scheduled_usd": 2.0}  # fmt: skip
    assert frame_of([ROWS[0], {"name": "b", "more": 7}]).to_dict("list")["name"] == ["a", "b"]
    assert list(frame_of([ROWS[0], {"more": 7}]).columns) == ["name", "number", "share", "kept", "more"]


def test_csv_is_the_header_and_a_line_for_each_row(tmp_path: Path) -> None:
    assert csv_header(Row) == b"name,number,share,kept\n" and csv_text(arrow_batch(Row, [])) == b""
    lines = "a,1,0.5,False\né,,1.0,True\na,3,2.0,True\n"
    assert bytes(csv_text(arrow_batch(Row, ROWS))).decode() == lines
    assert [harmless(cell) for cell in ("\tx", "\rx", "x=", "-1", "'=", "+", "@a", "")] == [
        "'\tx", "'\rx", "x=", "'-1", "'=", "'+", "'@a", ""
    ]  # fmt: skip
    folder = tmp_path / "a" / "b"
    for _ in range(2):
        assert write_table(folder, "t", Row, ROWS) == [folder / "t.csv", folder / "t.parquet"]
    assert (folder / "t.csv").read_text() == "name,number,share,kept\n" + lines
    parquet = pyarrow.parquet.ParquetFile(folder / "t.parquet")
    assert parquet.read().to_pylist() == [msgspec.structs.asdict(row) for row in ROWS]
    assert parquet.metadata.row_group(0).column(0).compression == "ZSTD"
    assert sorted(one.name for one in folder.iterdir()) == ["t.csv", "t.parquet"]
    assert write_csv(tmp_path / "one.csv", ROWS[:1]).read_text().splitlines()[1:] == ["a,1,0.5,False"]
    path = write_csv(tmp_path / "c.csv", [Row('a "b", c\nd', None, 1e10), Row("=1", 1, 0.5)])
    assert path.read_bytes() == (b'name,number,share,kept\n"a ""b"", c\nd",,10000000000.0,False\n=1,1,0.5,False\n')


@pytest.mark.parametrize("share", [1e-4, 9.9e-5, 1e10, 9999999999.5, -1e10, 12.0, 0.1])
def test_floats_are_spelled_as_python_spells_them(share: float) -> None:
    assert bytes(csv_text(arrow_batch(Row, [Row("", 0, share)]))).decode() == f",0,{share!r},False\n"


def test_recorded_compactions_are_read_from_their_table(tmp_path: Path) -> None:
    assert read_compactions(tmp_path) == []
    texts = ("transcript", "root", "agent", "model", "started_by")
    row = CompactionRow(**{name: "x" if name in texts else None if name == "seconds" else 1
                           for name in CompactionRow.__struct_fields__})  # fmt: skip
    write_table(tmp_path, "compactions", CompactionRow, [row])
    assert read_compactions(tmp_path) == [row]
    older = pyarrow.parquet.read_table(tmp_path / "compactions.parquet").drop_columns(["lost_used", "kept_shown"])
    pyarrow.parquet.write_table(older, tmp_path / "compactions.parquet")
    assert read_compactions(tmp_path) == [msgspec.structs.replace(row, lost_used=None, kept_shown=None)]
    pandas.DataFrame({"a": [1]}).to_parquet(tmp_path / "compactions.parquet")
    with pytest.raises(InputError, match="run ctxsim compactions again, with --out for this folder"):
        read_compactions(tmp_path)


def test_refusals_of_a_row_are_of_every_kind() -> None:
    counts = {"overflows": 1, "rate_limited": 20, "invalid_pairs": 300, "stopped": 4_000, "invalid_thinking": 50_000}
    rows = pandas.DataFrame([counts, dict.fromkeys(counts, 0) | {"invalid_thinking": None}])
    assert refused(rows).tolist() == [54_321, 0]
