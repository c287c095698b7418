"""A run as it is read back: tables, figures of its policies, caveats, and what is wrong with it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pyarrow
import pyarrow.parquet
import pytest
from made_runs import made_run

import ctxsim.results
from ctxsim.errors import CtxsimError, InputError, UnknownName
from ctxsim.results import Run, read_run, run
from ctxsim.results.columns import CallRow, DrawRow, NeedRow
from ctxsim.results.frames import arrow_schema
from ctxsim.results.run import NO_AGENT, UNCHECKED
from ctxsim.results.run_info import TABLES, InputInfo, Recorder, Sample

TEXTS = ("status", "reason", "trigger", "cache_break")


def call(transcript: str, policy: str, number: int, sent: int, recorded: int | None = None) -> CallRow:
    plain: dict[str, Any] = {name: "" if name in TEXTS else 0 for name in CallRow.__struct_fields__}
    known = {"transcript": transcript, "policy": policy, "call": number, "tokens_sent": sent}
    return CallRow(**{**plain, **known, "tokens_recorded": recorded})


def need(transcript: str, number: int) -> NeedRow:
    return NeedRow(transcript, number, "strict", "value", 1, "head", "read", 1, 1, "x")


CALLS = [call("t0", "keep-all", 1, 10, 11), call("t0", "keep-all", 2, 20), call("t1", "keep-all", 1, 30, 33),
         call("t0", "mask:keep=1", 1, 5), call("t1", "mask:keep=1", 1, 6)]  # fmt: skip
ROWS: dict[str, list[dict[str, Any]]] = {
    "keep-all": [{"calls": 2, "tokens_sum": 30}, {"calls": 1, "tokens_sum": 30}],
    "mask:keep=1": [{"calls": 1, "tokens_sum": 5}, {"calls": 1, "tokens_sum": 6, "survival": 0.5}],
    "fifo": [{"calls": 2}],
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Run:
    tables = {"calls": CALLS, "needs": [need("t0", 1), need("t0", 2), need("t1", 1)]}
    return made_run(tmp_path_factory.mktemp("read") / "run", ROWS, tables=tables, shown={"mask:keep=1": "mask"})


def test_a_table_has_the_rows_and_columns_that_are_asked_for(made: Run) -> None:
    assert made.table("needs").to_dict("list") == {
        "transcript": ["t0", "t0", "t1"], "call": [1, 2, 1], "detector": ["strict"] * 3, "kind": ["value"] * 3,
        "age": [1] * 3, "depth": ["head"] * 3, "tool": ["read"] * 3, "item": [1] * 3, "sources": [1] * 3,
        "atom": ["x"] * 3,
    }  # fmt: skip
    found = made.table("calls", "tokens_sent", "call", transcript=["t0"], policy=["keep-all", "fifo"])
    assert found.to_dict("list") == {"tokens_sent": [10, 20], "call": [1, 2]}
    assert found.equals(made.table("calls", "tokens_sent", "call", transcript="t0", policy="keep-all"))
    for asked, told in (
        (lambda: made.table("cals"), r"unknown table 'cals'; did you mean calls\?"),
        (lambda: made.table("calls", "token_sent"), "unknown column of calls 'token_sent'; did you mean tokens_sent"),
        (lambda: made.table("needs", policy=["x"]), "unknown column of needs 'policy'"),
    ):
        with pytest.raises(UnknownName, match=told):
            asked()
    assert made.table("calls", policy=["fifo"]).to_dict("list")["call"] == []
    # A table that was not asked for has no rows.
    assert list(made.table("draws").columns) == list(TABLES["draws"][0].__struct_fields__)
    assert list(made.table("draws", "draw", "policy").columns) == ["draw", "policy"]
    assert (made.rows("calls"), made.rows("needs"), made.rows("events")) == (5, 3, 0)
    assert [batch.to_dict("list") for batch in made.batches("calls", ["call", "policy"])] == [
        {"call": [1, 2, 1, 1, 1], "policy": ["keep-all"] * 3 + ["mask:keep=1"] * 2}
    ]


def test_draws_are_there_where_they_were_asked_for(tmp_path: Path) -> None:
    draw = DrawRow("t0", "keep-all", 1, 2, None, 30)
    found = made_run(tmp_path / "run", {"keep-all": [{}]}, tables={"draws": [draw]})
    assert found.table("draws", "draw", "inserted").to_dict("list") == {"draw": [1], "inserted": [2]}
    assert found.lacking["draws"] == [] and (tmp_path / "run" / "draws.csv").read_text().count("\n") == 2
    # Another run in its folder that asked for none has none.
    again = made_run(tmp_path / "run", {"keep-all": [{}]})
    assert "draws" not in again.lacking and not list((tmp_path / "run").glob("draws.*"))


def test_figures_are_told_of_policies_with_rows_of_every_transcript(made: Run) -> None:
    assert (made.labels, made.partial, made.transcripts) == (["keep-all", "mask:keep=1"], {"fifo": 1}, 2)
    assert (made.nothing, made.calls, made.ended_early) == ("keep-all", 3, {})
    assert [made.shown(label) for label in ("keep-all", "mask:keep=1", "other")] == [
        "keep-all (bound)",
        "mask",
        "other",
    ]
    assert made.of("mask:keep=1").tokens_sum.tolist() == [5, 6] and made.of("fifo").transcript.tolist() == ["t0"]
    assert len(made.of("nonsense")) == 0 and list(made.of("nonsense").columns) == list(made.summary.columns)
    assert made.frame() is made.summary and len(made.summary) == 5
    assert made.knows("survival") and not made.knows("survival_loose")
    assert made.problems() == []


def test_a_long_summary_is_read_policy_by_policy(made: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    held = {label: made.of(label) for label in (*made.labels, "fifo")}
    assert run.HELD_ROWS == 1_000_000
    read = Run.table
    for most, apart in ((5, False), (4, True)):
        monkeypatch.setattr(run, "HELD_ROWS", most)
        again = read_run(made.folder)
        asked: list[Any] = []
        monkeypatch.setattr(Run, "table", lambda *a, asked=asked, **b: asked.append(b) or read(*a, **b))
        for label, rows in held.items():
            for _ in range(2):
                assert again.of(label).reset_index(drop=True).equals(rows.reset_index(drop=True))
        assert asked == ([{"policy": [label]} for label in held] if apart else [{}])


def test_a_policy_is_named_by_its_label(made: Run) -> None:
    assert made.label("keep-all") == "keep-all"
    with pytest.raises(CtxsimError, match="policy fifo has results of 1 of 2 transcripts"):
        made.label("fifo")
    with pytest.raises(UnknownName, match=r"has no policy 'mask:keep=2'; did you mean mask:keep=1\?"):
        made.label("mask:keep=2")
    with pytest.raises(UnknownName, match=r"has no policy 'zzz'; it has keep-all \(bound\), mask$"):
        made.label("zzz")
    failed = InputInfo("a", "", 1, 1, failed=("a: mine.py:Mine: before_call raised KeyError", "b: more"))
    some = Run(made.folder, msgspec.structs.replace(made.info, inputs=(failed,)))
    with pytest.raises(UnknownName, match=r", mask; failed: a: mine\.py:Mine: before_call raised KeyError$"):
        some.label("zzz")
    with pytest.raises(CtxsimError, match=r"policy fifo has results of 1 of 2 transcripts; failed: a: mine\.py:Mine"):
        some.label("fifo")
    failed = msgspec.structs.replace(failed, failed=(*failed.failed, "b: fifo: before_call must return a view"))
    some = Run(made.folder, msgspec.structs.replace(made.info, inputs=(failed,)))
    with pytest.raises(CtxsimError, match="of 1 of 2 transcripts; failed: b: fifo: before_call must"):
        some.label("fifo")
    # From 60 characters of parameters on the name alone is told.
    with pytest.raises(UnknownName, match="has no policy 'zzz:" + "x" * 59 + "'"):
        made.label("zzz:" + "x" * 59)
    with pytest.raises(UnknownName, match="has no policy 'zzz';"):
        made.label("zzz:" + "x" * 60)


def test_a_real_agent_that_ended_early_is_told(tmp_path: Path) -> None:
    rows = {"keep-all": [{"calls": 1_500}] * 2, "observed:x": [{"calls": 1_500}, {"calls": 1_499}],
            "observed:y": [{"calls": 1_500}] * 2, "mask": [{"calls": 7}] * 2}  # fmt: skip
    found = made_run(tmp_path / "run", rows)
    assert found.ended_early == {"observed:x": 2_999}
    assert found.caveats == (
        "observed:x ended after 2,999 of 3,000 calls: its figures are of these, it is no candidate.",
    )


SAMPLE = Sample(2, 7, "m", "calls", 1_234, 5, 6, 7, None)


@pytest.mark.parametrize(
    ("rows", "told", "caveats"),
    [
        ({}, {}, ()), ({"as-set": [{}, {}]}, {}, (NO_AGENT,)), ({"as-set": [{}]}, {}, None),
        ({"as-set": [{}, {}]}, {"recorders": (Recorder("t0", "pi"),)}, ()),
        ({}, {"complete": False, "inputs": (InputInfo("a", "b", 1, 1),) * 1_001},
         ("Stopped: figures are of the 1,001 sources that were done; bench --resume goes on.",)),
        ({}, {"sample": SAMPLE},
         ("Sampled: 2 of 1,234 transcripts, drawn by calls with seed 7. Amounts are estimates of this folder, ranges "
          "their sampling error: no forecast.",)),
        ({"mask:keep=1": [{}]}, {"shown": {"mask:keep=1": "mask"}},
         ("Left out: mask, which failed on 1 of 2 transcripts.",)),
        ({"mask:keep=1": []}, {}, ("Left out: mask:keep=1, which failed on 2 of 2 transcripts.",)),
    ],
)  # fmt: skip
def test_what_figures_leave_out_is_a_line_each(
    rows: dict[str, Any], told: dict[str, Any], caveats: tuple[str, ...] | None, tmp_path: Path
) -> None:
    found = made_run(tmp_path / "run", {"keep-all": [{}, {}], **rows}, **told)
    if caveats is None:
        caveats = ("Left out: as-set, which failed on 1 of 2 transcripts.",)
    assert found.caveats == caveats


def copied(made: Run, folder: Path, change: Callable[[dict[str, Any]], object] = lambda info: None,
           table: str = "", with_: Callable[[pyarrow.Table], pyarrow.Table] = lambda table: table) -> Path:  # fmt: skip
    """A copy without checksums, with another description or another table."""
    shutil.copytree(made.folder, folder)
    info = json.loads((folder / "run.json").read_bytes())
    del info["files"], info["digest"]
    change(info)
    (folder / "run.json").write_text(json.dumps(info))
    if table:
        path = folder / f"{table}.parquet"
        pyarrow.parquet.write_table(with_(pyarrow.parquet.read_table(path)), path)
    return folder


def test_calls_and_summary_have_to_agree(made: Run, tmp_path: Path) -> None:
    fewer = read_run(copied(made, tmp_path / "a", table="calls", with_=lambda table: table.slice(0, 4)))
    assert fewer.problems() == ["mask: calls and summary differ in their number of calls"]

    def more(table: pyarrow.Table) -> pyarrow.Table:
        at = table.schema.get_field_index("tokens_sent")
        return table.set_column(at, table.schema.field(at), pyarrow.array([10, 21, 30, 5, 6]))

    other = read_run(copied(made, tmp_path / "b", table="calls", with_=more))
    assert other.problems() == ["keep-all: calls and summary differ in their tokens"]
    assert other.caveats[0] == UNCHECKED


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda info: info.update(schema=3), "has schema 3, this version reads 4; run bench again"),
        (lambda info: info.update(policies=[]), "holds no replayed call"),
        (lambda info: info.update(bounds=7), r"run\.json: is damaged, run bench again"),
    ],
)
def test_a_run_of_another_version_or_of_nothing_is_none(
    made: Run, tmp_path: Path, change: Callable[[Any], None], error: str
) -> None:
    with pytest.raises(InputError, match=error):
        read_run(copied(made, tmp_path / "run", change))


def test_what_is_no_run_is_told_with_what_is_missing(made: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="file: is a file; name the folder"):
        read_run(tmp_path / "file")
    with pytest.raises(InputError, match=r"run\.json is missing; name a folder"):
        read_run(tmp_path)
    folder = copied(made, tmp_path / "run")
    (folder / "needs.parquet").unlink()
    with pytest.raises(InputError, match=r"run: is no finished run: needs\.parquet is missing; name a folder"):
        read_run(folder)
    (folder / "needs.parquet").mkdir()
    with pytest.raises(InputError, match=r"needs\.parquet: holds no file; run bench again"):
        read_run(folder)


def test_a_column_that_not_every_file_has_is_lacking(made: Run, tmp_path: Path) -> None:
    folder = copied(made, tmp_path / "run")
    table = pyarrow.parquet.read_table(folder / "needs.parquet")
    (folder / "needs.parquet").unlink()
    (folder / "needs.parquet").mkdir()
    for number, part in enumerate((table.slice(0, 2), table.slice(2).drop_columns(["tool"]))):
        pyarrow.parquet.write_table(part, folder / "needs.parquet" / f"part-{number:05}.parquet")
    found = read_run(folder)
    assert found.lacking["needs"] == ["tool"] and found.lacking["calls"] == []
    rows = found.table("needs", "tool", "call")
    assert list(rows.columns) == ["tool", "call"] and rows.tool.isna().all() and rows.call.tolist() == [1, 2, 1]
    assert [list(batch.columns) for batch in found.batches("needs", ["tool", "call"])] == [["tool", "call"]] * 2
    assert found.rows("needs") == 3


@pytest.mark.parametrize(("names", "fits"), [(("transcript", "call"), True), (("item", "tool"), True),
                                             (("transcript", "policy"), False), (("nonsense",), False)])  # fmt: skip
def test_a_table_with_columns_of_another_is_none(made: Run, tmp_path: Path, names: tuple[str, ...], fits: bool) -> None:
    known = {field.name: field for field in arrow_schema(NeedRow)}
    other = pyarrow.schema([known.get(name, pyarrow.field(name, pyarrow.string())) for name in names]).empty_table()
    folder = copied(made, tmp_path / "run", table="needs", with_=lambda table: other)
    if fits:
        assert set(read_run(folder).lacking["needs"]) == set(NeedRow.__struct_fields__) - set(names)
    else:
        with pytest.raises(InputError, match=r"needs\.parquet: has other columns than that table"):
            read_run(folder)


def test_who_writes_need_not_load_what_reads() -> None:
    assert ctxsim.results.Run is Run and ctxsim.results.read_run is read_run
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        ctxsim.results.nonsense  # noqa: B018
    assert msgspec.structs.asdict(SAMPLE)["drawn"] == ()
