"""Rows as columns: equal to what Arrow and Python's CSV writer make of each value by itself."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import msgspec
import pyarrow.parquet
from hypothesis import example, given
from hypothesis import strategies as st
from project import ROOT

from ctxsim.results.columns_page import column_rows
from ctxsim.results.compactions import COMPACTION_TABLES
from ctxsim.results.csv_text import NAMED_BY_OTHERS, csv_header, csv_text, harmless, write_table
from ctxsim.results.frames import arrow_batch, arrow_schema, joined, mapped
from ctxsim.results.run_info import TABLES, columns


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


# A lone \r is quoted by Python's writer only from 3.13 on.
texts = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=6) | st.sampled_from(
    ["", "=1+1", 'a "b"', "a,b", "é\nx", "same"]
)
whole = st.integers(-(2**63), 2**63 - 1)
floats = st.floats() | st.integers(-(10**9), 10**9).map(lambda n: n / 1e6)
rows = st.builds(
    Row, texts, texts, whole, floats, st.booleans(), st.none() | texts, st.none() | whole, st.none() | floats
)
SPELLED = [
    Row("-", "", 0, usd, True, None, None, None)
    for usd in (
        0.0,
        -0.0,
        1e-4,
        9.9e-5,
        -9.9e-5,
        float("-inf"),
        1e-5,
        9999999999.5,
        12345678901.5,
        1e10,
        1.5e10,
        1e15,
        1e16,
        1e22,
        5e-324,
        1e308,
        12.0,
    )
]


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
        writer.writerow([harmless(cell) if name in NAMED_BY_OTHERS else cell
                         for name, cell in msgspec.structs.asdict(row).items()])  # fmt: skip
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
    assert text.read_text().splitlines()[1] == "'=1+1,=1+1,0,0.5,False,,,"
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


def test_every_column_of_every_table_is_listed() -> None:
    tables = {name: row for name, (row, _) in TABLES.items()} | COMPACTION_TABLES
    listed = [line[:2] for line in column_rows()]
    assert listed == [(name, column) for name, row in tables.items() for column in row.__struct_fields__]
