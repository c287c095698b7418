"""Workers run the same code as the one that started them, or nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
from bench_runs import POLICIES, content, write
from project import ROOT
from samples import chat

from ctxsim.errors import CtxsimError
from ctxsim.policies import Policy, register, registered_policies
from ctxsim.readers.source import Source
from ctxsim.results import read_run
from ctxsim.runs.conduct import conduct
from ctxsim.runs.task import Setting
from ctxsim.runs.workers import Workers, do, fitting
from ctxsim.view import View

pytestmark = pytest.mark.usefixtures("opened_at_once")


def test_a_task_for_another_version_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CtxsimError, match=r"a worker has ctxsim .*, this process ctxsim 0\.0: numbers of two versions"):
        do(None, tmp_path / "part", "ctxsim 0.0")  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("megabytes", "cores", "processes"),
    [((3.9,), 16, 1), ((7, 2), 16, 2), ((7, 2), 1, 1), ((40,), 16, 8), ((200,), 3, 3), ((), 16, 1)],
)
def test_as_many_processes_as_are_worth_it(
    megabytes: tuple[float, ...], cores: int, processes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One for each whole 4 MB, at most one for each core and 8.
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: range(cores), raising=False)
    for number, size in enumerate(megabytes):
        with (tmp_path / f"{number}.json").open("wb") as file:
            file.truncate(int(size * 1e6))
    gone = Source("gone", tmp_path / "gone.json")
    assert fitting([gone, *(Source(one.name, one) for one in tmp_path.iterdir())]) == processes


def test_processes_that_are_given_up_are_not_waited_for() -> None:
    workers = Workers(2, None, lambda *one: None)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt), workers:
        workers._executor.submit(time.sleep, 60)  # type: ignore[union-attr]
        raise KeyboardInterrupt
    assert time.monotonic() - began < 30


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


@pytest.mark.slow
def test_nobody_waits_for_one_that_takes_long(tmp_path: Path) -> None:
    (tmp_path / "waiting.py").write_text(WAITING)
    for number in range(8):
        write(
            tmp_path / "logs",
            chat(("user", str(number) if number else "the long one"), ("assistant", "b")),
            f"t{number}",
        )
    setting = Setting("a", "a", (f"{tmp_path}/waiting.py:Waiting",))
    info = conduct(setting, tmp_path / "out", paths=[str(tmp_path / "logs")], jobs=2)
    assert [one.failures for one in info.inputs] == [()] * 8


OWN = {
    "mine.py": """
from dataclasses import dataclass
from ctxsim.policies import Policy

print("at import")

@dataclass
class Mine(Policy):
    def before_call(self, view):
        print("a moment")
        return view.rewrite({item.place: item.text[:5] for item in view.results[:-1]}, "a test")
""",
    "count.py": """
from dataclasses import dataclass
from ctxsim.counting.estimators import Estimator

@dataclass(frozen=True)
class Half(Estimator):
    def text(self, text):
        return len(text) // 2
""",
    "read.py": """
from ctxsim.readers.formats import ctxsim_jsonl

def matches(sample):
    return False

def read(source, sample):
    return ctxsim_jsonl.read(source, sample)
""",
    "vendor.toml": '[cache]\nkind = "prefix"\nlifetime_s = 600\n',
    "shorten.py": """
def shorten(messages):
    print("a function")
    return messages[-4:] if len(messages) > 4 else messages
""",
}
"""Files of one's own, by their paths from where the command runs."""


@pytest.mark.slow
def test_files_by_a_relative_path_reach_workers_that_stand_elsewhere(
    few_logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheduler: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """And what they print is in no row, nor where a command's result goes."""
    for folder in ("here", "elsewhere"):
        (tmp_path / folder).mkdir()
    for name, text in OWN.items():
        (tmp_path / "here" / name).write_text(text)
    (tmp_path / "here" / "logs").mkdir()
    for file in sorted(few_logs.iterdir())[:2]:
        shutil.copy(file, tmp_path / "here" / "logs")
    monkeypatch.chdir(tmp_path / "here")
    policies = ("keep-all", "mine.py:Mine:estimator=count.py:Half+messages:shorten.py:shorten")
    setting = Setting("a", "a", policies, overrides={"cache": "vendor.toml"})
    paths = ["reader:read.py:logs"]
    alone = conduct(setting, tmp_path / "alone", paths=paths)
    assert not any(one.error or one.failures for one in alone.inputs)
    capfd.readouterr()
    conduct(setting, tmp_path / "processes", paths=paths, jobs=2)
    printed, told = capfd.readouterr()
    assert not printed and all(said in told for said in ("at import", "a moment", "a function"))
    worker = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_worker", scheduler, "--no-nanny", "--nthreads", "1"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=tmp_path / "elsewhere",
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    try:
        conduct(setting, tmp_path / "cluster", paths=paths, cluster=scheduler)
        _classes_reach_it(tmp_path, scheduler)
        _files_are_read_again(tmp_path, scheduler)
    finally:
        worker.kill()
        worker.wait()
    for out in ("processes", "cluster"):
        assert content(tmp_path / out) == content(tmp_path / "alone")


def _classes_reach_it(folder: Path, scheduler: str) -> None:
    """And of two that are defined one after the other under one name, each in its bench, however often."""
    kept = []
    for chars in (5, 50, 5):

        @dataclass
        class Beginnings(Policy):
            """Results but the last become their beginning."""

            def before_call(self, view: View, chars: int = chars) -> View:
                return view.rewrite({item.place: item.text[:chars] for item in view.results[:-1]}, "a test")

        label = register(Beginnings).name
        conduct(Setting("a", "a", (label,)), folder / "classes", paths=["logs"], cluster=scheduler, replace=True)
        kept.append(int(read_run(folder / "classes").of(label).tokens_sum.sum()))
    registered_policies().pop("beginnings")
    assert kept[0] == kept[2] < kept[1]


def _files_are_read_again(folder: Path, scheduler: str) -> None:
    """A worker that outlives a bench has the policy of the one before."""
    mine = folder / "mine.py"
    refused = []
    for act in ("view", "Stop('enough')"):
        mine.write_text(
            "from dataclasses import dataclass\nfrom ctxsim.policies import Policy, Stop\n\n@dataclass\n"
            f"class Mine(Policy):\n    def before_call(self, view): return {act}\n"
        )
        setting = Setting("a", "a", (f"{mine}:Mine",))
        conduct(setting, folder / "again", paths=["logs/log00.jsonl"], cluster=scheduler)
        refused.append(read_run(folder / "again").of(f"{mine}:Mine").stopped.sum() > 0)
    assert refused == [False, True]


@pytest.mark.slow
def test_a_cluster_without_workers_is_a_line(
    scheduler: str, few_logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ctxsim.runs.workers.CLUSTER_S", 1.0)
    with pytest.raises(CtxsimError, match="had no worker for 1 s"):
        conduct(Setting("a", "a", POLICIES), tmp_path / "out", paths=[str(few_logs)], cluster=scheduler)
    assert not (tmp_path / "out").exists()


def test_a_cluster_over_tls_without_a_certificate_is_a_line() -> None:
    with pytest.raises(CtxsimError, match=r"no way to tls://127\.0\.0\.1:9: .* see SECURITY\.md"):
        Workers(1, "tls://127.0.0.1:9", lambda name, done, known: None)


def test_a_cluster_that_has_lost_all_workers_is_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    class Client:
        scheduler = SimpleNamespace(address="tcp://there")
        asked = 0

        def wait_for_workers(self, many: int, timeout: float) -> None:
            self.asked += 1
            if self.asked == 2:
                raise TimeoutError

    monkeypatch.setattr("ctxsim.runs.workers.CLUSTER_S", 0.3)
    until_s = time.monotonic() + 5
    workers = Workers(1, None, lambda *told: None, lambda: time.monotonic() > until_s)
    workers._client = Client()
    with pytest.raises(CtxsimError, match="the scheduler at tcp://there had no worker for 0 s; start one"):
        workers._result(Future())
    assert workers._client.asked == 2, "as long as there is one it is waited for"
