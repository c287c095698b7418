"""Damaged run folders: one line each, from every command that reads runs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pandas
import pyarrow.parquet
import pytest
from bench_runs import write
from command_line import ctxsim
from samples import ASK, TASK, chat

from ctxsim.answers.advice.pooled import Pooled
from ctxsim.results import read_run
from ctxsim.results.run_info import TABLES, WHERE_ASKED


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("damaged")
    write(folder / "logs", chat(TASK, ASK, ("tool_result", "zebra_one " * 50), ("assistant", "zebra_one")), "=1+1")
    (folder / "logs" / "=1+1.jsonl").rename(folder / "logs" / "$x_{|a$ `b.jsonl")
    done = ctxsim("bench", "logs", "--policy", "keep-all", "--policy", "mask:keep=0", "--out", "run", cwd=folder)
    assert done.returncode == 0, done.stderr
    # As of a version that wrote no checksums, which would tell of any damage before a table is read.
    info = json.loads((folder / "run" / "run.json").read_bytes())
    del info["files"], info["digest"]
    (folder / "run" / "run.json").write_text(json.dumps(info))
    return folder


def damages(folder: Path) -> list[tuple[str, bytes | None]]:
    """A file and what it holds instead; None: a folder of that name."""
    tables = [f"{name}.parquet" for name in TABLES if name not in WHERE_ASKED]
    return [
        *(("run.json", text) for text in (b"", b"{}", b"[" * 99_999, b"\xff\xfe", b'{"schema": "x"}', b"null")),
        *((name, data) for name in tables for data in (b"", b"PAR1", b"x" * 500, None)),
        *((name, (folder / "run" / other).read_bytes()) for name, other in zip(tables, reversed(tables), strict=True)),
    ]


def test_damage_is_a_line(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made / "run", tmp_path / "good")
    for name, data in damages(made):
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        shutil.copytree(made / "run", tmp_path / "run")
        path = tmp_path / "run" / name
        path.unlink()
        if data is None:
            path.mkdir()
        else:
            path.write_bytes(data)
        for line in ("check run run", "report run --only losses", "compare good run", "report run --only pictures",
                     "report run"):  # fmt: skip
            command = line.split()
            done = ctxsim(*command, cwd=tmp_path, drawn=True)
            assert done.returncode == 1 and done.stderr.count("\n") == 1, (name, data, command, done.stderr)
            assert len(done.stderr) < 2000 and "run" in done.stderr


@pytest.mark.parametrize("name", ["summary", "items"])
def test_text_that_is_no_utf8_is_told_before_anything_uses_it(name: str, made: Path, tmp_path: Path) -> None:
    file = shutil.copytree(made / "run", tmp_path / "run") / f"{name}.parquet"
    table = pyarrow.parquet.read_table(file)
    at = next(at for at, field in enumerate(table.schema) if field.type == pyarrow.string())
    torn = pyarrow.array([b"\x1b[31mX\xff"] * len(table)).view(pyarrow.string())
    pyarrow.parquet.write_table(table.set_column(at, table.schema.field(at), torn), file)
    done = ctxsim("report", "run", "--out", "page.html", cwd=tmp_path)
    assert done.returncode == 1 and "\x1b" not in done.stderr
    assert done.stderr.startswith(f"ctxsim: run/{name}.parquet: is damaged, run bench again: ")
    assert done.stderr.count("\n") == 1 and "Invalid UTF8" in done.stderr


def test_names_are_no_formulas_in_csv_and_as_they_are_in_parquet(made: Path) -> None:
    assert pandas.read_csv(made / "run" / "summary.csv").transcript.unique().tolist() == ["'=1+1"]
    assert pandas.read_parquet(made / "run" / "summary.parquet").transcript.unique().tolist() == ["=1+1"]


def test_dollars_and_pipes_in_names_break_no_picture_and_no_table(made: Path, tmp_path: Path) -> None:
    odd = tmp_path / "$\\frac{$ |@@DATA@@|`x``"
    shutil.copytree(made / "logs", odd)
    done = ctxsim("bench", odd.name, "--policy", "keep-all", "--out", "run", "--format", "md", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (odd / "p|`o`.py").write_text(
        "from dataclasses import dataclass\nfrom ctxsim.policies import Policy\n\n"
        "@dataclass\nclass Mine(Policy):\n    pass\n"
    )
    done = ctxsim("bench", str(odd), "--policy", f"{odd}/p|`o`.py:Mine", "--out", "run2", "--format", "md",
                  cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = [row for row in done.stdout.splitlines() if row.startswith("|")]
    bars = [len(row.replace("\\|", "").split("|")) for row in rows]
    assert len(set(bars)) == 1 and any("```" in row for row in rows)
    assert ctxsim("report", "run2", "--only", "pictures", cwd=tmp_path, drawn=True).returncode == 0
    assert ctxsim("report", "run2", cwd=tmp_path).returncode == 0
    page = (tmp_path / "run2" / "report.html").read_text()
    assert "|@@DATA@@|" in page and "<title>Recorded transcripts –" in page


def test_what_a_table_says_of_itself_to_pandas_is_not_read(made: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(made / "run", tmp_path / "run")
    table = pyarrow.parquet.read_table(folder / "summary.parquet")
    said = json.dumps({"index_columns": ["cost_usd"], "columns": [], "column_indexes": []})
    pyarrow.parquet.write_table(table.replace_schema_metadata({"pandas": said}), folder / "summary.parquet")
    assert read_run(folder).summary.equals(read_run(made / "run").summary)


def test_two_rows_of_one_replay_are_damage(made: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(made / "run", tmp_path / "run")
    table = pyarrow.parquet.read_table(folder / "summary.parquet")
    pyarrow.parquet.write_table(pyarrow.concat_tables([table, table]), folder / "summary.parquet")
    done = ctxsim("compare", str(made / "run"), "run", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        1, "ctxsim: run: is damaged, run bench again: transcript holds what no run has\n"
    )  # fmt: skip


def test_limits_of_a_survival_that_is_not_known_are_not_known(made: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(made / "run", tmp_path / "run")
    rows = pandas.read_parquet(folder / "summary.parquet")
    rows[["survival", "survival_low", "survival_high"]] = [None, 0.25, 0.5]
    schema = pyarrow.parquet.read_schema(folder / "summary.parquet")
    pyarrow.parquet.write_table(pyarrow.Table.from_pandas(rows, schema), folder / "summary.parquet")
    for figures in Pooled(read_run(folder)).all.values():
        assert (figures.kept, figures.kept_low, figures.kept_high) == (None, None, None)
