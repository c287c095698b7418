"""Workers run the same code as the one that started them, or nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace

import pytest
from bench_runs import POLICIES, write
from samples import chat, conversation

import ctxsim
from ctxsim.errors import CtxsimError
from ctxsim.readers.source import Source
from ctxsim.runs.conduct import conduct
from ctxsim.runs.processes import fitting
from ctxsim.runs.task import Setting
from ctxsim.runs.workers import Workers, do

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


@pytest.mark.parametrize("call", [
    'bench("logs", ["mask"], jobs=2)', 'runs.processes.each(len, list(ctxsim.readers.sources("logs")), 2).__next__()'
])  # fmt: skip
def test_a_script_without_its_guard_is_told_what_it_lacks(tmp_path: Path, call: str) -> None:
    for name in "ab":
        write(tmp_path / "logs", conversation("one"), name)
    (tmp_path / "x.py").write_text(f"import ctxsim.readers, ctxsim.runs.processes\nctxsim.{call}\n")
    env = {**os.environ, "PYTHONPATH": str(Path(ctxsim.__file__).parents[1])}
    done = subprocess.run([sys.executable, "x.py"], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 1
    # Python may still warn of what the processes that never began left behind.
    assert "\nctxsim.errors.CtxsimError: no process began; a script needs `if __name__ == " in done.stderr


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
