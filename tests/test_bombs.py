"""Small files that would fill the memory or the day: each a line within seconds, and what lies beside them is read."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import resource
import sqlite3
import struct
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import not_drawn
import pyarrow
import pyarrow.parquet
import pytest
from bench_runs import write
from command_line import ctxsim
from project import ROOT
from samples import ASK, TASK, chat

from ctxsim.errors import InputError
from ctxsim.readers import sources

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
    told = {name: sum(f"{name}:" in line for line in errors) for name in names}
    # What is left of values.jsonl has no response, and so no call to replay.
    lines = {one: 3 if one == "values.jsonl" else 1 for one in names}
    assert (status, told) == (int(not set(names) <= set(NOTED)), lines)
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
    assert "1 message of the unknown role 'asistant' taken for the user's" in done.stderr


def page(child: int, cells: int = 500) -> bytearray:
    """A page of SQLite inside a table's tree (fileformat2.html, 1.6) that names one child many times."""
    made = bytearray(struct.pack(">BHHHBI", 5, 0, cells, 4096 - 5 * cells, 0, child).ljust(4096, b"\0"))
    for number in range(cells):
        at = 4096 - 5 * (number + 1)
        made[at : at + 5] = struct.pack(">IB", child, min(number, 99))
        made[12 + 2 * number : 14 + 2 * number] = struct.pack(">H", at)
    return made


def database(path: Path) -> int:
    """Sessions as OpenCode keeps them; the page on which their table begins."""
    with closing(sqlite3.connect(path)) as writes, writes:
        writes.execute("CREATE TABLE session (id TEXT, parent_id TEXT, time_created INT)")
        writes.execute("CREATE TABLE message (id TEXT, session_id TEXT, time_created INT, data TEXT)")
        writes.execute("CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT)")
        writes.executemany("INSERT INTO session (id, time_created) VALUES (?, ?)", [(str(n), n) for n in range(200)])
        found: int = writes.execute("SELECT rootpage FROM sqlite_master WHERE name = 'session'").fetchone()[0]
    return found


def test_a_page_that_stands_in_a_tree_many_times_is_a_line(tmp_path: Path) -> None:
    root = database(tmp_path / "a.db") - 1
    data = bytearray((tmp_path / "a.db").read_bytes())
    last = len(data) // 4096
    leaf = data[4096 * root : 4096 * (root + 1)]
    data[4096 * root : 4096 * (root + 1)] = page(last + 3)
    data[28:32] = struct.pack(">I", last + 3)
    (tmp_path / "a.db").write_bytes(data + leaf + page(last + 1) + page(last + 2))
    status, errors, seconds = run("transcripts check a.db", tmp_path)
    assert (status, errors) == (1, ["ctxsim: a.db: takes more steps to read than any database of its size"])
    assert seconds < MOST_S


def test_what_a_column_computes_is_not_read(tmp_path: Path) -> None:
    database(tmp_path / "a.db")
    with closing(sqlite3.connect(tmp_path / "a.db")) as writes, writes:
        # After the rows: an INSERT computes it.
        writes.execute("ALTER TABLE session ADD COLUMN big AS (hex(zeroblob(40000000)))")
        told = [(str(n), str(n), n, '{"role":"user","time":{"created":1}}') for n in range(200)]
        writes.executemany("INSERT INTO message VALUES (?, ?, ?, ?)", told)
    status, errors, seconds = run("transcripts check a.db", tmp_path)
    assert (status, errors) == (0, []) and seconds < MOST_S


def test_trees_within_one_another_that_name_files_without_end_are_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def git(*arguments: str, given: str = "") -> str:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a", *arguments]
        return subprocess.run(command, cwd=tmp_path, input=given, capture_output=True, text=True, check=True).stdout

    git("init", "-q")
    blob = git("hash-object", "-w", "--stdin", given=LINE.decode() * 2).strip()
    tree = git("mktree", given="".join(f"100644 blob {blob}\t{n}.jsonl\n" for n in range(10))).strip()
    for _ in range(6):
        tree = git("mktree", given="".join(f"040000 tree {tree}\t{n}\n" for n in range(10))).strip()
    git("update-ref", "HEAD", git("commit-tree", tree, "-m", "a").strip())
    monkeypatch.setattr("ctxsim.readers.source.git.ANSWER_BYTES", 1_000_000)
    with pytest.raises(InputError, match="has more than 1 MB of names of files"):
        list(sources(f"git:{tmp_path}"))


@pytest.fixture
def deep_folders(tmp_path: Path) -> Iterator[None]:
    """A folder with 1,200 within one another, which Python's own way to remove them can't."""
    with contextlib.chdir(tmp_path):
        for _ in range(1_200):
            Path("a").mkdir()
            os.chdir("a")
    yield
    subprocess.run(["rm", "-r", tmp_path / "a"], check=True)


@pytest.mark.usefixtures("deep_folders")
def test_folders_within_one_another_without_end_are_a_line(tmp_path: Path) -> None:
    (tmp_path / "good.jsonl").write_bytes(LINE + b'{"role":"assistant","content":"hello"}\n')
    done = ctxsim("transcripts", "check", ".", cwd=tmp_path)
    assert done.returncode == 0 and "1 transcript: " in done.stdout
    assert done.stderr == f"left out: {'a/' * 100}a: is more than 100 folders deep: give it by its own name\n"
    done = ctxsim("transcripts", "check", "**/x.jsonl", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n"), "Traceback" in done.stderr) == (1, 1, False)


def test_a_pattern_that_goes_through_all_folders_again_and_again_is_a_line(tmp_path: Path) -> None:
    (tmp_path.joinpath(*"abcdefghijklmnopqrst")).mkdir(parents=True)
    (tmp_path / "ctxsim.toml").write_text(f'paths = ["{"**/" * 12}x.jsonl"]')
    for line in (("bench",), ("transcripts", "check", "**/" * 12 + "x")):
        done = ctxsim(*line, cwd=tmp_path)
        assert done.returncode == 1 and done.stderr.endswith("holds ** more than 3 times\n"), done.stderr
