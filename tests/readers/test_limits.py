"""Limits on what is read: in megabytes, which somebody can set."""

from __future__ import annotations

import gzip
import io
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from ctxsim.errors import InputError
from ctxsim.readers.source import Source, limits
from ctxsim.readers.source.limits import Pace, check_expansion, check_memory, most_bytes, read_all, too_large
from ctxsim.readers.source.tables import parquet_rows

TOO_MUCH = pytest.raises(InputError, match="expands to more than 100 times its size")


@pytest.mark.parametrize(("text", "count"), [("1", 1_000_000), ("0.5", 500_000), ("2000", 2_000_000_000)])
def test_megabytes_are_millions_of_bytes(monkeypatch: pytest.MonkeyPatch, text: str, count: int) -> None:
    monkeypatch.setenv(limits.VARIABLE, text)
    assert most_bytes() == count


@pytest.mark.parametrize("text", ["0", "-1", "1e9", "nan", "much", ""])
def test_what_is_no_number_of_megabytes_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(limits.VARIABLE, text)
    with pytest.raises(InputError, match="not a number of megabytes"):
        most_bytes()


def test_exactly_the_limit_is_read_and_a_byte_more_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(limits.VARIABLE, "0.00001")
    assert read_all(io.BytesIO(b"x" * 10), "pipe") == b"x" * 10
    with pytest.raises(InputError, match=r"^pipe: is larger than 0 MB"):
        read_all(io.BytesIO(b"x" * 11), "pipe")
    line = b"123456789\n"
    assert list(Source("x", data=line + line).lines()) == [(1, line[:-1]), (2, line[:-1])]
    with pytest.raises(InputError, match=r"^x:2: is larger"):
        list(Source("x", data=line + b"1" + line).lines())
    monkeypatch.setenv(limits.VARIABLE, "3000")
    assert "is larger than 3,000 MB decompressed" in str(too_large("x"))


def test_each_limit_is_as_the_docs_say() -> None:
    assert (limits.RATIO, limits.EXPANDED, limits.MOST_FILES) == (100, 1_000_000, 1_000_000)
    assert (limits.MOST_DEEP, limits.MOST_STARS) == (100, 3)
    assert (limits.SOURCE_BYTES, limits.SOURCE_SECONDS, limits.SECONDS_PER_MB) == (20_000_000_000, 600.0, 1.0)


@pytest.mark.parametrize("mark", limits.MEMORY)
def test_what_json_takes_in_memory_is_a_dozen_times_its_limit(mark: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """By default 1.2 GB: 75 bytes for each comma, 100 for each bracket, 200 for each brace."""
    most = 1_200_000_000 // {b",": 75, b"[": 100, b"{": 200}[mark]
    check_memory(b"x" * 60_000_000 + mark * (most // 100), "x")
    monkeypatch.setenv(limits.VARIABLE, "1")
    check_memory(mark * (most // 100), "x")
    with pytest.raises(InputError, match=r"^x: would take more than 12 MB of memory; CTXSIM_MAX_MB sets the limit$"):
        check_memory(mark * (most // 100 + 1), "x")


def test_dense_messages_up_to_the_limit_are_a_recording() -> None:
    check_memory(b'{"role":"user","content":"hi"},' * (100_000_000 // 31), "x")


@pytest.mark.parametrize(("expanded", "compressed"), [(1_000_000, 1), (1_000_000, 10_000), (1_000_100, 10_001)])
def test_a_source_may_expand_a_hundredfold_and_to_a_megabyte(expanded: int, compressed: int) -> None:
    check_expansion(expanded, compressed, "x")
    with pytest.raises(InputError, match=r"^x: expands to more than 100 times its size"):
        check_expansion(expanded + 1, compressed, "x")


@pytest.mark.parametrize(("size", "rows", "told"), [(1_000_000, 900, nullcontext()), (1_000_001, 1_001, TOO_MUCH)])
def test_what_a_file_expands_to_is_added_up(size: int, rows: int, told: Any, tmp_path: Path) -> None:
    packed, table = tmp_path / "x.jsonl.gz", tmp_path / "x.parquet"
    packed.write_bytes(gzip.compress(b" " * size))
    # A row counts for a kilobyte, beside its values.
    pyarrow.parquet.write_table(pyarrow.table({"a": pyarrow.nulls(rows)}), table)
    for read in (Source("x", packed).content, lambda: list(parquet_rows(Source("x", table), ["a"]))):
        with told:
            read()


def test_how_long_and_how_much_a_source_may_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """600 seconds, and one more for each megabyte: 602.5 for 2,500,000 bytes."""
    now = 1_000.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    pace, large = Pace("x"), Pace("y")
    pace.took(1_500_000)
    now = 1_602.5
    pace.took(1_000_000)
    now = 1_602.6
    with pytest.raises(InputError, match=r"^x: took longer than 600 s to read: give it in parts$"):
        pace.took(0)
    now = 1_000.0
    large.took(20_000_000_000)
    with pytest.raises(InputError, match=r"^y: is larger than 20 GB: give it in parts$"):
        large.took(1)
