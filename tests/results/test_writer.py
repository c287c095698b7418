"""Result files: whole or as before, one or many."""

from __future__ import annotations

from pathlib import Path

import pandas
import pyarrow.parquet
import pytest
from bench_runs import POLICIES, content
from made_runs import made_run, summary_row
from samples import conversation

from ctxsim.answers.advice.comparison import compared
from ctxsim.cli.report import BY
from ctxsim.errors import CtxsimError
from ctxsim.readers.formats.ctxsim_jsonl import lines
from ctxsim.report.losses import breakdown
from ctxsim.report.page import page_data
from ctxsim.report.tables import policy_rows
from ctxsim.results import read_run
from ctxsim.results.columns import NeedRow
from ctxsim.results.folder import RunFolder
from ctxsim.results.frames import tables_of
from ctxsim.results.writer import RunWriter, _Table
from ctxsim.runs.conduct import conduct
from ctxsim.runs.task import Setting


def test_a_run_in_many_files_reads_like_one(few_logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = list(map(str, sorted(few_logs.iterdir())[:2]))
    setting = Setting("logs", f"Recorded transcripts in {few_logs}", POLICIES)
    once, out = tmp_path / "once", tmp_path / "out"
    conduct(setting, once, paths=given)
    monkeypatch.setattr("ctxsim.results.writer.ROW_GROUP", 10)
    monkeypatch.setattr("ctxsim.results.writer.PART_ROWS", 20)
    monkeypatch.setattr("ctxsim.results.run.HELD_ROWS", 10)
    conduct(setting, out, paths=given)
    parts = sorted(out.glob("calls.parquet/part-*.parquet"))
    # One for each transcript.
    assert len(parts) == 2 and not list(out.rglob("*.tmp"))
    whole = pandas.read_parquet(once / "calls.parquet")
    duckdb, polars = pytest.importorskip("duckdb"), pytest.importorskip("polars")
    for read in (
        pandas.read_parquet(out / "calls.parquet"),
        duckdb.sql(f"from read_parquet('{out}/calls.parquet/*.parquet')").df(),
        polars.read_parquet(out / "calls.parquet").to_pandas(),
    ):
        assert read.astype(str).equals(whole.astype(str))
    many, one = read_run(out), read_run(once)
    assert page_data(many) == page_data(one)
    assert policy_rows(many) == policy_rows(one)
    assert {change.verdict for change in compared(one, many)} == {"same"}
    assert [breakdown(many, by) for by in BY] == [breakdown(one, by) for by in BY]
    # Another run in the same folder is one file again, and nothing of the many is left.
    monkeypatch.undo()
    conduct(setting, out, paths=given)
    assert content(out) == content(once)


def groups(path: Path) -> list[list[int]]:
    """By file of a table, the rows of each of its groups."""
    files = [pyarrow.parquet.read_metadata(one) for one in (sorted(path.iterdir()) if path.is_dir() else [path])]
    return [[one.row_group(n).num_rows for n in range(one.num_row_groups)] for one in files]


def test_rows_wait_for_a_group_and_groups_fill_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctxsim.results.writer.ROW_GROUP", 3)
    info = made_run(tmp_path / "made", {"keep-all": [{}]}).info

    def written(most: int, many: int) -> list[list[int]]:
        monkeypatch.setattr("ctxsim.results.writer.PART_ROWS", most)
        with RunFolder(tmp_path / "run") as held:
            held.begin()
            with RunWriter(held) as writer:
                for n in range(many):
                    need = NeedRow(f"t{n}", n, "strict", "value", 1, "head", "read", 1, 1, "x")
                    writer.write(tables_of({"needs": [need]}), [summary_row(policy="keep-all")])
                writer.finish(info)
            held.clear()
        assert groups(tmp_path / "run" / "summary.parquet") == groups(tmp_path / "run" / "needs.parquet")
        rows = pandas.read_parquet(tmp_path / "run" / "needs.parquet")
        assert rows.call.tolist() == list(range(many))
        return groups(tmp_path / "run" / "needs.parquet")

    # A file ends with the group that fills it. Two files take the place of one, and one that of two.
    assert written(100, 2) == [[2]]
    assert written(6, 11) == [[3, 3], [3, 2]]
    assert written(7, 11) == [[3, 3, 3], [2]]
    assert written(3, 9) == [[3], [3], [3]]
    assert written(9, 9) == [[3, 3, 3]]


def test_a_disk_that_is_full_at_the_end_leaves_the_run_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"\n".join(lines(conversation("one", "two"))))
    out, given = tmp_path / "out", [str(tmp_path / "a.jsonl")]
    conduct(Setting("a", "a", ("keep-all",)), out, paths=given)
    before = {file.name: file.read_bytes() for file in out.iterdir()}
    closed = 0
    close = _Table.close

    def full(self: _Table) -> None:
        nonlocal closed
        closed += 1
        if closed == 3:
            raise OSError(28, "No space left on device")
        close(self)

    monkeypatch.setattr(_Table, "close", full)
    with pytest.raises(CtxsimError, match="No space left on device"):
        conduct(Setting("a", "a", ("drop-all",)), out, paths=given)
    assert {file.name: file.read_bytes() for file in out.iterdir() if file.is_file()} == before
    assert read_run(out).labels == ["keep-all"]
