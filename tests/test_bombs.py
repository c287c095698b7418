"""Small files that would fill the memory or the day: each a line within seconds, and what lies beside them is read."""

from __future__ import annotations

import gzip
import json
import os
import resource
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import not_drawn
import pyarrow
import pyarrow.parquet
import pytest
from bench_runs import write
from command_line import ctxsim
from project import ROOT
from samples import ASK, TASK, chat

MOST_S = 10
MOST_BYTES = 1_000_000_000
LINE = b'{"role":"user","content":"hello"}\n'


def zstd(data: bytes, times: int) -> bytes:
    """Zstandard frames of so many times the same data."""
    sink = pyarrow.BufferOutputStream()
    with pyarrow.CompressedOutputStream(sink, "zstd") as stream:
        for _ in range(times):
            stream.write(data)
    return bytes(sink.getvalue())


def zipped(path: Path, members: int, data: bytes) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for number in range(members):
            archive.writestr(f"{number}.jsonl", data)


def parquet(path: Path, rows: int) -> None:
    message = [{"role": "user", "content": "x" * 2_000}]
    first = pyarrow.array([0] * rows, pyarrow.int32())
    values = {"instance_id": ["a"], "messages": [json.dumps(message)]}
    table = {name: pyarrow.DictionaryArray.from_arrays(first, one) for name, one in values.items()}
    pyarrow.parquet.write_table(pyarrow.table(table), path, compression="zstd")


def deep(path: Path) -> None:
    path.write_bytes(b'{"messages":' + b"[" * 100_000 + b"]" * 100_000 + b"}")


SOURCES: dict[str, Callable[[Path], object]] = {
    "lines.jsonl.zst": lambda path: path.write_bytes(zstd(LINE * 10_000, 300)),
    "one-line.json.zst": lambda path: path.write_bytes(zstd(b"[[],[]," * 10_000, 3_000)),
    "lines.jsonl.gz": lambda path: path.write_bytes(gzip.compress(LINE * 3_000_000, 1)),
    "many.zip": lambda path: zipped(path, 6, LINE * 1_000_000),
    "rows.parquet": lambda path: parquet(path, 50_000),
    "nested.json": deep,
    "values.json": lambda path: path.write_bytes(b'{"messages":[' + b"[]," * 15_000_000 + b"[]]}"),
    "values.jsonl": lambda path: path.write_bytes(LINE + LINE + b"[" + b"{}," * 9_000_000 + b"{}]\n"),
    "number.json": lambda path: path.write_bytes(b'{"messages":[{"role":' + b"1" * 20_000 + b"}]}"),
}

NOTED = ("values.jsonl", "number.json")
"""Of these a line, or the file, is left out with a note."""

TOML = {
    "nested": b"a = " + b"[" * 100_000, "number": b"window = " + b"1" * 20_000, "dots": b"a" + b".a" * 50_000 + b" = 1",
    "header": b"[a" + b".a" * 50_000 + b"]", "large": b"#" * 1_000_001,
}  # fmt: skip


def run(line: str, folder: Path) -> tuple[int, list[str], float]:
    """A command in a process that may have 1 GB: its status, lines of errors and seconds of CPU."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-P", not_drawn.__file__, *line.split()], cwd=folder, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}, timeout=120, preexec_fn=limited,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (
        done.returncode,
        done.stderr.splitlines(),
        after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
    )


NOTING = "rows.parquet"
"""Of this are notes, before which those of others aren't shown: it lies in a folder of its own."""


@pytest.mark.parametrize("names", [tuple(sorted(SOURCES.keys() - {NOTING})), (NOTING,)], ids="+".join)
def test_a_bomb_is_a_line_and_the_rest_is_read(names: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    for name in names:
        SOURCES[name](tmp_path / "logs" / name)
    write(tmp_path / "logs", chat(TASK, ASK, ("tool_result", "word " * 50), ("assistant", "done")), "good")
    status, errors, seconds = run("bench logs --policy keep-all --jobs 1 --out out", tmp_path)
    told = [sum(f"{name}:" in line for line in errors) for name in names]
    assert (status, told) == (int(not set(names) <= set(NOTED)), [1] * len(names)), errors
    assert seconds < MOST_S and not any("Traceback" in line or "MemoryError" in line for line in errors), errors
    assert (tmp_path / "out" / "summary.csv").read_text().count("\n") == 2


@pytest.mark.parametrize("kind", TOML)
@pytest.mark.parametrize("file", ["ctxsim.toml", "pyproject.toml", "scenario.toml", "models.toml", "vendor.toml"])
def test_a_bomb_in_a_file_of_settings_is_a_line(file: str, kind: str, tmp_path: Path) -> None:
    (tmp_path / file).write_bytes(TOML[kind] + b"\n[tool.ctxsim]\n" * (file == "pyproject.toml"))
    line = {
        "scenario.toml": "bench --scenario scenario.toml", "vendor.toml": "check vendor vendor.toml",
        "models.toml": "bench --scenario text-only --model models.toml",
    }.get(file, "bench --scenario text-only")  # fmt: skip
    began = time.monotonic()
    done = ctxsim(*line.split(), cwd=tmp_path)
    assert (done.returncode != 0, done.stderr.count("\n"), done.stdout) == (True, 1, ""), done.stderr
    assert file in done.stderr and time.monotonic() - began < MOST_S


@pytest.mark.parametrize("file", ["ctxsim.toml", "pyproject.toml"])
def test_settings_are_no_pipe_and_no_device(file: str, tmp_path: Path) -> None:
    for make in (lambda path: os.mkfifo(path), lambda path: path.symlink_to("/dev/zero")):
        make(tmp_path / file)
        done = ctxsim("bench", "--scenario", "text-only", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (
            1, f"ctxsim: {tmp_path / file}: is a pipe, a device or a socket, no file\n"
        )  # fmt: skip
        (tmp_path / file).unlink()


def test_somebody_elses_broken_project_file_disturbs_nobody(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_bytes(TOML["dots"])
    done = ctxsim("bench", "--scenario", "text-only", "--policy", "keep-all", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_pictures_are_drawn_whatever_stands_in_a_matplotlibrc_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "matplotlibrc").write_bytes(b"text.usetex: True\nfont.size: \xff\n")
    draws = (
        "from pathlib import Path; from ctxsim.report.figure import new_figure, save; "
        "save(new_figure()[0], Path('a.png'))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", draws], cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "") and (tmp_path / "a.png").is_file()


@pytest.mark.parametrize("grid", ["mask:keep=1..999999999@999999999", "mask:keep=1..2@999999999,batch=1..2@2"])
def test_a_grid_of_too_many_settings_says_how_many(grid: str, tmp_path: Path) -> None:
    began = time.monotonic()
    done = ctxsim("sweep", "--scenario", "text-only", "--policy", grid, cwd=tmp_path)
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and time.monotonic() - began < 5
    assert "has 999,999,999 settings or more; at most 2,000 are run at once" in done.stderr


def test_a_link_in_a_folder_is_not_followed_out_of_it(tmp_path: Path) -> None:
    log = chat(TASK, ASK, ("tool_result", "word " * 50), ("assistant", "done"))
    write(tmp_path / "logs", log, "good")
    write(tmp_path / "private", log, "mine")
    (tmp_path / "logs" / "leak.jsonl").symlink_to(tmp_path / "private" / "mine.jsonl")
    (tmp_path / "logs" / "same.jsonl").symlink_to("good.jsonl")
    done = ctxsim("bench", "logs", "--policy", "keep-all", "--out", "out", cwd=tmp_path)
    assert (
        "logs/leak.jsonl: left out: is a link that leads out of the folder: give its file by its own name"
        in done.stderr
    )
    assert (tmp_path / "out" / "summary.csv").read_text().count("\n") == 2, "a link within the folder is the same file"


def test_an_unknown_role_of_mini_swe_agent_is_told(tmp_path: Path) -> None:
    said = [("system", "s"), ("user", "task"), ("asistant", "```bash\nls\n```"), ("user", "<returncode>0"),
            ("assistant", "```bash\nls\n```"), ("user", "<returncode>0")]  # fmt: skip
    steps = [{"role": role, "content": content} for role, content in said]
    (tmp_path / "run.traj.json").write_text(
        json.dumps({"messages": steps, "info": {}, "trajectory_format": "mini-swe-agent-1"})
    )
    done = ctxsim("bench", "run.traj.json", "--policy", "keep-all", "--out", "out", cwd=tmp_path)
    assert "a message has the role 'asistant', which is unknown: taken for the user's" in done.stderr
