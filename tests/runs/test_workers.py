"""Workers run the same code as the one that started them, or nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench_runs import POLICIES, write
from project import ROOT
from samples import chat

from ctxsim.errors import CtxsimError
from ctxsim.results import read_run
from ctxsim.runs import bench
from ctxsim.runs.identity import own_code
from ctxsim.runs.task import Setting
from ctxsim.runs.workers import Workers, do


def test_a_task_for_another_version_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CtxsimError, match=r"a worker has ctxsim .*, this process ctxsim 0\.0: numbers of two versions"):
        do((None, ()), tmp_path / "part", "ctxsim 0.0")  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir()) and own_code() == own_code()


WAITING = """import pathlib, time
from dataclasses import dataclass
from ctxsim.policies import Policy

HERE = pathlib.Path(__file__).parent

@dataclass
class Waiting(Policy):
    def before_call(self, view):
        if view[0].text != "the long one":
            (HERE / f"{view[0].text}.done").touch()
            return view
        until = time.monotonic() + 30
        while len(list(HERE.glob("*.done"))) < 5:
            if time.monotonic() > until:
                raise TimeoutError("the others wait for this one")
            time.sleep(0.01)
        return view
"""


def test_nobody_waits_for_one_that_takes_long(tmp_path: Path) -> None:
    (tmp_path / "waiting.py").write_text(WAITING)
    for number in range(8):
        write(
            tmp_path / "logs",
            chat(("user", str(number) if number else "the long one"), ("assistant", "b")),
            f"t{number}",
        )
    setting = Setting("a", "a", (f"{tmp_path}/waiting.py:Waiting",))
    info = bench(setting, tmp_path / "out", paths=[str(tmp_path / "logs")], jobs=2)
    assert [one.failures for one in info.inputs] == [()] * 8


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[str]:
    """A dask scheduler of its own, whose workers a test chooses."""
    pytest.importorskip("distributed")
    file = tmp_path / "scheduler.json"
    running = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
         "--scheduler-file", str(file)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(0.3)
    import json

    yield json.loads(file.read_text())["address"]
    running.kill()
    running.wait()


@pytest.mark.slow
def test_a_worker_with_altered_code_is_refused(scheduler: str, logs: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "ctxsim", tmp_path / "other" / "ctxsim", ignore=shutil.ignore_patterns("__pycache__"))
    altered = tmp_path / "other" / "ctxsim" / "simulator" / "measure" / "totals.py"
    altered.write_text(altered.read_text() + "\n# altered\n")
    worker = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_worker", scheduler, "--no-nanny", "--nthreads", "1"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "other")},
    )  # fmt: skip
    try:
        with pytest.raises(CtxsimError, match=r"a worker has ctxsim .* numbers of two versions would mix") as told:
            bench(Setting("a", "a", POLICIES), tmp_path / "out", paths=[str(logs)], cluster=scheduler)
        assert "\n" not in str(told.value) and not (tmp_path / "out").exists()
    finally:
        worker.kill()
        worker.wait()


@pytest.mark.slow
def test_a_worker_that_outlives_a_bench_reads_a_policy_again(scheduler: str, logs: Path, tmp_path: Path) -> None:
    worker = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_worker", scheduler, "--no-nanny", "--nthreads", "1"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    mine = tmp_path / "mine.py"
    refused = []
    try:
        for act in ("view", "Stop('enough')"):
            mine.write_text(
                "from dataclasses import dataclass\nfrom ctxsim.policies import Policy, Stop\n\n@dataclass\n"
                f"class Mine(Policy):\n    def before_call(self, view): return {act}\n"
            )
            bench(Setting("a", "a", (f"{mine}:Mine",)), tmp_path / "out", paths=[str(logs)], cluster=scheduler)
            refused.append(read_run(tmp_path / "out").of(f"{mine}:Mine").stopped.sum() > 0)
    finally:
        worker.kill()
        worker.wait()
    assert refused == [False, True]


@pytest.mark.slow
def test_a_cluster_without_workers_is_a_line(
    scheduler: str, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ctxsim.runs.workers.CLUSTER_S", 2.0)
    with pytest.raises(CtxsimError, match="had no worker for 2 s"):
        bench(Setting("a", "a", POLICIES), tmp_path / "out", paths=[str(logs)], cluster=scheduler)
    assert not (tmp_path / "out").exists()


def test_a_cluster_over_tls_without_a_certificate_is_a_line() -> None:
    with pytest.raises(CtxsimError, match=r"no way to tls://127\.0\.0\.1:9: .* see SECURITY\.md"):
        Workers(1, "tls://127.0.0.1:9", lambda name, done, known: None)
