"""Finished runs of other versions: what they don't have is missing and never zero, what nobody knows is ignored."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pandas
import pyarrow
import pyarrow.parquet
import pytest
from command_line import ctxsim

import ctxsim as api
from ctxsim.answers.advice.pooled import figures_of
from ctxsim.report.cells import policy_sheet
from ctxsim.report.tables import policy_rows
from ctxsim.results import TABLES, read_run
from ctxsim.results.run import UNCHECKED
from ctxsim.results.run_info import WHERE_ASKED

OLDER = {
    "calls": ["reason", "tokens_rewritten"],
    "summary": ["tokens_rewritten", "survival_carried"],
    "losses": ["tool"],
}
"""Columns that an older version may not have had."""


def changed(run: Path, out: Path, change: Callable[[str, pyarrow.Table], pyarrow.Table]) -> Path:
    """A copy of a run with other tables, and without checksums, as earlier versions wrote it."""
    shutil.copytree(run, out)
    info = msgspec.json.decode((out / "run.json").read_bytes())
    del info["files"], info["digest"]
    (out / "run.json").write_bytes(msgspec.json.encode(info))
    for name in TABLES.keys() - WHERE_ASKED:
        path = out / f"{name}.parquet"
        pyarrow.parquet.write_table(change(name, pyarrow.parquet.read_table(path)), path)
    return out


@pytest.fixture(scope="module")
def older(undisturbed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run without some columns. Nobody writes into it."""
    return changed(
        undisturbed,
        tmp_path_factory.mktemp("earlier") / "older",
        lambda name, table: table.drop_columns(OLDER.get(name, [])),
    )


def test_a_column_that_an_older_run_lacks_is_missing_and_all_else_is_read(undisturbed: Path, older: Path) -> None:
    before, now = read_run(undisturbed), read_run(older)
    assert now.lacking == {name: OLDER.get(name, []) for name in TABLES.keys() - WHERE_ASKED}
    assert not any(before.lacking.values())
    for name in TABLES.keys() - WHERE_ASKED:
        whole, found = before.table(name), now.table(name)
        assert list(found.columns) == list(whole.columns) == list(TABLES[name][0].__struct_fields__)
        lacking = OLDER.get(name, [])
        assert found[lacking].isna().all(axis=None) and len(found) == len(whole)
        pandas.testing.assert_frame_equal(found.drop(columns=lacking), whole.drop(columns=lacking))
    (batch,) = now.batches("summary", ["survival_carried", "policy"])
    assert batch.survival_carried.isna().all() and batch.policy.notna().all()
    assert not now.knows("survival_carried") and before.knows("survival_carried")
    assert now.frame().survival_carried.isna().all() and now.labels == before.labels
    written, kept = (
        [cell.value for row in policy_sheet(now, figures_of(now), now.labels, [name]).rows for cell in row[1:]]
        for name in ("rewritten", "kept")
    )
    assert set(written) == {None}, "missing is not zero"
    assert policy_rows(now) == policy_rows(before) and any(kept)


@pytest.mark.parametrize(
    "line",
    [
        "report older --out page.html", "report older --only pictures --out charts", "report older --only losses",
        "compare older older", "check run older",
    ],
)  # fmt: skip
def test_every_command_takes_an_older_run(line: str, older: Path) -> None:
    done = ctxsim(*line.split(), cwd=older.parent, drawn=True)
    assert (done.returncode, (done.stdout + done.stderr).count(UNCHECKED) <= 1) == (0, True), done.stderr
    assert set(done.stderr.splitlines()) <= {f"ctxsim: {UNCHECKED}"}


def test_compared_with_a_new_run_what_one_lacks_is_in_no_row(undisturbed: Path, tmp_path: Path) -> None:
    def without(name: str, table: pyarrow.Table) -> pyarrow.Table:
        return table.drop_columns(["survival", "survival_low"] if name == "summary" else [])

    older = changed(undisturbed, tmp_path / "older", without)
    found, whole = api.compare(older, undisturbed), api.compare(undisturbed, undisturbed)
    assert {one.column for one in whole} - {one.column for one in found} == {"survival"}
    assert {one.verdict for one in found} == {"same"}


def test_a_column_that_nobody_knows_is_ignored(undisturbed: Path, tmp_path: Path) -> None:
    def more(name: str, table: pyarrow.Table) -> pyarrow.Table:
        return table.append_column("of_tomorrow", pyarrow.array([7] * len(table)))

    newer, now = read_run(changed(undisturbed, tmp_path / "newer", more)), read_run(undisturbed)
    assert not any(newer.lacking.values())
    for name in TABLES.keys() - WHERE_ASKED:
        pandas.testing.assert_frame_equal(newer.table(name), now.table(name))
