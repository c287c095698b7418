"""Rows as tables: types, groups of columns that are shared, and files of a table of its own."""

from __future__ import annotations

import csv
import io
import json
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any, get_type_hints

import msgspec
import pandas
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from project import ROOT

from ctxsim.errors import InputError
from ctxsim.results.columns import CallRow, FrontierRow, NeedRow
from ctxsim.results.compactions import CompactionRow, read_compactions
from ctxsim.results.csv_text import csv_header, csv_text, harmless, write_csv, write_table
from ctxsim.results.frames import (
    arrow_batch,
    arrow_batch_of,
    arrow_schema,
    columns_of,
    frame_of,
    joined,
    mapped,
    packed,
    refused,
    tables_of,
)
from ctxsim.results.run_info import TABLES, columns


class Small(msgspec.Struct):
    name: str
    number: int | None
    share: float
    kept: bool = False


ROWS = [Small("a", 1, 0.5), Small("é", None, 1.0, True), Small("a", 3, 2.0, True)]


def test_types_are_those_that_columns_declare() -> None:
    found = [(one.name, str(one.type), one.nullable) for one in arrow_schema(Small)]
    assert found == [("name", "string", False), ("number", "int64", True), ("share", "double", False),
                     ("kept", "bool", False)]  # fmt: skip
    assert columns_of(Small, ROWS) == {"name": ["a", "é", "a"], "number": [1, None, 3], "share": [0.5, 1.0, 2.0],
                                     "kept": [False, True, True]}  # fmt: skip
    assert arrow_batch(Small, ROWS).to_pylist() == [msgspec.structs.asdict(row) for row in ROWS]
    assert arrow_batch(Small, []).num_rows == 0


def test_groups_stand_below_one_another_and_what_they_share_is_packed_once() -> None:
    names = ["a", "b"]
    groups = [{"name": names, "number": [n, None], "share": [0.5, n], "kept": [True, False]} for n in (1, 2, 3)]
    found = arrow_batch_of(Small, groups)
    assert found.column("name").to_pylist() == names * 3
    assert found.column("number").to_pylist() == [1, None, 2, None, 3, None]
    assert found.column("share").to_pylist() == [0.5, 1, 0.5, 2, 0.5, 3] and found.num_rows == 6
    # Equal columns that are two are packed as two.
    groups[2]["name"] = ["c", "d"]
    assert arrow_batch_of(Small, groups).column("name").to_pylist() == ["a", "b", "a", "b", "c", "d"]
    assert arrow_batch_of(Small, []).num_rows == 0


def test_values_of_another_type_are_none() -> None:
    with pytest.raises(struct.error):
        packed(["a"], pyarrow.int64())
    with pytest.raises(struct.error):
        packed([None, "a"], pyarrow.int64())


def test_one_transcript_s_rows_are_its_tables() -> None:
    need = NeedRow("t", 1, "strict", "value", 1, "head", "read", 1, 1, "x")
    found = tables_of({"needs": [need]})
    assert found.keys() == TABLES.keys() - {"summary"}
    assert {name for name, one in found.items() if one.num_rows} == {"needs"} and found["needs"].num_rows == 1
    texts = ("transcript", "policy", "status", "reason", "trigger", "cache_break")
    columns: dict[str, Any] = {name: ["x" if name in texts else 0] for name in CallRow.__struct_fields__}
    calls = tables_of({"needs": [need]}, [columns] * 2)
    assert (calls["calls"].num_rows, calls["needs"].num_rows) == (2, 1)


def test_frames_are_as_if_read_from_a_file() -> None:
    found = arrow_batch(FrontierRow, [FrontierRow("t", "any", 0.5, 10.0, None, 2.0)]).to_pandas()
    assert found.to_dict("records")[0] == {"transcript": "t", "family": "any", "survival": 0.5, "tokens": 10.0,
                                           "cost_usd": pytest.approx(float("nan"), nan_ok=True),
                                           "scheduled_usd": 2.0}  # fmt: skip
    assert frame_of([ROWS[0], {"name": "b", "more": 7}]).to_dict("list")["name"] == ["a", "b"]
    assert list(frame_of([ROWS[0], {"more": 7}]).columns) == ["name", "number", "share", "kept", "more"]
    assert list(frame_of([], Small).columns) == list(frame_of(ROWS, Small)) == ["name", "number", "share", "kept"]
    assert list(frame_of(iter([]), ("a", "b")).columns) == ["a", "b"] and frame_of([]).empty


def test_csv_is_the_header_and_a_line_for_each_row(tmp_path: Path) -> None:
    assert csv_header(Small) == b"name,number,share,kept\n" and csv_text(arrow_batch(Small, [])) == b""
    lines = "a,1,0.5,False\né,,1.0,True\na,3,2.0,True\n"
    assert bytes(csv_text(arrow_batch(Small, ROWS))).decode() == lines
    assert [harmless(cell) for cell in ("\tx", "\rx", "x=", "-1", "-1+1", "'=", "+", "@a", "")] == [
        "'\tx", "'\rx", "x=", "-1", "'-1+1", "'=", "'+", "'@a", ""
    ]  # fmt: skip
    folder = tmp_path / "a" / "b"
    for _ in range(2):
        assert write_table(folder, "t", Small, ROWS) == [folder / "t.csv", folder / "t.parquet"]
    assert (folder / "t.csv").read_text() == "name,number,share,kept\n" + lines
    parquet = pyarrow.parquet.ParquetFile(folder / "t.parquet")
    assert parquet.read().to_pylist() == [msgspec.structs.asdict(row) for row in ROWS]
    assert parquet.metadata.row_group(0).column(0).compression == "ZSTD"
    assert sorted(one.name for one in folder.iterdir()) == ["t.csv", "t.parquet"]
    assert write_csv(tmp_path / "one.csv", ROWS[:1]).read_text().splitlines()[1:] == ["a,1,0.5,False"]
    path = write_csv(tmp_path / "c.csv", [Small('a "b", c\nd', None, 1e10), Small("=1", 1, 0.5)])
    assert path.read_bytes() == (
        b'name,number,share,kept\n"a ""b"", c\nd",,10000000000.0,False\n'
        b"'=1,1,0.5,False\n"
    )  # fmt: skip


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


class Row(msgspec.Struct):
    """A column of each type that tables have."""

    transcript: str
    text: str
    number: int
    share: float
    kept: bool
    label: str | None
    tokens: int | None
    usd: float | None
    sure: bool | None = None


# A lone \r is quoted by Python's writer only from 3.13 on.
texts = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=6) | st.sampled_from(
    ["", "=1+1", 'a "b"', "a,b", "é\nx", "same"]
)
whole = st.integers(-(2**63), 2**63 - 1)
floats = st.floats() | st.integers(-(10**9), 10**9).map(lambda n: n / 1e6)
rows = st.builds(
    Row,
    texts,
    texts,
    whole,
    floats,
    st.booleans(),
    st.none() | texts,
    st.none() | whole,
    st.none() | floats,
    st.none() | st.booleans(),
)
SPELLED = [
    Row("-", "", 0, usd, True, None, None, None)
    for usd in (0.0, -0.0, 1e-4, 9.9e-5, -9.9e-5, float("-inf"), 1e-5, 9999999999.5, 12345678901.5, 1e10, 1.5e10, 1e15,
                1e16, 1e22, 5e-324, 1e308, 12.0)
]  # fmt: skip


@given(st.lists(rows))
@example([])
@example(SPELLED)
def test_a_batch_is_what_arrow_makes_of_the_values(made: list[Row]) -> None:
    batch, schema = arrow_batch(Row, made), arrow_schema(Row)
    assert batch.schema == schema
    for field, column in zip(schema, batch.columns, strict=True):
        column.validate(full=True)
        plain = pyarrow.array([getattr(row, field.name) for row in made], field.type)
        # Through pandas' eyes not a number equals itself, to Arrow it doesn't.
        assert repr(column.to_pylist()) == repr(plain.to_pylist())


@given(st.lists(rows))
@example(SPELLED)
def test_csv_is_what_python_writes(made: list[Row]) -> None:
    plain = io.StringIO()
    writer = csv.writer(plain, lineterminator="\n")
    writer.writerow(Row.__struct_fields__)
    for row in made:
        writer.writerow([harmless(cell) if isinstance(cell, str) else cell for cell in msgspec.structs.astuple(row)])
    text = csv_header(Row) + bytes(csv_text(arrow_batch(Row, made)))
    assert text.decode() == plain.getvalue()


@given(st.lists(rows), st.lists(rows))
def test_texts_are_mapped_and_batches_joined_row_by_row(one: list[Row], two: list[Row]) -> None:
    seen: list[str] = []

    def shout(text: str) -> str:
        seen.append(text)
        return text.upper() + "!"

    both = joined([mapped(arrow_batch(Row, some), text=shout) for some in (one, two)])
    assert both.column("text").to_pylist() == [row.text.upper() + "!" for row in one + two]
    assert both.column("transcript").to_pylist() == [row.transcript for row in one + two]
    assert len(seen) == sum(len({row.text for row in some}) for some in (one, two))


def test_a_table_of_its_own_is_harmless_too(tmp_path: Path) -> None:
    row = Row("=1+1", "=1+1", 0, 0.5, False, None, None, None)
    text, parquet = write_table(tmp_path, "made", Row, [row])
    assert text.read_text().splitlines()[1] == "'=1+1,'=1+1,0,0.5,False,,,,"
    assert pyarrow.parquet.read_table(parquet).to_pylist() == [msgspec.structs.asdict(row)]


def test_a_process_that_only_replays_does_not_import_pandas() -> None:
    """It costs each of them a third of a second and 60 MB."""
    code = (
        "import sys\n"
        "from ctxsim.results.columns import FrontierRow\n"
        "from ctxsim.results.frames import arrow_batch\n"
        "rows = [FrontierRow('a', 'any', 1.0, 2.0, None, usd) for usd in (None, 1.5)]\n"
        "memoryview(arrow_batch(FrontierRow, rows).serialize())\n"
        "assert 'pyarrow' in sys.modules and 'pandas' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_column_of_a_run_says_what_it_is() -> None:
    stored = json.loads((ROOT / "results" / "documented-53k" / "run.json").read_text())["columns"]
    assert stored == {name: columns(row) for name, (row, _) in TABLES.items()}
    for row, _ in TABLES.values():
        for annotation in get_type_hints(row, include_extras=True).values():
            assert annotation.__metadata__[1].strip()
