"""A run's folder: nobody else's things in it are touched, and one run at a time writes into it."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from bench_runs import arguments, command
from command_line import process

from ctxsim.errors import InputError
from ctxsim.results.folder import LOCK, MARKER, WORK, RunFolder
from ctxsim.runs.conduct import conduct
from ctxsim.runs.task import Setting

SETTING = Setting("a", "a", ("keep-all",))


def everything(folder: Path) -> dict[str, bytes | None]:
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.mark.parametrize(
    "foreign",
    ["parts/mine.txt", "parts/00000001", "parts/setting", "calls.parquet/mine.txt", "calls.parquet", "calls.csv",
     "run.json", "summary.csv/mine.txt", "calls.parquet/part-00000.parquet", "token-growth.png", "report.html"],
)  # fmt: skip
def test_what_is_not_ours_is_refused_and_stays(foreign: str, logs: Path, tmp_path: Path) -> None:
    path = tmp_path / "out" / foreign
    path.parent.mkdir(parents=True)
    path.write_text("years of work")
    (tmp_path / "out" / "calls.csv.tmp").write_text("mine too")
    before = everything(tmp_path)
    with pytest.raises(InputError, match="which no run of ctxsim wrote; choose another folder"):
        conduct(SETTING, tmp_path / "out", paths=[str(logs)], resume=True)
    assert everything(tmp_path) == before


def test_other_files_stay_beside_a_run(few_logs: Path, tmp_path: Path) -> None:
    mine = ["notes.txt", "calls.parquet.tmp", "calls.csv.tmp", "run.json.tmp", "sub/parts/x", "calls.parquet.part"]
    for name in mine:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    for _ in range(2):
        assert conduct(SETTING, tmp_path, paths=[str(few_logs)]).complete
        assert all((tmp_path / name).read_text() == name for name in mine)


def test_a_folder_of_the_users_in_the_place_of_a_table_of_ours(logs: Path, tmp_path: Path) -> None:
    conduct(SETTING, tmp_path, paths=[str(logs)])
    (tmp_path / "calls.parquet").unlink()
    (tmp_path / "calls.parquet").mkdir()
    (tmp_path / "calls.parquet" / "mine").write_text("mine")
    with pytest.raises(InputError, match=r"holds calls\.parquet, which no run"):
        conduct(SETTING, tmp_path, paths=[str(logs)])
    (tmp_path / "calls.parquet" / "mine").rename(tmp_path / "calls.parquet" / "part-00000.parquet")
    linked = tmp_path.parent / "linked"
    (tmp_path / "calls.parquet").rename(linked)
    (tmp_path / "calls.parquet").symlink_to(linked)
    with pytest.raises(InputError, match=r"holds calls\.parquet"):
        conduct(SETTING, tmp_path, paths=[str(logs)])
    assert (linked / "part-00000.parquet").read_text() == "mine"


def test_an_empty_folder_of_the_users_stays(logs: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "a.jsonl").write_text("{")
    with RunFolder(tmp_path / "out"):
        assert (tmp_path / "out" / LOCK).exists()
    assert not any((tmp_path / "out").iterdir())
    with RunFolder(tmp_path / "new" / "run"):
        pass
    assert not (tmp_path / "new").exists()
    with RunFolder(tmp_path / "new" / "run"):
        (tmp_path / "new" / "mine").write_text("")
    assert [one.name for one in (tmp_path / "new").iterdir()] == ["mine"]


def test_the_second_is_told_that_another_writes(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "out"), pytest.raises(InputError, match="is being written by another ctxsim; wait"):
        RunFolder(tmp_path / "out").__enter__()


def test_a_lock_of_a_dead_process_holds_nobody_up(few_logs: Path, tmp_path: Path) -> None:
    (tmp_path / LOCK).touch()
    (tmp_path / WORK).mkdir()
    shutil.copy(_marker(tmp_path), tmp_path / WORK / MARKER)
    assert conduct(SETTING, tmp_path, paths=[str(few_logs)]).complete
    assert not (tmp_path / LOCK).exists() and not (tmp_path / WORK).exists()


def _marker(folder: Path) -> Path:
    with RunFolder(folder / "other") as other:
        other.begin()
        shutil.copy(other.work / MARKER, folder / "marker")
        other.clear()
    return folder / "marker"


@pytest.mark.slow
def test_another_process_is_told_too_and_changes_nothing(few_logs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with RunFolder(out):
        before = sorted(out.rglob("*"))
        done = process(*arguments(few_logs, out), cwd=tmp_path)
        assert sorted(out.rglob("*")) == before
    assert done.returncode == 1 and "is being written by another ctxsim" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_workers_end_with_their_parent(logs: Path, tmp_path: Path) -> None:
    running = subprocess.Popen(
        command(logs, tmp_path / "out", "--jobs", "2"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while len(_session(running.pid)) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    running.kill()
    running.wait()
    deadline = time.monotonic() + 30
    while _session(running.pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not _session(running.pid)


def _session(leader: int) -> list[int]:
    """The living processes of a session."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == leader and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found
